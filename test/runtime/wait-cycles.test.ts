import { describe, expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { stateOf, mailOf } from '../support/conversation.ts';
import { openHerd, openWait } from '../support/herd.ts';

describe('a question that would close a ring of waits', () => {
  it('to oneself is refused', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    expect(await one.say(one.id, 'What now?', { expectsReply: true })).toMatchObject({
      ok: false,
      code: 'wait_cycle',
      data: { path: [one.id, one.id] },
    });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'running', requests: [] });
  });

  it('is refused with the path to who has asked before, who does not notice', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    await herd.delegate(two, 'Mend the fence.');
    const before = stateOf(herd);

    const back = await two.say(one.id, 'Which flock?', { expectsReply: true });

    expect(back).toMatchObject({
      ok: false,
      code: 'wait_cycle',
      error: expect.stringContaining('scout: two → scout: one → scout: two'),
      data: { path: [two.id, one.id, two.id] },
    });
    expect(stateOf(herd)).toEqual(before);
    expect(mailOf(one)).toEqual([]);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(await two.say(one.id, 'Which flock?', { expectsReply: true })).toMatchObject({
      ok: true,
    });
  });

  it('is refused in a ring of three', async () => {
    const { herd, one, two } = await openWait();
    const three = await herd.hatch('three');
    await two.say(three.id, 'Is the gate open?', { expectsReply: true });

    expect(await three.say(one.id, 'Which flock?', { expectsReply: true })).toMatchObject({
      ok: false,
      code: 'wait_cycle',
      data: { path: [three.id, one.id, two.id, three.id] },
    });
  });

  it('is refused when the Shepherd itself waits for its asker', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    await herd.shepherd.message({ target: one.id, message: 'How many?', expectsReply: true });
    await one.say(two.id, 'How many?', { expectsReply: true });

    expect(await two.say(SHEPHERD_ID, 'How many what?', { expectsReply: true })).toMatchObject({
      ok: false,
      code: 'wait_cycle',
      data: { path: [two.id, SHEPHERD_ID, one.id, two.id] },
    });
    expect(await two.say(SHEPHERD_ID, 'I do not understand.')).toMatchObject({ ok: true });
  });

  it('is refused to the Shepherd as well', async () => {
    const { herd, one, two } = await openWait();
    await two.say(SHEPHERD_ID, 'Which gate?', { expectsReply: true });

    const question = { target: one.id, message: 'How many?', expectsReply: true };
    await expect(herd.shepherd.message(question)).rejects.toMatchObject({
      code: 'wait_cycle',
      data: { path: [SHEPHERD_ID, one.id, two.id, SHEPHERD_ID] },
    });

    expect(mailOf(one)).toEqual([]);
  });

  it('that crosses another: exactly one of the two is refused', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const tasks = [await herd.delegate(one), await herd.delegate(two)];

    const answers = await Promise.all([
      one.say(two.id, 'Which gate?', { expectsReply: true }),
      two.say(one.id, 'Which flock?', { expectsReply: true }),
    ]);

    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([undefined, 'wait_cycle']));
    const states = tasks.map((id) => herd.shepherd.task(id).state);
    expect(states.toSorted()).toEqual(['running', 'waiting']);
  });
});
