import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prunedReportSchema, sessions } from '../../src/cli/commands/sessions.ts';
import { runCommand } from '../support/cli.ts';
import { eventually, openHerd, type TestHerd } from '../support/herd.ts';

async function prune(herd: TestHerd): Promise<readonly (string | null)[]> {
  const values = { dir: herd.pasture.dir, json: true };
  const ran = await runCommand(sessions, { values, words: ['prune'] });
  return prunedReportSchema.parse(ran.json()).sessions.map(({ kept }) => kept);
}

/** A session whose one task has ended. */
async function finished(options: Parameters<typeof openHerd>[0] = {}) {
  const herd = await openHerd(options);
  const child = await herd.hatch('one');
  await herd.delegate(child);
  await child.done('completed', { summary: 'Done.' });
  await eventually(() =>
    expect(herd.store.all('notice').every(({ delivered }) => delivered)).toBe(true),
  );
  return { herd, child };
}

describe('sheepfold sessions prune', () => {
  it('removes a session that its owner has ended, but its notes; its number is not given again', async () => {
    const { herd, child } = await finished();
    const dir = herd.shepherd.sessionDir;
    const closing = herd.shepherd.dispose();
    herd.host.exit(`${child.id}.1`);
    await closing;

    expect(await prune(herd)).toEqual([null]);

    expect(readdirSync(dir)).toEqual(['notes']);
    const listed = await runCommand(sessions, { values: { dir: herd.pasture.dir } });
    expect(listed.lines).toEqual([expect.stringContaining('There is no session in')]);
    const again = await herd.reopen({ sessionKey: 'another' });
    expect(again.shepherd.sessionDir).toMatch(/\/0002-[^/]+$/);
  });

  it('leaves what somebody has, what may come back, and what is open or untold', async () => {
    const { herd } = await finished();
    expect(await prune(herd)).toEqual(['its owner is alive']);
    await herd.shepherd.release();
    expect(await prune(herd)).toEqual(['its Pi session may come back']);
    expect(existsSync(join(herd.shepherd.sessionDir, 'session.db'))).toBe(true);
  });

  it('refuses any other word', async () => {
    const herd = await openHerd();
    await expect(
      runCommand(sessions, { values: { dir: herd.pasture.dir }, words: ['purge'] }),
    ).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
