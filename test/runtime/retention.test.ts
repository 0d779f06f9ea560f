import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually, openHerd, type HerdOptions, type TestHerd } from '../support/herd.ts';

const retention = { keep: 3, keepMs: 60_000 };

/** A session that is let go of and opened again, which is when it looks at what it can forget. */
async function reopened(herd: TestHerd, options: HerdOptions = {}): Promise<TestHerd> {
  herd.abandon();
  return herd.reopen({ retention, ...options });
}

async function finishTasks(herd: TestHerd, count: number): Promise<readonly string[]> {
  const child = await herd.hatch('worker');
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    herd.pasture.nowMs += 1;
    ids.push(await herd.delegate(child, `Task ${index}`));
    await child.done('completed', { summary: `${index}` });
  }
  child.leave();
  return ids;
}

describe('a session', () => {
  it('RN3: keeps the newest finished tasks and forgets the others', async () => {
    const first = await openHerd();
    const ids = await finishTasks(first, 6);

    const herd = await reopened(first);

    expect(herd.shepherd.tasks().map(({ id }) => id)).toEqual(ids.slice(-3));
    expect(herd.store.all('message')).toHaveLength(3);
    expect(herd.store.all('notice').length).toBeLessThanOrEqual(3);
    expect(herd.store.journal({ after: 0, limit: 9_999 }).length).toBeLessThanOrEqual(301);
  });

  it('forgets what is older than it keeps anything', async () => {
    const first = await openHerd();
    await finishTasks(first, 2);
    first.pasture.nowMs += retention.keepMs + 1;

    const herd = await reopened(first);

    expect(herd.shepherd.tasks()).toEqual([]);
  });

  it('RN1: forgets no task whose outcome is still to be told', async () => {
    const first = await openHerd({ notify: () => new Promise(() => {}) });
    const ids = await finishTasks(first, 6);

    const herd = await reopened(first);

    expect(herd.shepherd.tasks().map(({ id }) => id)).toEqual(ids);
  });

  it('RN1: forgets nothing that is open', async () => {
    const first = await openHerd();
    const child = await first.hatch('slow');
    const open = await first.delegate(child, 'Take your time.');
    await finishTasks(first, 5);
    first.pasture.nowMs += retention.keepMs + 1;

    const herd = await reopened(first);

    expect(herd.shepherd.tasks().map(({ id }) => id)).toEqual([open]);
    expect(herd.shepherd.status(child.id)).toMatchObject({ task: { id: open, state: 'running' } });
  });

  it('RN2: forgets with a task its key and the file of its text', async () => {
    const first = await openHerd();
    const child = await first.hatch('reader');
    const options = { target: child.id, task: 'x'.repeat(60_000), idempotencyKey: 'long' };
    const { taskId } = await first.shepherd.delegate(options);
    await child.done('completed');
    const files = () =>
      readdirSync(join(first.shepherd.sessionDir, 'mailbox', `${child.id}.1`, 'files'));
    expect(files()).toHaveLength(1);
    await finishTasks(first, 3);

    const herd = await reopened(first);

    await eventually(() => expect(files()).toEqual([]));
    expect((await herd.shepherd.delegate(options)).taskId).not.toBe(taskId);
  });

  it('is bounded after a thousand tasks, on the disk and in memory', async () => {
    const herd = await openHerd({ retention: { keep: 20, keepMs: 60_000 } });
    await finishTasks(herd, 1_000);

    const again = await reopened(herd, { retention: { keep: 20, keepMs: 60_000 } });

    for (const table of ['task', 'message', 'notice', 'key', 'rate', 'effect'] as const) {
      expect(again.store.all(table).length).toBeLessThanOrEqual(20);
    }
    expect(again.store.all('seen').length).toBeLessThanOrEqual(200);
    expect(again.store.journal({ after: 0, limit: 9_999 }).length).toBeLessThanOrEqual(2_001);
    expect(again.shepherd.tasks()).toHaveLength(20);
  });

  it('RN2: removes the files of ended agents that it forgets', async () => {
    const first = await openHerd();
    for (let index = 0; index < 5; index += 1) {
      const child = await first.hatch(`lamb ${index}`);
      first.pasture.nowMs += 1;
      await first.shepherd.close(child.id);
    }

    const herd = await reopened(first);

    const files = () => readdirSync(join(herd.shepherd.sessionDir, 'mailbox'));
    await eventually(() => expect(files()).toHaveLength(3));
    expect(herd.shepherd.agents()).toHaveLength(3);
  });
});
