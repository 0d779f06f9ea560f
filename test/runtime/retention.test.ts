import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HostError } from '../../src/errors.ts';
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

/** Has the session remember this many envelopes that nobody sends. */
function rememberOthers(herd: TestHerd, count: number): void {
  herd.store.commit({
    puts: Array.from({ length: count }, (_, index) => ({
      table: 'seen',
      record: { id: `other ${index}`, hash: '' },
    })),
    deletes: [],
    snapshots: new Map(),
    journal: { atMs: 0, input: 'test', actors: [], moves: [] },
  });
}

/** Handles one envelope, then `others`, and leaves the one as a crash before its ack does. */
async function leaveUnacked(herd: TestHerd, others: number): Promise<string> {
  const child = await herd.hatch('talker');
  const { messageId } = await child.say('shepherd', 'Baa.');
  rememberOthers(herd, others);
  child.leave();
  herd.abandon();
  const { boxesDir } = child.identity;
  const pathIn = (folder: string) => join(boxesDir, 'outbox', folder, `${messageId}.json`);
  renameSync(pathIn('done'), pathIn('cur'));
  return messageId;
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

  it('RN1: forgets a task whose outcome Pi would not take; nobody is told of that again', async () => {
    const refused = new HostError('host_unavailable', 'The test takes no notice.');
    const first = await openHerd({ notify: () => Promise.reject(refused) });
    const ids = await finishTasks(first, 6);
    const told = first.changes.flatMap((change) =>
      change.type === 'notice' ? [change.notice.id] : [],
    );

    const herd = await reopened(first);

    expect(herd.shepherd.tasks().map(({ id }) => id)).toEqual(ids.slice(-3));
    expect(herd.store.all('notice')).toHaveLength(3);
    expect(told).toHaveLength(6);
    expect(new Set(told).size).toBe(6);
  });

  it('RN3: forgets messages that a child has not read, once it has ended', async () => {
    const first = await openHerd();
    const [one, two] = [await first.hatch('one'), await first.hatch('two')];
    two.leave();
    for (let index = 0; index < 6; index += 1) {
      first.pasture.nowMs += 1;
      await one.say(two.id, `Baa ${index}.`);
    }
    const second = await reopened(first);
    expect(second.store.all('message')).toHaveLength(6);
    await second.shepherd.close(two.id);

    const herd = await reopened(second);

    expect(herd.store.all('message')).toHaveLength(3);
  });

  it('RN3: forgets messages that a living child took without a word, and none that it has not', async () => {
    const first = await openHerd();
    const [one, two] = [await first.hatch('one'), await first.hatch('two')];
    for (let index = 0; index < 6; index += 1) {
      first.pasture.nowMs += 1;
      await one.say(two.id, `Baa ${index}.`);
    }
    await two.receives('message', ({ content }) => content === 'Baa 5.');
    two.leave();
    const second = await reopened(first);
    await eventually(() => expect(second.store.all('message')).toHaveLength(3));
    for (let index = 6; index < 12; index += 1) {
      first.pasture.nowMs += 1;
      await one.say(two.id, `Baa ${index}.`);
    }

    const herd = await reopened(second);

    expect(herd.store.all('message')).toHaveLength(9);
  });

  it('RN3: keeps none when it is to keep none', async () => {
    const first = await openHerd();
    await finishTasks(first, 2);
    rememberOthers(first, 2_500);

    const herd = await reopened(first, { retention: { keep: 0, keepMs: 60_000 } });

    expect(herd.shepherd.tasks()).toEqual([]);
    const seen = herd.store.all('seen');
    expect(seen).toHaveLength(2_000);
    expect(seen.at(-1)?.id).toBe('other 2499');
    expect(herd.store.journal({ after: 0, limit: 9_999 }).length).toBeLessThanOrEqual(103);
  });

  it.each([0, 1])('RN4: takes no envelope twice when it keeps %i tasks', async (keep) => {
    const first = await openHerd({ retention: { keep, keepMs: 60_000 } });
    const messageId = await leaveUnacked(first, 20);

    const herd = await first.reopen();

    expect(herd.notices).toEqual([]);
    expect(herd.store.get('seen', messageId)).toBeDefined();
  });

  it('RN4: reads what lies in the outboxes before it forgets at its opening', async () => {
    const first = await openHerd();
    const messageId = await leaveUnacked(first, 2_500);

    const herd = await first.reopen({ retention });

    expect(herd.notices).toEqual([]);
    expect(herd.store.get('seen', messageId)).toBeUndefined();
  });

  it('RN3: keeps of each live actor a row of the journal, however long it has been idle', async () => {
    const first = await openHerd();
    const idle = await first.hatch('idle');
    const hidden = await first.delegate(idle);
    await finishTasks(first, 60);

    const herd = await reopened(first, { retention: { keep: 1, keepMs: 60_000 } });

    const rows = herd.store.journal({ after: 0, limit: 9_999 });
    expect(rows.length).toBeLessThan(110);
    const known = rows.flatMap(({ actors }) => actors.map(({ id }) => id));
    expect(known).toEqual(expect.arrayContaining(['session', idle.id, hidden]));
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

    for (const table of ['task', 'note', 'message', 'notice', 'key', 'rate', 'effect'] as const) {
      expect(again.store.all(table).length).toBeLessThanOrEqual(20);
    }
    expect(again.store.all('seen').length).toBeLessThanOrEqual(2_000);
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

  it('RN2: keeps an ended agent until its outbox is read to its end', async () => {
    const options = { retention: { keep: 0, keepMs: 60_000 } };
    const first = await openHerd(options);
    const child = await first.hatch('last');
    first.shepherd.on((change) => {
      if (change.type === 'agent' && change.agent.state === 'lost') first.abandon();
    });
    first.host.exit(`${child.id}.1`, { code: 1 });
    await eventually(() => expect(() => first.shepherd.agents()).toThrow('closed'));

    const second = await first.reopen();
    expect(second.shepherd.agents()).toMatchObject([{ id: child.id, state: 'lost' }]);
    await eventually(() => expect(second.store.all('effect')).toEqual([]));
    second.abandon();

    const third = await second.reopen();
    expect(third.shepherd.agents()).toEqual([]);
  });
});
