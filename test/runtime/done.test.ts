import { describe, expect, it } from 'vitest';
import { openHerd, textsOf } from '../support/herd.ts';

describe('shepherd_done', () => {
  it.each([
    ['completed', 0, true],
    ['failed', 1, false],
    ['blocked', 2, false],
  ] as const)('settles as %s with return code %i', async (status, returnCode, ok) => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    const answer = await child.done(status, { summary: 'Forty-two sheep.', taskId });

    expect(answer).toMatchObject({ ok: true, data: { taskId, status, accepted: true } });
    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      taskId,
      agentId: child.id,
      status,
      ok,
      returnCode,
      summary: 'Forty-two sheep.',
      text: 'Forty-two sheep.',
      lateEvents: [],
      attempts: [{ launch: 1 }],
    });
    expect(herd.shepherd.status(child.id)).not.toHaveProperty('task');
  });

  it('infers the task that the child has', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    expect(await child.done('completed')).toMatchObject({ ok: true, data: { taskId } });
    expect(herd.shepherd.task(taskId).state).toBe('completed');
  });

  it('gives the last assistant text before the summary, on failures too', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    child.turn('turn_started');
    child.turn('turn_settled', { taskId, content: 'I looked everywhere.' });

    await child.done('failed', { summary: 'No sheep.' });

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      text: 'I looked everywhere.',
      summary: 'No sheep.',
      error: expect.stringContaining('No sheep.'),
    });
  });

  it('has no text of an earlier task', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    await herd.delegate(child);
    child.turn('turn_settled', { content: 'The first answer.' });
    await child.done('completed');

    const second = await herd.delegate(child, 'Again.');
    await child.done('completed');

    expect(await herd.shepherd.settled(second)).not.toHaveProperty('text');
  });

  it('counts what the child did since the task began', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const observe = (turns: number, toolCalls: number) =>
      child.send({
        kind: 'runtime',
        targetId: 'shepherd',
        event: 'turn_settled',
        evidence: { turns, toolCalls, lastActivityAtMs: 7 },
      });
    observe(3, 10);
    await child.roster();

    const taskId = await herd.delegate(child);
    observe(5, 17);
    await child.done('completed');

    expect((await herd.shepherd.settled(taskId)).evidence).toEqual({
      turns: 2,
      toolCalls: 7,
      lastActivityAtMs: 7,
    });
  });

  it('is refused for an invented task, and names the right one', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    expect(await child.done('completed', { taskId: 'task-1' })).toMatchObject({
      ok: false,
      code: 'unknown_task',
      error: expect.stringContaining(taskId),
      data: { ownTaskId: taskId },
    });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });

  it('is refused for the task of another agent, which stays as it is', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const own = await herd.delegate(one);
    const foreign = await herd.delegate(two);

    expect(await one.done('completed', { taskId: foreign })).toMatchObject({
      ok: false,
      code: 'task_agent_mismatch',
      error: expect.stringMatching(new RegExp(`scout: two.*${own}`)),
    });
    expect(herd.shepherd.tasks().map((task) => task.state)).toEqual(['running', 'running']);
  });

  it('is refused without any task', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');

    expect(await child.done('completed')).toMatchObject({ ok: false, code: 'no_delegated_task' });
  });

  it('is answered with the settled result when it is repeated', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    await child.done('completed', { summary: 'first' });

    const again = await child.done('completed', { summary: 'second', taskId });

    expect(again).toMatchObject({
      ok: true,
      data: { taskId, repeat: true, result: { summary: 'first' } },
    });
    expect(await herd.shepherd.settled(taskId)).toMatchObject({ summary: 'first', lateEvents: [] });
  });

  it('is kept as late when it says something else about a settled task', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    await child.done('failed', { summary: 'no' });

    const late = await child.done('completed', { summary: 'yes after all', taskId });

    expect(late).toMatchObject({ ok: false, code: 'task_settled', data: { status: 'failed' } });
    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      summary: 'no',
      lateEvents: [{ kind: 'task_done', fromId: child.id, text: 'completed: yes after all' }],
    });
  });

  it('is about the task it names: an old one changes nothing in the new one', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const first = await herd.delegate(child);
    await child.done('completed');
    const second = await herd.delegate(child, 'Again.');

    expect(await child.done('blocked', { taskId: first })).toMatchObject({
      ok: false,
      code: 'task_settled',
    });
    expect(herd.shepherd.task(second).state).toBe('running');
  });

  it('is refused with a summary that is too long, and can be said shorter', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    const long = await child.done('completed', { summary: 'x'.repeat(8_001) });
    expect(long).toMatchObject({ ok: false, code: 'message_too_large' });
    expect(herd.shepherd.task(taskId).state).toBe('running');

    expect(await child.done('completed', { summary: 'x'.repeat(8_000) })).toMatchObject({
      ok: true,
    });
  });
});

describe('shepherd_done while a required reply is outstanding', () => {
  it('is refused, names what is open, and the task goes on waiting', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    const question = await one.say(two.id, 'Which gate?', { expectsReply: true });

    const refused = await one.done('completed', { summary: 'done', content: 'All counted.' });

    expect(refused).toMatchObject({
      ok: false,
      code: 'completion_refused',
      error: expect.stringMatching(new RegExp(`${question.messageId} to scout: two.*override`)),
      data: { taskId, requests: [question.messageId] },
    });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'waiting' });
    expect(herd.shepherd.task(taskId)).not.toHaveProperty('result');
  });

  it('leaves no word of the refused one in a later result', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    const { messageId } = await one.say(two.id, 'Which gate?', { expectsReply: true });
    await one.done('completed', { summary: 'refused' });
    await two.say(one.id, 'The left one.', { replyTo: messageId });

    await one.done('completed');

    expect(await herd.shepherd.settled(taskId)).not.toHaveProperty('summary');
  });

  it('is taken with an override, which cancels the questions and is kept', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    const { messageId } = await one.say(two.id, 'Which gate?', { expectsReply: true });

    expect(await one.done('completed', { override: 'both gates are open' })).toMatchObject({
      ok: true,
    });

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'completed',
      override: 'both gates are open',
    });
    expect(herd.shepherd.task(taskId).requests).toMatchObject([
      { requestId: messageId, state: 'cancelled' },
    ]);
    expect(await two.say(one.id, 'Left.', { replyTo: messageId })).toMatchObject({
      ok: false,
      code: 'request_settled',
    });
  });

  it.each([
    ['nothing is outstanding', 'completed', false],
    ['it is not completed', 'failed', true],
  ] as const)('keeps no override where %s', async (_where, status, hasAsked) => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    if (hasAsked) await one.say(two.id, 'Which gate?', { expectsReply: true });

    await one.done(status, { override: 'both gates are open' });

    const result = await herd.shepherd.settled(taskId);
    expect(result.status).toBe(status);
    expect(result).not.toHaveProperty('override');
  });

  it('is never refused for the length of its last text, which is cut', async () => {
    const herd = await openHerd({ policy: { maxContentCharacters: 100 } });
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    expect(await one.done('completed', { content: '🐑'.repeat(101) })).toMatchObject({ ok: true });

    expect((await herd.shepherd.settled(taskId)).text).toBe('🐑'.repeat(100));
  });

  it.each(['blocked', 'failed'] as const)('settles as %s all the same', async (status) => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    await one.say(two.id, 'Which gate?', { expectsReply: true });

    expect(await one.done(status)).toMatchObject({ ok: true });

    expect(herd.shepherd.task(taskId)).toMatchObject({
      state: status,
      requests: [{ state: 'cancelled' }],
    });
  });
});

describe('a provider that gave up', () => {
  it('fails the task with its message', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    child.turn('turn_started');

    child.turn('provider_gave_up', {
      taskId,
      error: '529 overloaded',
      content: 'So far: seven.',
    });

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      returnCode: 1,
      error: 'provider_error: 529 overloaded',
      text: 'So far: seven.',
    });
    expect(herd.shepherd.status(child.id).state).toBe('idle');
  });

  it('hurts no later task', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const first = await herd.delegate(child);
    child.turn('turn_started');
    child.turn('provider_gave_up', { taskId: first, error: '529 overloaded' });
    await child.receives('task_closed');

    const second = await herd.delegate(child, 'Again.');
    await child.done('completed');

    expect(await herd.shepherd.settled(second)).toMatchObject({ status: 'completed' });
    expect(await herd.shepherd.settled(second)).not.toHaveProperty('error');
  });
});

describe('a provider that gave up on a run without a task', () => {
  it.each([
    ['names none', () => ({}), 1],
    ['names the one before', (before: string) => ({ taskId: before }), 0],
  ])('hurts no task that was given meanwhile: %s', async (_how, named, notices) => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const before = await herd.delegate(child);
    child.turn('turn_started', { taskId: before });
    await child.done('completed');
    herd.shepherd.watch(before);
    const told = textsOf(herd, 'shepherd.notice').length;
    const next = await herd.delegate(child, 'Again.');

    child.turn('provider_gave_up', { ...named(before), error: '529 overloaded', content: 'Old.' });
    child.turn('turn_settled', named(before));
    await child.done('completed', { summary: 'Seven.' });

    expect(await herd.shepherd.settled(next)).toMatchObject({
      status: 'completed',
      text: 'Seven.',
    });
    const texts = textsOf(herd, 'shepherd.notice').filter((text) => text.includes('529'));
    expect(texts).toHaveLength(notices);
    expect(told).toBe(1);
  });
});

describe('an outcome that nobody watches', () => {
  it('is one passive notice', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    await child.done('blocked', { summary: 'The gate is locked.' });

    expect(textsOf(herd, 'shepherd.notice')).toEqual([
      `Task ${taskId} of scout: one blocked. The gate is locked.`,
    ]);
    expect(herd.notices[0]).toMatchObject({ wake: false, deliverAs: 'followUp' });
  });
});
