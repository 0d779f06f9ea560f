import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createIdMaker, SHEPHERD_ID } from '../../src/ids.ts';
import { sealEnvelope, type UnsealedEnvelope } from '../../src/mailbox/capability.ts';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import type { TestChild } from '../support/child.ts';
import {
  eventually,
  openHerd,
  openWait,
  requestOf,
  startMs,
  textsOf,
  type TestHerd,
} from '../support/herd.ts';

const ids = createIdMaker();

/** All that a refused call must leave as it was. */
function stateOf(herd: TestHerd): unknown {
  const { shepherd, notices } = herd;
  return structuredClone({ agents: shepherd.agents(), tasks: shepherd.tasks(), notices });
}

/** What a child was sent by others, verdicts aside. */
function mailOf(child: TestChild): readonly string[] {
  return child.received.flatMap((envelope) =>
    envelope.kind === 'message' || envelope.kind === 'reply' ? envelope.content : [],
  );
}

/** Two scouts and a planner, each with a name to be called by. */
async function openPasture() {
  const herd = await openHerd();
  const north = await herd.hatch('north pasture');
  const south = await herd.hatch('south pasture');
  const shearer = await herd.hatch('shearing', 'planner');
  return { herd, north, south, shearer };
}

/** Forgets that it was handled, as the box does after a day. */
function forget(child: TestChild, messageId: string): void {
  rmSync(join(child.identity.boxesDir, 'outbox', 'done', `${messageId}.json`));
}

/** Puts a file into a child's outbox, past its mailbox. */
function slipIn(child: TestChild, messageId: string, text: string): void {
  const outbox = join(child.identity.boxesDir, 'outbox');
  writeFileSync(join(outbox, 'tmp', messageId), text);
  renameSync(join(outbox, 'tmp', messageId), join(outbox, 'new', `${messageId}.json`));
}

/** What would complete the child's task, without its proof. */
function buildDone(child: TestChild, messageId: string): UnsealedEnvelope {
  const { sessionId, brokerId } = child.identity;
  return {
    v: 1,
    kind: 'task_done',
    status: 'completed',
    sessionId,
    brokerId,
    messageId,
    senderId: child.id,
    targetId: SHEPHERD_ID,
    createdAt: startMs,
    seq: 0,
    hops: 0,
  };
}

const seal = (envelope: UnsealedEnvelope, secret: string): string =>
  JSON.stringify(sealEnvelope(envelope, secret));

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

describe('a question whose recipient', () => {
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

describe('a name', () => {
  it.each([
    ['a label', 'north pasture', 'north'],
    ['definition and label', 'scout: south pasture', 'south'],
    ['the beginning of a label', 'north', 'north'],
    ['the beginning of definition and label', 'scout: so', 'south'],
    ['the definition that one agent has', 'planner', 'shearer'],
    ['a beginning that every id has too', 'she', 'shearer'],
  ] as const)('that is %s means its agent', async (_name, target, expected) => {
    const pasture = await openPasture();
    const { herd, shearer, north } = pasture;

    expect(herd.shepherd.status(target).id).toBe(pasture[expected].id);
    const sender = expected === 'shearer' ? north : shearer;
    expect(await sender.say(target, 'Hello.')).toMatchObject({
      ok: true,
      data: { targetId: pasture[expected].id },
    });
  });

  it('that begins one agent’s id means that agent', async () => {
    const { herd, north } = await openPasture();

    expect(herd.shepherd.status(north.id.slice(0, -2)).id).toBe(north.id);
    expect(herd.shepherd.status(north.id.slice('shepherd-agent-'.length, -2)).id).toBe(north.id);
  });

  it.each(['shepherd', 'parent'])('“%s” means the Shepherd', async (target) => {
    const { herd, north } = await openPasture();

    expect(await north.say(target, 'Hello.')).toMatchObject({ data: { targetId: SHEPHERD_ID } });
    expect(herd.notices).toHaveLength(1);
    expect(() => herd.shepherd.status(target)).toThrow(
      expect.objectContaining({ code: 'invalid_target' }),
    );
  });

  it.each([
    ['that two agents share', 'scout', 'ambiguous_target', ['north', 'south']],
    ['that two agents’ names begin with', 'scout: ', 'ambiguous_target', ['north', 'south']],
    ['that is misspelt', 'nroth pasture', 'invalid_target', ['north']],
    ['in other case', 'Shepherd', 'invalid_target', []],
    ['that begins every id', 'shepherd-agent-', 'invalid_target', []],
    ['of a wolf', 'shepherd-agent-000000000000', 'invalid_target', []],
  ] as const)('%s is refused and names candidates', async (_name, target, code, named) => {
    const pasture = await openPasture();
    const { herd, shearer } = pasture;
    const before = stateOf(herd);

    const answer = await shearer.say(target, 'Hello.');

    expect(answer).toMatchObject({ ok: false, code });
    for (const name of named) expect(answer.error).toContain(pasture[name].id);
    const said = { target, message: 'Hello.' };
    await expect(herd.shepherd.message(said)).rejects.toMatchObject({ code });
    expect(stateOf(herd)).toEqual(before);
  });

  it('puts the nearest first', async () => {
    const { north, shearer } = await openPasture();

    const { data } = await shearer.say('nroth pasture', 'Hello.');

    expect((data['nearest'] as string[])[0]).toBe(north.id);
  });

  it('of an agent that has ended says so by its id, and is unknown by its label', async () => {
    const { herd, north, south } = await openPasture();
    await herd.shepherd.close(north.id);

    expect(await south.say(north.id, 'Hello?')).toMatchObject({ ok: false, code: 'agent_closed' });
    expect(await south.say('north pasture', 'Hello?')).toMatchObject({ code: 'invalid_target' });
    expect(await south.say('scout', 'Hello?')).toMatchObject({ ok: false });
  });

  it('of an agent that is being closed is refused', async () => {
    const { herd, north, south } = await openPasture();
    herd.host.setPresence(`${north.id}.1`, 'unknown');
    await expect(herd.shepherd.close(north.id)).rejects.toMatchObject({
      code: 'close_unconfirmed',
      retryable: true,
    });

    const said = { target: north.id, message: 'Hello?' };
    await expect(herd.shepherd.message(said)).rejects.toMatchObject({ code: 'agent_closed' });

    expect(await south.say('north', 'Hello?')).toMatchObject({ ok: false, code: 'agent_closed' });
    expect(herd.shepherd.status(north.id).state).toBe('closing');
  });
});

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

describe('an envelope that comes again', () => {
  it('has its effect once and is given the same verdict', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    forget(one, question.messageId);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    const before = stateOf(herd);

    const again = await one.say(two.id, 'Which gate?', {
      expectsReply: true,
      messageId: question.messageId,
    });

    // Asked again, it also hears how far its question has come.
    expect(again).toEqual({ ...question, data: { ...question.data, delivery: 'answered' } });
    expect(stateOf(herd)).toEqual(before);
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(mailOf(two)).toEqual(['Which gate?']);
  });

  it('is refused again when it was refused', async () => {
    const { herd, one, two } = await openWait();
    const refused = await two.say(one.id, 'Which flock?', { expectsReply: true });
    expect(refused.code).toBe('wait_cycle');
    forget(two, refused.messageId);
    await herd.shepherd.close(one.id);

    const { messageId } = refused;
    expect(await two.say(one.id, 'Which flock?', { expectsReply: true, messageId })).toEqual(
      refused,
    );
  });

  it('with other content is refused', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const { messageId } = await one.say('shepherd', 'Seven.');
    await expect(one.say('shepherd', 'Eight.', { messageId })).rejects.toMatchObject({
      code: 'duplicate_conflict',
    });
    forget(one, messageId);

    expect(await one.say('shepherd', 'Eight.', { messageId })).toMatchObject({
      ok: false,
      code: 'duplicate_conflict',
    });
    expect(herd.notices).toHaveLength(1);
    forget(one, messageId);
    expect(await one.say('shepherd', 'Seven.', { messageId })).toMatchObject({ ok: true });
  });
});

describe('mail that cannot be used', () => {
  it.each([
    ['is no envelope', 'invalid_envelope', () => '[1]'],
    [
      'has an unknown field',
      'invalid_envelope',
      (done: UnsealedEnvelope) => JSON.stringify({ ...done, mac: '0'.repeat(64), wolf: true }),
    ],
    [
      'is forged',
      'invalid_capability',
      (done: UnsealedEnvelope) => seal(done, 'another secret'.repeat(4)),
    ],
    [
      'says it is from another',
      'invalid_sender',
      (done: UnsealedEnvelope, secret: string) =>
        seal({ ...done, senderId: 'shepherd-agent-000000000000' }, secret),
    ],
    [
      'is of another session',
      'foreign_session',
      (done: UnsealedEnvelope, secret: string) =>
        seal({ ...done, sessionId: 'another session' }, secret),
    ],
  ])('since it %s is put aside and told, and the rest flows', async (_name, code, build) => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    const messageId = ids.messageId(startMs);

    slipIn(child, messageId, build(buildDone(child, messageId), child.identity.secret));
    const answer = await child.say('shepherd', 'Behind it.');

    expect(answer).toMatchObject({ ok: true });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(await child.receives('verdict')).toMatchObject({
      forMessageId: messageId,
      ok: false,
      code,
    });
    await eventually(() =>
      expect(textsOf(herd, 'shepherd.notice')).toEqual([
        expect.stringMatching(
          new RegExp(`^Unusable mail of scout: one was put aside \\(${messageId}`),
        ),
      ]),
    );
    expect(await child.done('completed')).toMatchObject({ ok: true });
  });

  it('since only the Shepherd sends its kind is refused', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    const messageId = child.send({
      kind: 'task_closed',
      targetId: SHEPHERD_ID,
      taskId,
      status: 'completed',
    });

    expect(await child.receives('verdict')).toMatchObject({
      forMessageId: messageId,
      ok: false,
      code: 'invalid_envelope',
    });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });
});
