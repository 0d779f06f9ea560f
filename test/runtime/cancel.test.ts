import { describe, expect, it } from 'vitest';
import { eventually, openHerd, openWait, requestOf, textsOf } from '../support/herd.ts';

describe('a task that the Shepherd withdraws', () => {
  it('is cancelled, and its child is told before the slot frees', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    one.turn('turn_started', { taskId });
    await eventually(() => expect(herd.shepherd.status(one.id).state).toBe('working'));

    herd.shepherd.cancel(taskId, 'The wolf came.');

    expect(await one.receives('task_closed')).toMatchObject({
      taskId,
      status: 'cancelled',
      error: 'cancelled: The wolf came.',
    });
    await expect(herd.shepherd.delegate({ target: one.id, task: 'Flee.' })).rejects.toMatchObject({
      code: 'active_task',
    });
    one.turn('turn_settled', { aborted: true });
    await eventually(() => expect(herd.shepherd.status(one.id).state).toBe('idle'));
    await herd.delegate(one, 'Flee.');
    expect(herd.shepherd.task(taskId).result).toMatchObject({
      status: 'cancelled',
      returnCode: 130,
    });
  });

  it('takes its open questions with it, and tells one outcome', async () => {
    const { herd, taskId, question } = await openWait();

    herd.shepherd.cancel(taskId);
    herd.shepherd.cancel(taskId);

    expect(requestOf(herd, question.messageId)).toMatchObject({ state: 'cancelled' });
    await eventually(() => expect(textsOf(herd, 'shepherd.notice')).toHaveLength(1));
    expect(herd.shepherd.task(taskId).result?.error).toBe(
      'cancelled: the Shepherd withdrew the task.',
    );
  });

  it('is refused when it has settled otherwise', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    await one.done('completed');

    expect(() => herd.shepherd.cancel(taskId)).toThrow(
      expect.objectContaining({ code: 'task_settled' }),
    );
    expect(herd.shepherd.task(taskId).result?.status).toBe('completed');
  });
});

describe('a question that the Shepherd withdraws', () => {
  it('lets its task run, tells the asker why, and tells who was asked', async () => {
    const { herd, one, two, taskId, question } = await openWait();

    expect(herd.shepherd.cancel(question.messageId, 'Ask the ram.')).toEqual({
      id: question.messageId,
      kind: 'request',
      state: 'cancelled',
    });

    expect(await one.receives('notice')).toMatchObject({
      code: 'cancelled',
      requestId: question.messageId,
      content: expect.stringContaining('Ask the ram.'),
    });
    expect(await two.receives('notice')).toMatchObject({ code: 'request_withdrawn' });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(herd.shepherd.cancel(question.messageId).state).toBe('cancelled');
    expect(await two.say(one.id, 'Left.', { replyTo: question.messageId })).toMatchObject({
      ok: false,
      code: 'request_settled',
    });
  });

  it('of its own is withdrawn without a word to itself', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const { messageId } = await herd.shepherd.message({
      target: one.id,
      message: 'How many?',
      expectsReply: true,
    });

    herd.shepherd.cancel(messageId);

    await one.receives('notice');
    expect(requestOf(herd, messageId)).toMatchObject({ state: 'cancelled' });
    expect(herd.notices).toEqual([]);
  });

  it('is refused when it was answered', async () => {
    const { herd, one, two, question } = await openWait();
    await two.say(one.id, 'Left.', { replyTo: question.messageId });

    expect(() => herd.shepherd.cancel(question.messageId)).toThrow(
      expect.objectContaining({ code: 'request_settled' }),
    );
  });
});

it.each([
  ['nothing', () => 'shepherd-task-000000000000'],
  ['an agent', (id: string) => id],
])('an id of %s is refused', async (_what, idFor) => {
  const herd = await openHerd();
  const one = await herd.hatch('one');

  expect(() => herd.shepherd.cancel(idFor(one.id))).toThrow(
    expect.objectContaining({ code: 'unknown_task' }),
  );
});
