import { describe, expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import type { TestChild } from '../support/child.ts';
import { stateOf, mailOf } from '../support/conversation.ts';
import { openHerd, openWait, requestOf, startMs, type TestHerd } from '../support/herd.ts';

describe('a question', () => {
  it('makes its task wait, and its answer lets it run again', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    expect(question).toMatchObject({
      ok: true,
      data: {
        requestId: question.messageId,
        targetId: two.id,
        target: 'scout: two',
        deadlineAtMs: startMs + defaultPolicy.replyTimeoutMs,
      },
    });
    expect(herd.shepherd.task(taskId)).toMatchObject({
      state: 'waiting',
      pendingRequest: question.messageId,
      waitingOn: 'scout: two',
      waitingMs: 0,
      stale: false,
      requests: [{ requestId: question.messageId, askerId: one.id, state: 'open' }],
    });
    expect(await two.receives('message')).toMatchObject({
      messageId: question.messageId,
      senderId: one.id,
      targetId: two.id,
      taskId,
      expectsReply: true,
      content: 'Which gate?',
    });

    const reply = await two.say(one.id, 'The left one.', { replyTo: question.messageId });

    expect(reply).toMatchObject({ ok: true, data: { targetId: one.id } });
    expect(await one.receives('reply')).toMatchObject({
      messageId: reply.messageId,
      senderId: two.id,
      replyTo: question.messageId,
      content: 'The left one.',
    });
    const task = herd.shepherd.task(taskId);
    expect(task.states.map(({ state }) => state)).toEqual([
      'created',
      'running',
      'waiting',
      'running',
    ]);
    expect(task).toMatchObject({ requests: [{ state: 'answered' }] });
    expect(task).not.toHaveProperty('pendingRequest');
  });

  it('keeps its task waiting while another one is open; the oldest is named', async () => {
    const { herd, one, two, taskId, question: first } = await openWait();
    const three = await herd.hatch('three');
    herd.advance(1000);
    const second = await one.say(three.id, 'Which dog?', { expectsReply: true });
    const third = await one.say(SHEPHERD_ID, 'Which hour?', { expectsReply: true });
    expect(herd.shepherd.task(taskId)).toMatchObject({
      pendingRequest: first.messageId,
      waitingOn: 'scout: two',
      waitingMs: 1000,
    });

    await three.say(one.id, 'Rex.', { replyTo: second.messageId });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'waiting', waitingOn: 'scout: two' });
    await two.say(one.id, 'Left.', { replyTo: first.messageId });
    expect(herd.shepherd.task(taskId)).toMatchObject({
      state: 'waiting',
      pendingRequest: third.messageId,
      waitingOn: 'the Shepherd',
    });
    await herd.shepherd.message({ target: one.id, message: 'Noon.', replyTo: third.messageId });

    expect(herd.shepherd.task(taskId)).toMatchObject({
      state: 'running',
      requests: [{ state: 'answered' }, { state: 'answered' }, { state: 'answered' }],
    });
    expect(await one.done('completed')).toMatchObject({ ok: true });
  });

  it('to the Shepherd wakes it, and the Shepherd’s answer counts', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    const question = await one.say('parent', 'Which gate?', { expectsReply: true });

    expect(herd.notices).toMatchObject([
      {
        kind: 'shepherd.message.incoming',
        wake: true,
        deliverAs: 'steer',
        details: { messageId: question.messageId, senderId: one.id, taskId, expectsReply: true },
      },
    ]);
    expect(herd.notices[0]?.text).toMatch(/^Question from scout: one .*\n\nWhich gate\?$/s);
    await herd.shepherd.message({ target: 'one', message: 'Left.', replyTo: question.messageId });
    expect(await one.receives('reply')).toMatchObject({ senderId: SHEPHERD_ID, content: 'Left.' });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });

  it('of nobody’s task hangs under its asker, and no task waits for it', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);

    const question = await two.say(one.id, 'Where are you?', { expectsReply: true });

    expect(question).toMatchObject({ ok: true });
    expect(await one.receives('message')).not.toHaveProperty('taskId');
    expect(requestOf(herd, question.messageId)).toMatchObject({ askerId: two.id, state: 'open' });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'running', requests: [] });
    await one.say(two.id, 'Here.', { replyTo: question.messageId });
    expect(requestOf(herd, question.messageId)).toMatchObject({ state: 'answered' });
    expect(await two.receives('reply')).toMatchObject({ content: 'Here.' });
  });

  it('of the Shepherd changes no task, and its answer wakes the Shepherd', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    const asked = await herd.shepherd.message({
      target: one.id,
      message: 'How many?',
      expectsReply: true,
    });

    expect(asked).toMatchObject({
      requestId: asked.messageId,
      deadlineAtMs: startMs + defaultPolicy.replyTimeoutMs,
      targetTaskState: 'running',
    });
    await one.say(SHEPHERD_ID, 'Seven.', { replyTo: asked.messageId });
    expect(requestOf(herd, asked.messageId)).toMatchObject({ state: 'answered' });
    expect(herd.notices).toMatchObject([
      {
        kind: 'shepherd.message.reply',
        wake: true,
        deliverAs: 'steer',
        details: { senderId: one.id, replyTo: asked.messageId },
      },
    ]);
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'running', requests: [] });
  });

  it('of the Shepherd with a task makes that task wait', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    const { messageId } = await herd.shepherd.message({
      target: one.id,
      message: 'How many?',
      expectsReply: true,
      taskId,
    });

    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'waiting', waitingOn: 'scout: one' });
    expect(await one.done('completed')).toMatchObject({ code: 'completion_refused' });
    await one.say('shepherd', 'Seven.', { replyTo: messageId });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });

  it('carries no task that has settled', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    await one.done('completed');

    expect(await one.say(SHEPHERD_ID, 'What next?', { expectsReply: true, taskId })).toMatchObject({
      ok: false,
      code: 'task_settled',
    });
    expect(await one.say(SHEPHERD_ID, 'What next?', { expectsReply: true })).toMatchObject({
      ok: true,
    });
  });

  it('carries no task of a third party', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const three = await herd.hatch('three');
    const taskId = await herd.delegate(three);
    const before = stateOf(herd);

    const question = await one.say(two.id, 'Which gate?', { expectsReply: true, taskId });

    expect(question).toMatchObject({ ok: false, code: 'task_agent_mismatch', data: { taskId } });
    expect(stateOf(herd)).toEqual(before);
    expect(mailOf(two)).toEqual([]);
  });
});

describe('a counter-question', () => {
  it('answers first and then asks, and is no cycle', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const own = await herd.delegate(two, 'Mend the fence.');

    const counter = await two.say(one.id, 'Left. Which flock?', {
      replyTo: question.messageId,
      expectsReply: true,
    });

    expect(counter).toMatchObject({ ok: true, data: { requestId: counter.messageId } });
    expect(requestOf(herd, question.messageId)).toMatchObject({ state: 'answered' });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(herd.shepherd.task(own)).toMatchObject({ state: 'waiting', waitingOn: 'scout: one' });
    expect(await one.receives('reply')).toMatchObject({ expectsReply: true });
    await one.say(two.id, 'The young one.', { replyTo: counter.messageId });
    expect(herd.shepherd.task(own).state).toBe('running');
  });

  it('that is refused has answered nothing', async () => {
    const { herd, one, two, taskId, question } = await openWait();

    const counter = await two.say(one.id, 'Left. Which flock?', {
      replyTo: question.messageId,
      expectsReply: true,
      taskId: 'shepherd-task-000000000000',
    });

    expect(counter.ok).toBe(false);
    expect(requestOf(herd, question.messageId)).toMatchObject({ state: 'open' });
    expect(herd.shepherd.task(taskId).state).toBe('waiting');
    expect(mailOf(one)).toEqual([]);
  });
});

describe('a question whose recipient', () => {
  it('is being closed is given up at once, before its process is gone', async () => {
    const { herd, one, two, taskId, question } = await openWait();

    const closed = herd.shepherd.close(two.id);

    expect(herd.shepherd.status(two.id).state).toBe('closing');
    expect(requestOf(herd, question.messageId)).toMatchObject({ state: 'recipient_gone' });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(await one.receives('notice')).toMatchObject({ code: 'recipient_gone', taskId });
    await closed;
    expect(one.received.filter(({ kind }) => kind === 'notice')).toHaveLength(1);
  });

  it.each([
    ['is closed', (herd: TestHerd, two: TestChild) => void herd.shepherd.close(two.id)],
    ['is lost', (herd: TestHerd, two: TestChild) => herd.host.exit(`${two.id}.1`, { code: 1 })],
  ])('%s ends the wait, and its asker is told', async (_name, end) => {
    const { herd, one, two, taskId, question } = await openWait();

    end(herd, two);

    expect(await one.receives('notice')).toMatchObject({
      senderId: SHEPHERD_ID,
      code: 'recipient_gone',
      requestId: question.messageId,
      taskId,
      content: expect.stringMatching(/scout: two has ended.*Which gate\?/),
    });
    expect(herd.shepherd.task(taskId)).toMatchObject({
      state: 'running',
      requests: [{ state: 'recipient_gone' }],
    });
    expect(await one.done('completed')).toMatchObject({ ok: true });
  });

  it('ends while another is open goes on waiting for that one', async () => {
    const { herd, one, two, taskId } = await openWait();
    const three = await herd.hatch('three');
    await one.say(three.id, 'Which dog?', { expectsReply: true });

    await herd.shepherd.close(two.id);

    expect(herd.shepherd.task(taskId)).toMatchObject({
      state: 'waiting',
      waitingOn: 'scout: three',
    });
  });

  it('settles its own task stays open, and can be answered', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    await herd.delegate(two, 'Mend the fence.');

    await two.done('failed');

    expect(herd.shepherd.task(taskId).state).toBe('waiting');
    expect(await two.say(one.id, 'Left.', { replyTo: question.messageId })).toMatchObject({
      ok: true,
    });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });

  it('ends is told to the Shepherd when it has asked', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const asked = await herd.shepherd.message({
      target: one.id,
      message: 'How many?',
      expectsReply: true,
    });
    await one.receives('message');

    await herd.shepherd.close(one.id);

    expect(requestOf(herd, asked.messageId)).toMatchObject({ state: 'recipient_gone' });
    expect(herd.notices).toMatchObject([
      {
        kind: 'shepherd.notice',
        wake: false,
        details: { requestId: asked.messageId, code: 'recipient_gone' },
      },
    ]);
  });
});

describe('a question whose asker', () => {
  it('ends is withdrawn, and its answer is too late', async () => {
    const { herd, one, two, taskId, question } = await openWait();

    await herd.shepherd.close(one.id);

    expect(herd.shepherd.task(taskId)).toMatchObject({
      state: 'cancelled',
      requests: [{ state: 'cancelled' }],
    });
    expect(await two.say(one.id, 'Left.', { replyTo: question.messageId })).toMatchObject({
      ok: false,
      code: 'agent_closed',
    });
  });
});
