import { describe, expect, it } from 'vitest';
import { eventually, openHerd, startMs, textsOf, type TestHerd } from '../support/herd.ts';
import type { TestChild } from '../support/child.ts';

/** A scout at work on its first task, with two more held. */
async function openQueue() {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const first = await herd.delegate(one, 'Count.');
  const hold = (task: string, timeoutMs?: number) =>
    herd.shepherd.delegate({ target: one.id, task, queue: true, timeoutMs });
  const second = await hold('Shear.', 60_000);
  const third = await hold('Sing.');
  return { herd, one, first, second, third };
}

const tasksOf = (child: TestChild): readonly string[] =>
  child.received.flatMap((envelope) => (envelope.kind === 'task' ? envelope.taskId : []));

const statesOf = (herd: TestHerd): readonly string[] =>
  herd.shepherd.tasks().map(({ state }) => state);

describe('a task for a busy agent', () => {
  it('is held with its place in line', async () => {
    const { herd, one, first, second, third } = await openQueue();

    expect([second, third]).toMatchObject([
      { state: 'created', position: 1 },
      { state: 'created', position: 2 },
    ]);
    expect(herd.shepherd.status(one.id)).toMatchObject({
      task: { id: first, state: 'running' },
      queue: [second.taskId, third.taskId],
    });
    expect(herd.shepherd.task(third.taskId)).toMatchObject({ state: 'created', queuePosition: 2 });
    expect(tasksOf(one)).toEqual([first]);
  });

  it('is refused without the wish to queue, which the error names', async () => {
    const { herd, one } = await openQueue();

    await expect(herd.shepherd.delegate({ target: one.id, task: 'Rest.' })).rejects.toMatchObject({
      code: 'active_task',
      message: expect.stringContaining('queue: true'),
    });
  });

  it('begins when the one before it has settled; its deadline counts from there', async () => {
    const { herd, one, first, second, third } = await openQueue();
    herd.advance(300_000);

    await one.done('completed', { summary: 'Forty.' });

    const envelope = await one.receives('task', ({ taskId }) => taskId === second.taskId);
    expect(envelope).toMatchObject({ content: 'Shear.', deadlineAt: startMs + 360_000 });
    await eventually(() => expect(statesOf(herd)).toEqual(['completed', 'running', 'created']));
    expect(herd.shepherd.task(third.taskId)).toMatchObject({ queuePosition: 1 });
    expect(herd.shepherd.task(first).result).toMatchObject({ status: 'completed' });
    herd.advance(60_000);
    await eventually(() => expect(statesOf(herd)).toEqual(['completed', 'timed_out', 'running']));
    expect(tasksOf(one)).toEqual([first, second.taskId, third.taskId]);
  });

  it('goes to an agent that is free as any other, without a place in line', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');

    const answer = await herd.shepherd.delegate({ target: one.id, task: 'Count.', queue: true });

    expect(answer).toEqual({ taskId: answer.taskId, agentId: one.id, state: 'running' });
  });

  it('that is withdrawn leaves the line; its child never hears of it', async () => {
    const { herd, one, first, second, third } = await openQueue();

    expect(herd.shepherd.cancel(second.taskId, 'No shears.')).toEqual({
      id: second.taskId,
      kind: 'task',
      state: 'cancelled',
    });
    await one.done('completed');

    await one.receives('task', ({ taskId }) => taskId === third.taskId);
    expect(tasksOf(one)).toEqual([first, third.taskId]);
    expect(one.received.filter(({ kind }) => kind === 'task_closed')).toEqual([]);
    expect(herd.shepherd.task(second.taskId).result).toMatchObject({
      status: 'cancelled',
      returnCode: 130,
      error: 'cancelled: No shears.',
      attempts: [],
    });
  });

  it('is cancelled with its agent', async () => {
    const { herd, one } = await openQueue();

    await herd.shepherd.close(one.id);

    expect(statesOf(herd)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(textsOf(herd, 'shepherd.notice')).toHaveLength(3);
  });

  it('waits over a restart, and begins in its turn', async () => {
    const { herd, one, second, third } = await openQueue();
    herd.abandon();
    const reopened = await herd.reopen();
    expect(reopened.shepherd.status(one.id).queue).toEqual([second.taskId, third.taskId]);

    await one.done('completed');

    await one.receives('task', ({ taskId }) => taskId === second.taskId);
    await eventually(() => expect(statesOf(reopened)).toEqual(['completed', 'running', 'created']));
  });
});

describe('an idempotency key', () => {
  it('gives the same task, however often and whatever became of it', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const ask = () =>
      herd.shepherd.delegate({ target: one.id, task: 'Count.', idempotencyKey: 'count-1' });
    const first = await ask();

    expect(await ask()).toEqual(first);
    await one.done('completed');
    await eventually(() => expect(statesOf(herd)).toEqual(['completed']));

    expect(await ask()).toEqual({ ...first, state: 'completed' });
    expect(tasksOf(one)).toHaveLength(1);
  });

  it('is known over a restart', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const options = { target: one.id, task: 'Count.', idempotencyKey: 'count-1' };
    const first = await herd.shepherd.delegate(options);
    herd.abandon();
    const reopened = await herd.reopen();

    expect(await reopened.shepherd.delegate(options)).toMatchObject({ taskId: first.taskId });
  });

  it('stands for one task: another under it is refused', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const options = { target: one.id, task: 'Count.', idempotencyKey: 'count-1' };
    await herd.shepherd.delegate(options);

    await expect(
      herd.shepherd.delegate({ ...options, task: 'Shear.', queue: true }),
    ).rejects.toMatchObject({ code: 'duplicate_conflict' });
    expect(herd.shepherd.tasks()).toHaveLength(1);
  });

  it.each(['', '  ', 'k'.repeat(201)])('is refused as “%s”', async (idempotencyKey) => {
    const herd = await openHerd();
    const one = await herd.hatch('one');

    await expect(
      herd.shepherd.delegate({ target: one.id, task: 'Count.', idempotencyKey }),
    ).rejects.toMatchObject({ code: 'invalid_task' });
  });
});

describe('a shepherd_done said twice', () => {
  it('settles the task of its turn, and never the one that waits behind it', async () => {
    const { herd, one, first, second } = await openQueue();
    one.turn('turn_started', { taskId: first });
    one.send({ kind: 'task_done', targetId: 'shepherd', status: 'completed', summary: 'Forty.' });
    const again = await one.done('completed', { summary: 'Forty, I said.' });

    expect(again).toMatchObject({ ok: true, data: { taskId: first, repeat: true } });
    expect(herd.shepherd.task(second.taskId).state).toBe('created');
    one.turn('turn_settled');
    await one.receives('task', ({ taskId }) => taskId === second.taskId);
    expect(herd.shepherd.task(second.taskId).state).toBe('running');
    expect(herd.shepherd.task(first).result?.summary).toBe('Forty.');
  });

  it('before the next task began is about the one before, whenever it is read', async () => {
    const { herd, one, first, second } = await openQueue();
    herd.abandon();
    const done = { kind: 'task_done', targetId: 'shepherd', status: 'completed' } as const;
    one.send(done);
    one.send(done);
    herd.pasture.nowMs += 1_000;

    const reopened = await herd.reopen();

    await one.receives('task', ({ taskId }) => taskId === second.taskId);
    expect(statesOf(reopened)).toEqual(['completed', 'running', 'created']);
    expect(reopened.shepherd.task(first).result).toMatchObject({ status: 'completed' });
  });

  it('of a task that is held is refused, and names the one that its sender has', async () => {
    const { herd, one, first, second } = await openQueue();

    expect(await one.done('completed', { taskId: second.taskId })).toMatchObject({
      ok: false,
      code: 'invalid_task',
      data: { ownTaskId: first },
    });
    expect(statesOf(herd)).toEqual(['running', 'created', 'created']);
  });
});

it('a question of its own held task is refused: the child cannot have it yet', async () => {
  const { herd, one, second } = await openQueue();

  expect(
    await one.say('shepherd', 'How?', { expectsReply: true, taskId: second.taskId }),
  ).toMatchObject({ ok: false, code: 'invalid_task' });
  expect(herd.shepherd.task(second.taskId)).toMatchObject({ state: 'created', requests: [] });
});

it('a task given without queue does not overtake those that wait', async () => {
  const { herd, one, first } = await openQueue();
  one.turn('turn_started', { taskId: first });
  await one.done('completed');

  await expect(herd.shepherd.delegate({ target: one.id, task: 'Hop.' })).rejects.toMatchObject({
    code: 'active_task',
  });
});
