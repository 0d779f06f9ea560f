import { describe, expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import { ids, stateOf, mailOf } from '../support/conversation.ts';
import { openHerd, openWait, startMs } from '../support/herd.ts';

describe('a reply', () => {
  it.each([
    ['by another than was asked', 'three', 'one', {}, 'not_the_recipient'],
    ['to another than asked', 'two', 'three', {}, 'invalid_target'],
    ['to the Shepherd, who did not ask', 'two', 'shepherd', {}, 'invalid_target'],
    ['with another task', 'two', 'one', { taskId: 'of three' }, 'reply_task_mismatch'],
    ['to a message that is none', 'two', 'one', { replyTo: 'none' }, 'unknown_request'],
  ])('%s is refused, and nothing changes', async (_name, from, target, wrong, code) => {
    const { herd, one, two, question } = await openWait();
    const three = await herd.hatch('three');
    const foreign = await herd.delegate(three);
    const before = stateOf(herd);
    const { taskId, replyTo } = { taskId: undefined, replyTo: undefined, ...wrong };

    const reply = await { two, three }[from]?.say(target, 'Left.', {
      replyTo: replyTo === undefined ? question.messageId : ids.messageId(startMs),
      ...(taskId === undefined ? {} : { taskId: foreign }),
    });

    expect(reply).toMatchObject({ ok: false, code, error: expect.stringMatching(/./) });
    expect(stateOf(herd)).toEqual(before);
    expect([...mailOf(one), ...mailOf(three)]).toEqual([]);
  });

  it('of the Shepherd to a question that another was asked is refused', async () => {
    const { herd, one, taskId, question } = await openWait();

    const reply = { target: one.id, message: 'Left.', replyTo: question.messageId };
    await expect(herd.shepherd.message(reply)).rejects.toMatchObject({
      code: 'not_the_recipient',
      message: expect.stringContaining('scout: two'),
    });

    expect(herd.shepherd.task(taskId).state).toBe('waiting');
    expect(mailOf(one)).toEqual([]);
  });

  it('after the first one is refused, and not handed on', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const { messageId } = question;
    await two.say(one.id, 'Left.', { replyTo: messageId });
    const before = stateOf(herd);

    const second = await two.say(one.id, 'No, right.', { replyTo: messageId });

    expect(second).toMatchObject({
      ok: false,
      code: 'request_settled',
      data: { requestId: messageId, state: 'answered' },
    });
    expect(stateOf(herd)).toEqual(before);
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(mailOf(one)).toEqual(['Left.']);
  });

  it('that comes too late is refused and kept with the task', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.advance(defaultPolicy.replyTimeoutMs);
    await herd.shepherd.settled(taskId);
    herd.advance(1);

    const late = await two.say(one.id, 'Left.', { replyTo: question.messageId });

    expect(late).toMatchObject({ ok: false, code: 'request_settled', data: { state: 'expired' } });
    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'blocked',
      lateEvents: [{ kind: 'reply', fromId: two.id, text: 'Left.', atMs: herd.pasture.nowMs }],
    });
    expect(mailOf(one)).toEqual([]);
  });

  it('of the Shepherd that comes too late is kept with the task as well', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const { messageId } = await one.say(SHEPHERD_ID, 'Which gate?', { expectsReply: true });
    herd.advance(defaultPolicy.replyTimeoutMs);
    await herd.shepherd.settled(taskId);

    const reply = { target: one.id, message: 'Left.', replyTo: messageId };
    await expect(herd.shepherd.message(reply)).rejects.toMatchObject({ code: 'request_settled' });

    expect((await herd.shepherd.settled(taskId)).lateEvents).toMatchObject([
      { kind: 'reply', fromId: SHEPHERD_ID, text: 'Left.' },
    ]);
  });

  it('may answer a plain message, and changes no state', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    const said = await one.say(two.id, 'It rains.');

    const reply = await two.say(one.id, 'Here too.', { replyTo: said.messageId });

    expect(reply).toMatchObject({ ok: true });
    expect(await one.receives('reply')).toMatchObject({ replyTo: said.messageId });
    expect(herd.shepherd.task(taskId).states).toHaveLength(2);
  });
});
