/** A real Pi whose model hangs: its turn is stopped from the command line, and it goes on working. */
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { interrupt, interruptReportSchema } from '../../src/cli/commands/interrupt.ts';
import { complete } from '../../src/cli/demo/phrases.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import { runCommand } from '../support/cli.ts';
import { limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { isAlive, kill } from '../support/pi-project.ts';

let children: PiChildren | undefined;
afterEach(() => children?.close());

it('stops the turn of an agent and keeps it with its task', async () => {
  children = await openPiChildren();
  const { shepherd } = children;
  children.script('scout', { hang: true }, complete('The fold is quiet.'));
  const { id } = await shepherd.spawn({ agent: 'scout', label: 'survey' });
  const { taskId } = await shepherd.delegate({ target: id, task: 'Look around.' });
  const isInState = (state: string) =>
    vi.waitFor(() => expect(shepherd.status(id).state).toBe(state), limits);
  await isInState('working');
  await vi.waitFor(() => expect(children?.requests('scout')).toHaveLength(1), limits);
  const dir = join(shepherd.sessionDir, '..', '..', '..');
  const stop = () => runCommand(interrupt, { values: { dir, json: true }, words: ['survey'] });

  const report = interruptReportSchema.parse((await stop()).json());

  expect(report).toMatchObject({
    agentId: id,
    agent: 'scout: survey',
    interrupted: true,
  });
  await isInState('idle');
  expect(shepherd.task(taskId).state).toBe('running');
  await expect(stop()).rejects.toMatchObject({ code: 'not_found' });

  await shepherd.message({ target: id, message: 'Go on.', delivery: 'steer', expectsReply: true });
  expect(await shepherd.settled(taskId)).toMatchObject({
    status: 'completed',
    summary: 'The fold is quiet.',
  });

  const pid = pidOf(shepherd.sessionDir, id);
  expect(isAlive(pid)).toBe(true);
}, 120_000);

it('says that the process of an agent is gone', async () => {
  children = await openPiChildren();
  const { shepherd } = children;
  const { id } = await shepherd.spawn({ agent: 'scout', label: 'survey' });
  const pid = pidOf(shepherd.sessionDir, id);
  await shepherd.release();
  await kill({ pid });
  const dir = join(shepherd.sessionDir, '..', '..', '..');

  await vi.waitFor(
    () =>
      expect(runCommand(interrupt, { values: { dir }, words: [id] })).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('The process of scout: survey is dead'),
      }),
    limits,
  );
}, 120_000);

function pidOf(sessionDir: string, agentId: string): number {
  const store = openSessionStore(join(sessionDir, 'session.db'), { readOnly: true });
  try {
    return store.get('agent', agentId)?.pid ?? 0;
  } finally {
    store.close();
  }
}
