import { describe, expect, it } from 'vitest';
import type { TestChild } from '../support/child.ts';
import { eventually, openHerd, openWait, textsOf } from '../support/herd.ts';

/** Says that its Pi session has all that it was sent. */
function confirmMail(child: TestChild): void {
  for (const { messageId } of child.received) {
    child.send({
      kind: 'receipt',
      targetId: 'shepherd',
      forMessageId: messageId,
      receipt: 'delivered',
    });
  }
}

/** A turn on this task that ends by itself; resolves once the parent has heard of it. */
async function endTurn(child: TestChild, taskId: string, aborted = false): Promise<void> {
  confirmMail(child);
  child.turn('turn_started', { taskId });
  child.turn('turn_settled', { taskId, aborted });
  await child.roster();
}

const reminders = (child: TestChild): number =>
  child.received.filter(
    (envelope) => envelope.kind === 'notice' && envelope.code === 'done_reminder',
  ).length;

describe('a child that ends its turn with its task open', () => {
  it('is reminded once, then the Shepherd is told once; the task goes on', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    await endTurn(one, taskId);
    expect(await one.receives('notice')).toMatchObject({ code: 'done_reminder', taskId });
    expect(textsOf(herd, 'shepherd.notice')).toEqual([]);
    for (let turn = 0; turn < 3; turn += 1) await endTurn(one, taskId);

    expect(reminders(one)).toBe(1);
    await eventually(() => expect(textsOf(herd, 'shepherd.notice')).toHaveLength(1));
    expect(herd.notices[0]).toMatchObject({
      wake: false,
      details: { agentId: one.id, taskId, code: 'done_forgotten' },
    });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });

  it('is not reminded after an abort, nor while its task waits', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    await endTurn(one, taskId);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    await endTurn(one, taskId, true);
    expect(reminders(one)).toBe(0);

    await endTurn(one, taskId);

    await eventually(() => expect(reminders(one)).toBe(1));
    expect(textsOf(herd, 'shepherd.notice')).toEqual([]);
  });

  it('is not reminded while the answer to its question is on its way to it', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    one.turn('turn_started', { taskId });
    const question = await one.say('shepherd', 'Why?', { expectsReply: true });

    await herd.shepherd.message({
      target: one.id,
      message: 'Because.',
      replyTo: question.messageId,
    });
    // Ends after the answer was sent, but before the child has it.
    one.turn('turn_settled', { taskId });
    await one.receives('reply');
    await one.roster();

    expect(reminders(one)).toBe(0);
    await endTurn(one, taskId);
    await eventually(() => expect(reminders(one)).toBe(1));
  });

  it('is not reminded of a task that it handed in with the same turn', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    one.turn('turn_started', { taskId });
    await one.done('completed');
    one.turn('turn_settled');
    await one.roster();

    expect(reminders(one)).toBe(0);
  });

  it('is left alone when reminders are off', async () => {
    const herd = await openHerd({ policy: { doneNudges: 0 } });
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    await endTurn(one, taskId);
    await endTurn(one, taskId);

    expect(reminders(one)).toBe(0);
    expect(herd.notices).toEqual([]);
  });

  it('is reminded again after a restart no more than before', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    await endTurn(one, taskId);
    herd.abandon();
    const reopened = await herd.reopen();

    await endTurn(one, taskId);

    await eventually(() => expect(textsOf(reopened, 'shepherd.notice')).toHaveLength(1));
    expect(reminders(one)).toBe(1);
  });
});
