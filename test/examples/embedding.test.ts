/** What an embedding program passes in and follows, through the public API alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  createChildMailbox,
  createIdMaker,
  createMemoryHost,
  createShepherd,
  readIdentity,
  type Change,
  type ShepherdOptions,
} from '../../src/index.ts';

/** A session on the memory host, whose clock stands still until it is moved. */
async function embed(options: ShepherdOptions = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-embedding-'));
  const time = { nowMs: Date.UTC(2024, 4, 6) };
  const wall = (): number => time.nowMs;
  const host = createMemoryHost({ now: wall });
  const shepherd = await createShepherd({
    cwd: dir,
    host,
    wall,
    makeCommand: ({ identityPath }) => ({ argv: ['child'], env: { CHILD: identityPath } }),
    ...options,
  });
  const spawned = shepherd.spawn({ agent: 'scout', label: 'survey' });
  const mailbox = createChildMailbox(readIdentity(host.launches[0]?.env['CHILD'] ?? ''), {
    now: wall,
    ids: createIdMaker(),
  });
  onTestFinished(async () => {
    mailbox.dispose();
    await shepherd.dispose();
    rmSync(dir, { recursive: true, force: true });
  });
  mailbox.send({ kind: 'hello', targetId: 'shepherd', pid: process.pid, tools: [] });
  await spawned;
  return { shepherd, host, time };
}

it('goes by the clock that was passed in', async () => {
  const { shepherd, time } = await embed();
  const { taskId } = await shepherd.delegate({
    target: 'survey',
    task: 'Look.',
    timeoutMs: 600_000,
  });

  time.nowMs += 600_001;

  expect(await shepherd.settled(taskId)).toMatchObject({ status: 'timed_out', returnCode: 124 });
});

it('ends what follows it, and its agents, when it is disposed', async () => {
  const { shepherd, host } = await embed();
  const heard: Change[] = [];
  const followed: Change[] = [];
  shepherd.on((change) => heard.push(change));
  const following = (async () => {
    for await (const change of shepherd.changes()) followed.push(change);
  })();
  await shepherd.delegate({ target: 'survey', task: 'Look.' });

  await shepherd.dispose();
  await following;

  expect(followed).toEqual(heard);
  expect(followed.map(({ type }) => type)).toContain('task');
  const { launchId = '', launchDir = '' } = host.launches[0] ?? {};
  expect(await host.inspect({ host: 'memory', launchId, launchDir })).toMatchObject({
    presence: 'dead',
  });
  await expect(shepherd.delegate({ target: 'survey', task: 'Look.' })).rejects.toMatchObject({
    code: 'session_closed',
  });
});

it('shows every actor to the inspector that was passed in', async () => {
  const ids: string[] = [];

  const { shepherd } = await embed({
    inspect: (event) => {
      const { actorRef } = event;
      if (event.type === '@xstate.actor' && 'id' in actorRef) ids.push(String(actorRef.id));
    },
  });

  await vi.waitFor(() => expect(ids).toContain(shepherd.status('survey').id));
});
