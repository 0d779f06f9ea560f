import { describe, expect, it } from 'vitest';
import { stateOf, mailOf } from '../support/conversation.ts';
import { openHerd, openWait } from '../support/herd.ts';

describe('a text', () => {
  it.each([
    ['of too many characters', 'x'.repeat(50_001)],
    ['of too many bytes when it is encoded', 'é'.repeat(31_900)],
    ['of too many escapes', `x${'\n'.repeat(31_900)}`],
  ])('%s is refused, and nothing changes', async (_name, text) => {
    const { herd, one, two, question } = await openWait();
    const before = stateOf(herd);

    const answer = await two.say(one.id, text, { replyTo: question.messageId });

    expect(answer).toMatchObject({ ok: false, code: 'message_too_large' });
    const said = { target: one.id, message: text };
    await expect(herd.shepherd.message(said)).rejects.toMatchObject({ code: 'message_too_large' });
    expect(stateOf(herd)).toEqual(before);
    expect(mailOf(one)).toEqual([]);
    expect(await two.say(one.id, 'Left.', { replyTo: question.messageId })).toMatchObject({
      ok: true,
    });
  });

  it('that fits no envelope is refused before it is sent', async () => {
    const { one, two } = await openWait();

    await expect(two.say(one.id, '羊'.repeat(30_000))).rejects.toMatchObject({
      code: 'message_too_large',
    });
  });

  it('is measured in characters, not in units', async () => {
    const herd = await openHerd({ policy: { maxContentCharacters: 10 } });
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');

    expect(await one.say(two.id, '🐑'.repeat(11))).toMatchObject({ code: 'message_too_large' });
    expect(await one.say(two.id, '🐑'.repeat(10))).toMatchObject({ ok: true });
    expect((await two.receives('message')).content).toBe('🐑'.repeat(10));
  });

  it('of the Shepherd that is blank is refused', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');

    await expect(herd.shepherd.message({ target: one.id, message: ' \n' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});

describe('a plain message', () => {
  it('reaches another agent with its ids, and leaves every state alone', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    await herd.delegate(two);
    const before = stateOf(herd);

    const said = await one.say(two.id, 'It rains.', { threadId: 'weather' });

    expect(await two.receives('message')).toMatchObject({
      messageId: said.messageId,
      senderId: one.id,
      taskId,
      threadId: 'weather',
      content: 'It rains.',
      delivery: 'followUp',
    });
    expect(stateOf(herd)).toEqual(before);
  });

  it('to the Shepherd wakes nobody', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');

    await one.say('shepherd', 'It rains.');

    expect(herd.notices).toMatchObject([
      { kind: 'shepherd.message.incoming', wake: false, deliverAs: 'followUp' },
    ]);
  });

  it('of the Shepherd says what its recipient is doing', async () => {
    const { herd, one, two } = await openWait();

    const told = await herd.shepherd.message({ target: one.id, message: 'Hurry.' });
    const other = await herd.shepherd.message({ target: two.id, message: 'Hurry.' });

    expect(told).toEqual({
      messageId: expect.stringMatching(/^shepherd-message-/),
      accepted: true,
      delivery: 'queued',
      targetId: one.id,
      targetTaskState: 'waiting',
    });
    expect(other).not.toHaveProperty('targetTaskState');
  });

  it('with a task that is none is refused, and names the sender’s own', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const own = await herd.delegate(one);
    const taskId = 'shepherd-task-000000000000';

    expect(await one.say(two.id, 'It rains.', { taskId })).toMatchObject({
      ok: false,
      code: 'unknown_task',
      data: { taskId, ownTaskId: own },
    });
    await expect(
      herd.shepherd.message({ target: one.id, message: 'Hurry.', taskId: 'the task' }),
    ).rejects.toMatchObject({ code: 'unknown_task' });
    expect([...mailOf(one), ...mailOf(two)]).toEqual([]);
  });

  it('may speak of another’s task, and changes nothing in it', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(two);

    expect(await one.say(two.id, 'Hurry.', { taskId })).toMatchObject({ ok: true });

    expect(await two.receives('message')).toMatchObject({ taskId });
    expect(herd.shepherd.task(taskId).states).toHaveLength(2);
  });

  it('to oneself is refused', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');

    expect(await one.say('one', 'It rains.')).toMatchObject({ code: 'invalid_target' });
    await expect(
      herd.shepherd.message({ target: 'shepherd', message: 'It rains.' }),
    ).rejects.toMatchObject({ code: 'invalid_target' });
    expect(herd.notices).toEqual([]);
  });

  it('is refused when the inbox is full, and its sender may try again', async () => {
    const herd = await openHerd({ policy: { maxUnread: 1 } });
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    two.leave();
    await one.say(two.id, 'It rains.');

    expect(await one.say(two.id, 'It pours.')).toMatchObject({ ok: false, code: 'queue_full' });
  });
});
