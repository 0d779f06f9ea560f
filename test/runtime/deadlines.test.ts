import { describe, expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import type { TestChild } from '../support/child.ts';
import { openHerd, openWait, requestOf, startMs, textsOf, type TestHerd } from '../support/herd.ts';

const { replyTimeoutMs } = defaultPolicy;
const minuteMs = 60_000;

/** Resolves once the parent has looked at all that lay in the outboxes and was due. */
async function looked(herd: TestHerd, child: TestChild): Promise<void> {
  herd.nudge();
  await child.roster();
}

/** Has `one` say that it is done at this instant, and the parent look at it long after. */
async function doneAt(atMs: number): Promise<string> {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
  herd.pasture.nowMs = atMs;
  one.send({ kind: 'task_done', targetId: SHEPHERD_ID, status: 'completed' });
  herd.advanceTo(startMs + 60 * minuteMs);
  return (await herd.shepherd.settled(taskId)).status;
}

/** A task that waits for the Shepherd, and the reply that it waits for. */
async function askShepherd() {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const taskId = await herd.delegate(one);
  const { messageId } = await one.say(SHEPHERD_ID, 'Which gate?', { expectsReply: true });
  return { herd, taskId, reply: { target: one.id, message: 'Left.', replyTo: messageId } };
}

const staleAfterMs = 5 * minuteMs;
const reminders = (herd: TestHerd) =>
  herd.notices.filter((notice) => notice.kind === 'shepherd.stale.wait');

describe('a reply deadline', () => {
  it('settles the task as blocked and names who did not answer', async () => {
    const { herd, one, taskId, question } = await openWait();
    herd.advanceTo(startMs + replyTimeoutMs - 1);
    await looked(herd, one);
    expect(herd.shepherd.task(taskId).state).toBe('waiting');

    herd.advanceTo(startMs + replyTimeoutMs);

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'blocked',
      ok: false,
      returnCode: 2,
      error: 'reply_deadline: scout: two did not answer "Which gate?" in time.',
      settledAtMs: startMs + replyTimeoutMs,
    });
    expect(requestOf(herd, question.messageId)).toMatchObject({ state: 'expired' });
    expect(await one.receives('task_closed')).toMatchObject({ taskId, status: 'blocked' });
  });

  it('settles the task although another question is open, which is withdrawn', async () => {
    const { herd, one, taskId } = await openWait();
    const three = await herd.hatch('three');
    herd.advance(minuteMs);
    const second = await one.say(three.id, 'Which dog?', { expectsReply: true });

    herd.advanceTo(startMs + replyTimeoutMs);

    expect((await herd.shepherd.settled(taskId)).error).toContain('scout: two');
    expect(requestOf(herd, second.messageId)).toMatchObject({ state: 'cancelled' });
  });

  it('is as long as the policy says', async () => {
    const { herd, taskId } = await openWait({ policy: { replyTimeoutMs: 1000 } });

    herd.advance(1000);

    expect(await herd.shepherd.settled(taskId)).toMatchObject({ status: 'blocked' });
  });

  it('without a task tells the asker', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const { messageId } = await one.say(two.id, 'Where are you?', { expectsReply: true });

    herd.advance(replyTimeoutMs);

    expect(await one.receives('notice')).toMatchObject({
      code: 'expired',
      requestId: messageId,
      content: expect.stringContaining('scout: two did not answer in time'),
    });
    expect(requestOf(herd, messageId)).toMatchObject({ state: 'expired' });
  });

  it('of the Shepherd’s own question tells the Shepherd once', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const said = { target: one.id, message: 'How many?', expectsReply: true };
    const { messageId } = await herd.shepherd.message(said);

    herd.advance(replyTimeoutMs);
    await looked(herd, one);

    expect(herd.notices).toMatchObject([
      { kind: 'shepherd.notice', details: { requestId: messageId, code: 'expired' } },
    ]);
    expect(await one.say(SHEPHERD_ID, 'Seven.', { replyTo: messageId })).toMatchObject({
      ok: false,
      code: 'request_settled',
    });
  });
});

describe('a task deadline', () => {
  it('settles the task as timed out at its instant', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
    herd.advance(minuteMs - 1);
    await looked(herd, one);
    expect(herd.shepherd.task(taskId).state).toBe('running');

    herd.advance(10 * minuteMs);

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'timed_out',
      returnCode: 124,
      error: expect.stringMatching(/^task_deadline: /),
      settledAtMs: startMs + minuteMs,
    });
    expect(await one.receives('task_closed')).toMatchObject({ taskId, status: 'timed_out' });
  });

  it('holds while the task waits, and withdraws its questions', async () => {
    const { herd, taskId, question } = await openWait({}, minuteMs);

    herd.advance(minuteMs);

    expect(await herd.shepherd.settled(taskId)).toMatchObject({ status: 'timed_out' });
    expect(requestOf(herd, question.messageId)).toMatchObject({ state: 'cancelled' });
  });

  it('clips the reply deadlines of its questions, and says so', async () => {
    const { herd, one, two, taskId, question } = await openWait({}, minuteMs);

    const deadlineAtMs = startMs + minuteMs;
    expect(question.data).toMatchObject({ deadlineAtMs, isClipped: true });
    expect(await two.receives('message')).toMatchObject({ deadlineAt: deadlineAtMs });
    const asked = await herd.shepherd.message({
      target: one.id,
      message: 'How many?',
      expectsReply: true,
      taskId,
    });
    expect(asked).toMatchObject({ deadlineAtMs, isClipped: true });
    const own = await herd.shepherd.message({
      target: one.id,
      message: 'Do you hear me?',
      expectsReply: true,
    });
    expect(own).toMatchObject({ deadlineAtMs: startMs + replyTimeoutMs });
    expect(own).not.toHaveProperty('isClipped');
  });

  it('is the policy’s where the caller gives none', async () => {
    const herd = await openHerd({ policy: { taskTimeoutMs: minuteMs } });
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    herd.advance(minuteMs);

    expect(await herd.shepherd.settled(taskId)).toMatchObject({ returnCode: 124 });
  });

  it('is none by default', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    herd.advance(365 * 24 * 60 * minuteMs);
    await looked(herd, one);

    expect(herd.shepherd.task(taskId).state).toBe('running');
  });
});

describe('an envelope', () => {
  it.each([
    ['before', 'completed', -1],
    ['at', 'completed', 0],
    ['after', 'timed_out', 1],
  ])('sent %s the instant of a task deadline has it %s, however late', async (_n, status, byMs) => {
    expect(await doneAt(startMs + minuteMs + byMs)).toBe(status);
  });

  it.each([
    ['at', 'answered', 'running', 0],
    ['after', 'expired', 'blocked', 1],
  ])(
    'sent %s the instant of a reply deadline finds it %s, however late',
    async (_n, end, task, byMs) => {
      const { herd, one, two, taskId, question } = await openWait();
      herd.pasture.nowMs = startMs + replyTimeoutMs + byMs;
      two.send({
        kind: 'reply',
        targetId: one.id,
        content: 'Left.',
        delivery: 'followUp',
        replyTo: question.messageId,
      });

      herd.advance(minuteMs);
      await looked(herd, two);

      expect(herd.shepherd.task(taskId).state).toBe(task);
      expect(requestOf(herd, question.messageId)).toMatchObject({ state: end });
    },
  );

  it('that is late is kept with its task', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
    herd.pasture.nowMs = startMs + minuteMs + 1;

    const late = await one.done('completed', { summary: 'Seven.' });

    expect(late).toMatchObject({ ok: false, code: 'task_settled', data: { status: 'timed_out' } });
    expect((await herd.shepherd.settled(taskId)).lateEvents).toEqual([
      {
        kind: 'task_done',
        fromId: one.id,
        text: 'completed: Seven.',
        atMs: startMs + minuteMs + 1,
      },
    ]);
  });

  it('has its turn in the order of the instants, whoever sent it', async () => {
    const { herd, one, two, taskId, question } = await openWait({}, 2 * replyTimeoutMs);
    herd.pasture.nowMs = startMs + replyTimeoutMs;
    two.send({
      kind: 'reply',
      targetId: one.id,
      content: 'Left.',
      delivery: 'followUp',
      replyTo: question.messageId,
    });
    herd.pasture.nowMs = startMs + 2 * replyTimeoutMs;
    one.send({ kind: 'task_done', targetId: SHEPHERD_ID, status: 'completed' });

    herd.advance(60 * minuteMs);

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'completed',
      settledAtMs: startMs + 2 * replyTimeoutMs,
    });
  });

  it('with a clock that runs ahead is not late', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.pasture.nowMs = startMs + 2 * replyTimeoutMs;
    two.send({
      kind: 'reply',
      targetId: one.id,
      content: 'Left.',
      delivery: 'followUp',
      replyTo: question.messageId,
    });

    herd.advanceTo(startMs + replyTimeoutMs);
    await looked(herd, two);

    expect(herd.shepherd.task(taskId).state).toBe('running');
  });
});

describe('a call of the Shepherd', () => {
  it('after the instant of a deadline is late, although nobody has looked since', async () => {
    const { herd, taskId, reply } = await askShepherd();
    herd.pasture.nowMs = startMs + replyTimeoutMs + 1;

    await expect(herd.shepherd.message(reply)).rejects.toMatchObject({
      code: 'request_settled',
      data: { state: 'expired' },
    });

    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'blocked' });
  });

  it('at the very instant of a deadline is in time, as an envelope would be', async () => {
    const { herd, taskId, reply } = await askShepherd();
    herd.pasture.nowMs = startMs + replyTimeoutMs;

    await herd.shepherd.message(reply);

    expect(herd.shepherd.task(taskId).state).toBe('running');
  });

  it('comes after mail that lay unread before it', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    two.send({
      kind: 'reply',
      targetId: one.id,
      content: 'Left.',
      delivery: 'followUp',
      replyTo: question.messageId,
    });
    herd.pasture.nowMs = startMs + 2 * replyTimeoutMs;

    expect(herd.shepherd.watch(taskId)).toMatchObject({ pending: [taskId] });

    expect(herd.shepherd.task(taskId).state).toBe('running');
  });
});

describe('a stale wait', () => {
  it('says what can be done about it, and nothing that is refused', async () => {
    const { herd, one, question } = await openWait();
    const three = await herd.hatch('three');
    await herd.delegate(three);
    const own = await three.say('shepherd', 'Which flock?', { expectsReply: true });
    herd.advance(staleAfterMs);
    await looked(herd, one);

    const [ofOther = '', ofOwn = ''] = textsOf(herd, 'shepherd.stale.wait');
    expect(ofOther).toContain(`(${question.messageId})`);
    expect(ofOther).toMatch(/Remind scout: two .*shepherd_cancel/);
    expect(ofOther).not.toContain('Answer it');
    expect(ofOwn).toContain(`Answer it (shepherd_message with replyTo "${own.messageId}")`);
  });

  it('is one passive reminder that says all there is to know', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.advance(staleAfterMs - 1);
    await looked(herd, one);
    expect(herd.notices).toEqual([]);
    two.turn('turn_started');

    herd.advance(1);
    await looked(herd, one);

    expect(reminders(herd)).toMatchObject([
      {
        wake: false,
        deliverAs: 'followUp',
        text: expect.stringMatching(/05:00.*Which gate\?/s),
        details: {
          taskId,
          agentId: one.id,
          agentName: 'scout: one',
          description: 'Count the flock.',
          waitingSince: startMs,
          elapsedMs: staleAfterMs,
          requestMessageId: question.messageId,
          question: 'Which gate?',
          recipientId: two.id,
          recipientName: 'scout: two',
          recipientState: 'working',
          thresholdMinutes: 5,
        },
      },
    ]);
  });

  it('settles nothing, and is not told again', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.advance(staleAfterMs);
    herd.advance(minuteMs);
    herd.advance(minuteMs);
    await looked(herd, one);

    expect(reminders(herd)).toHaveLength(1);
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'waiting', stale: true });
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'running' });
    expect(herd.shepherd.task(taskId)).not.toHaveProperty('stale');
  });

  it('is told again in the next episode', async () => {
    const { herd, one, two, question } = await openWait();
    herd.advance(staleAfterMs);
    await looked(herd, one);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    const next = await one.say(two.id, 'And then?', { expectsReply: true });

    herd.advance(staleAfterMs);
    await looked(herd, one);

    expect(reminders(herd).map(({ details }) => details['requestMessageId'])).toEqual([
      question.messageId,
      next.messageId,
    ]);
  });

  it('belongs to the oldest open question, and is counted from its opening', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const three = await herd.hatch('three');
    herd.advance(2 * minuteMs);
    const second = await one.say(three.id, 'Which dog?', { expectsReply: true });
    herd.advanceTo(startMs + staleAfterMs);
    await looked(herd, one);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'waiting', stale: false });

    herd.advanceTo(startMs + 2 * minuteMs + staleAfterMs - 1);
    await looked(herd, one);
    expect(reminders(herd)).toHaveLength(1);
    herd.advance(1);
    await looked(herd, one);

    expect(reminders(herd).map(({ details }) => details)).toMatchObject([
      { requestMessageId: question.messageId, waitingSince: startMs },
      { requestMessageId: second.messageId, waitingSince: startMs + 2 * minuteMs },
    ]);
  });

  it('is none when the answer came first', async () => {
    const { herd, one, two, question } = await openWait();
    herd.advance(minuteMs);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });

    herd.advance(60 * minuteMs);
    await looked(herd, one);

    expect(herd.notices).toEqual([]);
  });

  it('is none of a question that no task requires', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    await one.say(two.id, 'Where are you?', { expectsReply: true });

    herd.advance(staleAfterMs);
    await looked(herd, one);

    expect(herd.notices).toEqual([]);
  });

  it('is told in the order of the instants, before the deadline that follows it', async () => {
    const { herd, taskId } = await openWait();

    herd.advance(60 * minuteMs);

    await herd.shepherd.settled(taskId);
    expect(herd.notices.map(({ kind }) => kind)).toEqual([
      'shepherd.stale.wait',
      'shepherd.notice',
    ]);
  });

  it('is none when reminders are off', async () => {
    const { herd, one, taskId } = await openWait({ policy: { staleAfterMs: null } });

    herd.advance(replyTimeoutMs - 1);
    await looked(herd, one);

    expect(herd.notices).toEqual([]);
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'waiting', stale: false });
  });
});

describe('a wait for the Shepherd', () => {
  it('is reminded of as one for anybody else', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    await herd.delegate(one);
    await one.say(SHEPHERD_ID, 'Which gate?', { expectsReply: true });

    herd.advance(5 * minuteMs);
    await looked(herd, one);

    expect(textsOf(herd, 'shepherd.stale.wait')).toEqual([
      expect.stringContaining('for the Shepherd'),
    ]);
  });
});
