import { describe, expect, it } from 'vitest';
import type { EnvelopeOf } from '../../src/mailbox/envelope.ts';
import type { TestChild } from '../support/child.ts';
import { eventually, openHerd, openWait, requestOf, textsOf } from '../support/herd.ts';

function report(
  child: TestChild,
  forMessageId: string,
  receipt: EnvelopeOf<'receipt'>['receipt'],
  error?: string,
): void {
  child.send({
    kind: 'receipt',
    targetId: 'shepherd',
    forMessageId,
    receipt,
    ...(error === undefined ? {} : { error }),
  });
}

describe('a message between children', () => {
  it('goes from queued over delivered and seen to answered, and never back', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const [message] = herd.shepherd.messages(question.messageId);
    expect(message).toMatchObject({
      messageId: question.messageId,
      fromName: 'scout: one',
      toName: 'scout: two',
      taskId,
      receipt: 'queued',
    });
    const receipt = () => herd.shepherd.messages(question.messageId)[0]?.receipt;

    report(two, question.messageId, 'seen');
    await eventually(() => expect(receipt()).toBe('seen'));
    report(two, question.messageId, 'delivered');
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    report(two, question.messageId, 'seen');
    await two.roster();

    expect(receipt()).toBe('answered');
  });

  it('takes no receipt from anybody but its recipient', async () => {
    const { herd, one, question } = await openWait();

    report(one, question.messageId, 'seen');
    await one.roster();

    expect(herd.shepherd.messages(question.messageId)[0]?.receipt).toBe('queued');
  });

  it('is shown to its sender when it asks again', async () => {
    const { one, two, question } = await openWait();
    report(two, question.messageId, 'delivered');
    await two.roster();

    const { data } = await one.roster();

    expect(data).toMatchObject({
      you: { id: one.id, name: 'scout: one' },
      agents: [{ id: two.id, name: 'scout: two', state: 'idle' }],
      questions: [{ requestId: question.messageId, askedOf: 'scout: two' }],
      messages: [{ messageId: question.messageId, to: 'scout: two', receipt: 'delivered' }],
    });
  });

  it('that nobody could deliver is told to both ends once; its question is withdrawn', async () => {
    const { herd, one, two, taskId, question } = await openWait();

    report(two, question.messageId, 'dead', 'uncertain: Pi took it three times.');
    report(two, question.messageId, 'dead', 'uncertain: Pi took it three times.');

    const notice = await one.receives('notice');
    expect(notice).toMatchObject({ requestId: question.messageId, code: 'cancelled' });
    expect(notice.content).toContain('Pi took it three times');
    await two.roster();
    expect(requestOf(herd, question.messageId)?.state).toBe('cancelled');
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(one.received.filter(({ kind }) => kind === 'notice')).toHaveLength(1);
    expect(textsOf(herd, 'shepherd.notice')).toHaveLength(1);
    expect(herd.shepherd.messages(question.messageId)).toMatchObject([
      { receipt: 'dead', error: 'uncertain: Pi took it three times.' },
    ]);
  });

  it('that is plain and could not be delivered is told to its sender as well', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
    const { messageId } = await one.say(two.id, 'Baa.');

    report(two, messageId, 'dead');

    expect(await one.receives('notice')).toMatchObject({ code: 'undelivered' });
    expect(textsOf(herd, 'shepherd.notice')).toHaveLength(1);
  });
});

describe('a task that its child’s Pi would not take', () => {
  it('fails, with what went wrong', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const { messageId } = await one.receives('task');

    report(one, messageId, 'dead', 'uncertain: Pi took it three times.');

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      error: 'uncertain: Pi took it three times.',
    });
  });
});

describe('a message to the Shepherd', () => {
  it('is delivered with its notice, and seen when the model has read that', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const { messageId } = await one.say('shepherd', 'Baa.');
    const receipt = () => herd.shepherd.messages(one.id)[0]?.receipt;
    await eventually(() => expect(receipt()).toBe('delivered'));

    herd.shepherd.seen([herd.notices[0]?.id ?? '', 'unknown']);

    expect(receipt()).toBe('seen');
    expect(herd.shepherd.messages(messageId)).toHaveLength(1);
  });

  it('that its Pi would not take is told to the sender', async () => {
    const herd = await openHerd({
      notify: ({ kind }) =>
        kind === 'shepherd.message.incoming'
          ? Promise.reject(new Error('Pi took it three times.'))
          : Promise.resolve(),
    });
    const one = await herd.hatch('one');

    const { messageId } = await one.say('shepherd', 'Baa.');

    const notice = await one.receives('notice');
    expect(notice).toMatchObject({ code: 'undelivered' });
    expect(notice.content).toContain(messageId);
    expect(herd.shepherd.messages(messageId)).toMatchObject([{ receipt: 'dead' }]);
  });
});

it('messages of a task, of an agent, of all, and no more than asked for', async () => {
  const { herd, one, two, taskId } = await openWait();
  await two.say('shepherd', 'Baa.');

  expect(herd.shepherd.messages(taskId).map(({ kind }) => kind)).toEqual(['message', 'task']);
  expect(herd.shepherd.messages(two.id)).toHaveLength(2);
  expect(herd.shepherd.messages()).toHaveLength(3);
  expect(herd.shepherd.messages('scout: one', { limit: 1 })).toMatchObject([{ fromId: one.id }]);
  expect(() => herd.shepherd.messages('nobody')).toThrow(
    expect.objectContaining({ code: 'invalid_target' }),
  );
});
