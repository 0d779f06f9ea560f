/** What the commands say of a project or a session that is not as it should be. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { sessions, sessionsReportSchema } from '../../src/cli/commands/sessions.ts';
import { status, statusReportSchema } from '../../src/cli/commands/status.ts';
import { readSession, withOwnedSession } from '../../src/cli/sessions.ts';
import { runCommand } from '../support/cli.ts';
import { openHerd, type TestHerd } from '../support/herd.ts';

const valuesOf = ({ pasture }: TestHerd) => ({ dir: pasture.dir, json: true });

/** A text cut off in the middle, as a bad disk or a bad copy leaves it. */
function damage(herd: TestHerd): void {
  const db = new DatabaseSync(join(herd.shepherd.sessionDir, 'session.db'));
  db.exec("UPDATE record SET body = '{' WHERE kind = 'agent'");
  db.close();
}

describe('sheepfold sessions', () => {
  it('exits with 1 when a session could not be read, and lists the others', async () => {
    const herd = await openHerd();
    const broken = join(herd.shepherd.sessionDir, '..', '0009-broken-00000000');
    mkdirSync(broken);
    writeFileSync(join(broken, 'session.db'), 'no database');

    const { code, json } = await runCommand(sessions, { values: valuesOf(herd) });

    expect(code).toBe(1);
    expect(sessionsReportSchema.parse(json()).sessions).toMatchObject([
      { name: '0009-broken-00000000', error: expect.stringMatching(/^disk_error: /) },
      { owner: { key: 'the test' } },
    ]);
  });

  it('exits with 0 when all could be read, and counts ages in whole milliseconds', async () => {
    const herd = await openHerd();

    const now = () => herd.pasture.nowMs + 0.25;
    const { code, json } = await runCommand(sessions, { values: valuesOf(herd), now });

    expect(code).toBe(0);
    expect(sessionsReportSchema.parse(json()).sessions).toMatchObject([{ ageMs: 0 }]);
  });

  it('names the file of a session that holds what is not JSON', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    herd.abandon();
    damage(herd);

    const { code, json } = await runCommand(sessions, { values: valuesOf(herd) });

    expect(code).toBe(1);
    expect(sessionsReportSchema.parse(json()).sessions).toMatchObject([
      {
        error: expect.stringMatching(/^session_damaged: .*session\.db holds something that is not/),
      },
    ]);
    await expect(runCommand(status, { values: valuesOf(herd) })).rejects.toMatchObject({
      code: 'session_damaged',
    });
    await expect(herd.reopen()).rejects.toMatchObject({ code: 'session_damaged' });
  });
});

describe.each([
  ['sessions', sessions],
  ['status', status],
])('sheepfold %s', (_name, command) => {
  it.each(['a-file', 'nowhere'])('refuses --dir %s', async (name) => {
    const herd = await openHerd();
    const dir = join(herd.pasture.dir, name);
    if (name === 'a-file') writeFileSync(dir, '');

    await expect(runCommand(command, { values: { dir } })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(`${dir} is no directory`),
    });
  });
});

it('sheepfold status counts the age of its session in whole milliseconds', async () => {
  const herd = await openHerd();

  const now = () => herd.pasture.nowMs + 0.25;
  const { json } = await runCommand(status, { values: valuesOf(herd), now });

  expect(statusReportSchema.parse(json()).session.ageMs).toBe(0);
});

it('a session says that a command has it, as long as one has', async () => {
  const herd = await openHerd();
  herd.abandon();
  const dir = herd.shepherd.sessionDir;
  const place = { name: basename(dir), dir };
  const before = await readSession(place, (store) => store.owner());

  const meanwhile = await withOwnedSession(place, {
    now: () => herd.pasture.nowMs,
    work: (store) => store.owner(),
  });

  expect(meanwhile).toMatchObject({ state: 'held', isCommand: true, key: 'the test' });
  const after = await readSession(place, (store) => store.owner());
  expect(after).toEqual({ ...before, token: after?.token });
});
