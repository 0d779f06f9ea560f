import { describe, expect, it } from 'vitest';
import { eventually, openWait, requestOf, type Wait } from '../support/herd.ts';

/** `two` has been asked by the task of `one`, and asks in turn: a question under somebody else's task. */
async function openCounterQuestion(): Promise<Wait & { readonly counterId: string }> {
  const wait = await openWait();
  const { one, two, taskId, question } = wait;
  const counter = await two.say(one.id, 'Which flock?', {
    replyTo: question.messageId,
    expectsReply: true,
    taskId,
  });
  expect(counter.ok).toBe(true);
  return { ...wait, counterId: counter.messageId };
}

describe('a question under the task of another', () => {
  it('is withdrawn with its asker: the task goes on', async () => {
    const { herd, two, taskId, counterId } = await openCounterQuestion();
    expect(herd.shepherd.task(taskId).state).toBe('waiting');

    await herd.shepherd.close(two.id);

    expect(requestOf(herd, counterId)).toMatchObject({ state: 'cancelled' });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });

  it('is told to its asker when that task ends', async () => {
    const { herd, two, taskId, counterId } = await openCounterQuestion();

    herd.shepherd.cancel(taskId);

    expect(await two.receives('notice')).toMatchObject({ requestId: counterId, code: 'cancelled' });
  });

  it('is told to its asker when it expires', async () => {
    const { herd, two, taskId, counterId } = await openCounterQuestion();

    herd.advance(11 * 60_000);

    await eventually(() => expect(herd.shepherd.task(taskId).state).toBe('blocked'));
    expect(await two.receives('notice')).toMatchObject({ requestId: counterId, code: 'expired' });
  });

  it('is not one to wait for, but to answer, when its owner is asked', async () => {
    const { one, counterId } = await openCounterQuestion();

    const refused = await one.done('completed');

    expect(refused.code).toBe('completion_refused');
    expect(refused.error).toContain(`${counterId}, which you are to answer yourself`);
  });

  it('that is withdrawn wakes the owner whose task it held up', async () => {
    const { herd, one, taskId } = await openCounterQuestion();
    const asked = await herd.shepherd.message({
      target: one.id,
      message: 'How many?',
      expectsReply: true,
      taskId,
    });

    herd.shepherd.cancel(asked.messageId);

    const notice = await one.receives('notice', ({ requestId }) => requestId === asked.messageId);
    expect(notice.code).toBe('cancelled');
  });
});

describe('a shepherd_done that is repeated with large texts', () => {
  it('is answered all the same', async () => {
    const { one } = await openWait();
    const words = { summary: '羊'.repeat(8_000), content: 'x'.repeat(40_000) };
    await one.done('failed', words);

    expect(await one.done('failed', words)).toMatchObject({ ok: true, data: { repeat: true } });
  });
});

describe('a reason of any length', () => {
  it('leaves its child told, and its slot free in the end', async () => {
    const { herd, one, taskId } = await openWait();

    herd.shepherd.cancel(taskId, '羊'.repeat(70_000));

    expect(await one.receives('task_closed')).toMatchObject({ taskId, status: 'cancelled' });
    await expect(herd.delegate(one, 'Next.')).resolves.toBeDefined();
  });
});
