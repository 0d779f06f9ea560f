import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SessionManager } from '@earendil-works/pi-coding-agent';
import { afterEach, describe, expect, it } from 'vitest';
import { registerChild } from '../../src/pi/child/session.ts';
import childExtension from '../../src/pi/child-extension.ts';
import parentExtension from '../../src/pi/parent-extension.ts';
import { createGate } from './support/gate.ts';
import { createHandParent, peerId, taskId, type HandParent } from './support/hand-parent.ts';
import { calls, says, startPi, type PiSession } from './support/pi-session.ts';
import { until } from './support/until.ts';

const holding = createGate();
holding.open();
let gate = holding;

function startChild(parent: HandParent, sessionManager?: SessionManager): Promise<PiSession> {
  return startPi({
    ...(sessionManager === undefined ? {} : { sessionManager }),
    extensions: [
      (api) => {
        registerChild(api, parent.identity);
        api.registerTool({
          name: 'work',
          label: 'Work',
          description: 'Works.',
          parameters: { type: 'object', properties: {} },
          async execute(_id, _parameters, signal, onUpdate) {
            onUpdate?.({ content: [{ type: 'text', text: 'half' }], details: undefined });
            const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
            await Promise.race([gate.passed, aborted]);
            return { content: [{ type: 'text', text: 'worked' }], details: undefined };
          },
        });
      },
    ],
  });
}

afterEach(() => {
  gate = holding;
});

const call = (name: string, parameters: Parameters<typeof calls>[1] = {}) =>
  says([calls(name, parameters)], { stopReason: 'toolUse' });
const lastText = (pi: PiSession) => pi.requests.at(-1)?.at(-1) ?? '';

describe('the child’s start', () => {
  it('says hello first, with pid and active tools', async () => {
    const parent = createHandParent();

    await startChild(parent);

    await until(() => expect(parent.received).toHaveLength(1));
    expect(parent.received[0]).toMatchObject({
      kind: 'hello',
      targetId: 'shepherd',
      pid: process.pid,
      tools: expect.arrayContaining(['shepherd_message', 'shepherd_done']),
    });
  });

  it('registers its three tools and no other, as flat objects', async () => {
    const parent = createHandParent();
    const pi = await startPi({ extensions: [(api) => registerChild(api, parent.identity)] });

    const tools = pi.tools();

    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'shepherd_done',
      'shepherd_message',
      'shepherd_roster',
    ]);
    for (const { parameters } of tools) {
      expect(parameters).toMatchObject({ type: 'object' });
      expect(['properties', 'required', 'type']).toEqual(
        expect.arrayContaining(Object.keys(parameters)),
      );
    }
  });

  it('takes its identity from the environment once and keeps parent tools out', async () => {
    const parent = createHandParent();
    process.env['SHEEPFOLD_CHILD'] = parent.identityPath;
    try {
      const early = await startPi({ extensions: [parentExtension] });
      const first = await startPi({ extensions: [childExtension] });
      expect(process.env['SHEEPFOLD_CHILD']).toBeUndefined();
      await first.quit();
      const again = await startPi({ extensions: [parentExtension, childExtension] });

      expect(early.tools()).toEqual([]);
      expect(again.tools()).toHaveLength(3);
      await until(() => expect(parent.ofKind('hello')).toHaveLength(2));
    } finally {
      delete process.env['SHEEPFOLD_CHILD'];
      Reflect.deleteProperty(globalThis, Symbol.for('sheepfold.child'));
    }
  });

  it('does nothing in a process that is no child', async () => {
    const pi = await startPi({ extensions: [childExtension] });

    expect(pi.tools()).toEqual([]);
  });
});

describe('a task', () => {
  it('wakes the child, is acked with a receipt, and ends by shepherd_done alone', async () => {
    const parent = createHandParent();
    parent.answer = () => ({ ok: true, data: { taskId, status: 'completed' } });
    const pi = await startChild(parent);
    pi.script(
      call('work'),
      says(
        [
          { type: 'text', text: 'It is in api.ts.' },
          calls('shepherd_done', { status: 'completed', summary: 'found' }),
        ],
        { stopReason: 'toolUse' },
      ),
    );

    const messageId = parent.send({ kind: 'task', taskId, content: 'Find the api.' });

    await until(() => expect(parent.events()).toEqual(['turn_started', 'turn_settled']));
    expect(pi.requests).toHaveLength(2);
    expect(pi.requests[0]?.[0]).toBe(
      [
        '[Task delegated to you]',
        'From: the Shepherd (shepherd)',
        `Message ID: ${messageId}`,
        `Task ID: ${taskId}`,
        '',
        'Find the api.',
        '',
        `How this task (${taskId}) ends: only when you call shepherd_done with status completed, blocked or failed and a summary. Ending your turn does not complete it. When you need an answer first, ask with shepherd_message and expectsReply, then end your turn: the reply wakes you.`,
      ].join('\n'),
    );
    expect(parent.receiptsOf(messageId)).toEqual(['delivered', 'seen']);
    const [started, settled] = parent.ofKind('runtime');
    expect(started).toMatchObject({ taskId });
    expect(settled).not.toHaveProperty('taskId');
    expect(parent.ofKind('task_done')).toMatchObject([
      {
        taskId,
        status: 'completed',
        summary: 'found',
        content: 'It is in api.ts.',
        evidence: { turns: 1, toolCalls: 2 },
      },
    ]);
    expect(parent.unacked()).toEqual([]);
    expect(pi.errors).toEqual([]);
  });

  it('is not done when the turn ends; the report carries the last words', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(says('I am done.'));

    parent.send({ kind: 'task', taskId, content: 'Find the api.' });

    await until(() => expect(parent.events()).toEqual(['turn_started', 'turn_settled']));
    expect(parent.ofKind('task_done')).toEqual([]);
    expect(parent.ofKind('runtime')).toMatchObject([{ taskId }, { taskId }]);
    expect(parent.ofKind('runtime').at(-1)).toMatchObject({
      aborted: false,
      content: 'I am done.',
      evidence: { turns: 1, toolCalls: 0, lastActivityAtMs: expect.any(Number) },
    });
  });

  it('is not shown to an earlier process’s session twice, and is acked then', async () => {
    const parent = createHandParent();
    const sessionManager = SessionManager.inMemory('/');
    const messageId = parent.send({ kind: 'task', taskId, content: 'Find the api.' });
    sessionManager.appendCustomMessageEntry('shepherd.task', 'Find the api.', true, {
      id: messageId,
    });

    const pi = await startChild(parent, sessionManager);

    await until(() => expect(parent.ofKind('receipt')).toHaveLength(1));
    expect(parent.unacked()).toEqual([]);
    expect(pi.requests).toEqual([]);
  });

  it('comes again to the next session when this one ends before it was stored', async () => {
    const parent = createHandParent();
    gate = createGate();
    const first = await startChild(parent);
    first.script(call('work'));
    const run = first.session.prompt('go');
    await until(() => expect(first.requests).toHaveLength(1));
    const messageId = parent.send({ kind: 'task', taskId, content: 'Find the api.' });
    await until(() =>
      expect(readdirSync(join(parent.identity.boxesDir, 'inbox', 'cur'))).toHaveLength(1),
    );
    await first.quit();
    await run;
    expect(parent.unacked()).toEqual([messageId]);

    const second = await startChild(parent);
    second.script(says('ok'));

    await until(() => expect(parent.unacked()).toEqual([]));
    expect(second.requests).toHaveLength(1);
  });

  it('that is closed is forgotten, and its running turn is aborted', async () => {
    const parent = createHandParent();
    gate = createGate();
    const pi = await startChild(parent);
    pi.script(call('work'));
    parent.send({ kind: 'task', taskId, content: 'Find the api.' });
    await until(() => expect(pi.requests).toHaveLength(1));

    parent.send({
      kind: 'task_closed',
      taskId,
      status: 'cancelled',
      error: 'cancelled: not needed',
    });

    await until(() => expect(parent.ofKind('runtime').at(-1)).toMatchObject({ aborted: true }));
    await until(() => expect(parent.unacked()).toEqual([]));
    expect(pi.customEntries().at(-1)?.content).toContain('Outcome: cancelled');
    expect(pi.session.isIdle).toBe(true);
    expect(pi.requests).toHaveLength(1);
  });

  it('that is closed leaves a turn alone in which a question is answered', async () => {
    const parent = createHandParent();
    gate = createGate();
    const pi = await startChild(parent);
    pi.script(says('I wait.'), call('work'), says('answered'));
    parent.send({ kind: 'task', taskId, content: 'Find the api.' });
    await until(() => expect(parent.events()).toEqual(['turn_started', 'turn_settled']));
    parent.send(
      { kind: 'message', content: 'Which?', delivery: 'followUp', expectsReply: true },
      peerId,
    );
    await until(() => expect(pi.requests).toHaveLength(2));

    const closed = parent.send({ kind: 'task_closed', taskId, status: 'timed_out' });
    // The slot of its task is free at once, whatever the question takes.
    await until(() => expect(parent.events().at(-1)).toBe('task_released'));
    expect(parent.ofKind('runtime').at(-1)).toMatchObject({ taskId });
    expect(existsSync(join(parent.identity.boxesDir, 'inbox', 'cur', `${closed}.json`))).toBe(true);
    gate.open();

    await until(() => expect(parent.events()).toHaveLength(5));
    expect(parent.ofKind('runtime').at(-1)).toMatchObject({
      event: 'turn_settled',
      aborted: false,
    });
    expect(parent.ofKind('runtime').at(-1)).not.toHaveProperty('content');
  });

  it('that is closed before the model saw it is never shown', async () => {
    const parent = createHandParent();
    gate = createGate();
    const pi = await startChild(parent);
    pi.script(call('work'), says('free'));
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    parent.send({ kind: 'task', taskId, content: 'Find the api.' });
    parent.send({ kind: 'task_closed', taskId, status: 'cancelled' });
    await until(() => expect(parent.unacked()).toEqual([]));
    gate.open();
    await run;

    expect(pi.customEntries()).toEqual([]);
    expect(parent.ofKind('receipt')).toEqual([]);
  });
});

describe('mail of others', () => {
  it('several questions of one tick all reach the child, once each', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(...Array.from({ length: 5 }, (_, index) => says(`answer ${index}`)));

    const sent = Array.from({ length: 5 }, (_, index) =>
      parent.send(
        { kind: 'message', content: `question ${index}`, delivery: 'followUp', expectsReply: true },
        peerId,
      ),
    );

    await until(() => expect(parent.unacked()).toEqual([]));
    await pi.session.waitForIdle();
    expect(pi.customEntries().map(({ details }) => details.id)).toEqual(sent);
    expect(pi.requests).toHaveLength(5);
    expect(lastText(pi)).toBe(
      [
        '[Question]',
        `From: ${peerId}`,
        `Message ID: ${sent[4]}`,
        `Reply expected: yes. Answer with shepherd_message, target "${peerId}", replyTo "${sent[4]}".`,
        '',
        'question 4',
      ].join('\n'),
    );
  });

  it('a plain message wakes nobody and is acked', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);

    parent.send({ kind: 'message', content: 'FYI', delivery: 'steer', threadId: 'news' }, peerId);

    await until(() => expect(parent.ofKind('receipt')).toHaveLength(1));
    expect(pi.requests).toEqual([]);
    expect(pi.customEntries()[0]?.content).toContain('Thread ID: news\nReply expected: no\n\nFYI');
  });

  it('a reply wakes and names the question', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(says('thanks'));
    const replyTo = `shepherd-message-${'q'.repeat(24)}`;

    parent.send({ kind: 'reply', content: 'Blue.', delivery: 'steer', taskId, replyTo }, peerId);

    await until(() => expect(pi.requests).toHaveLength(1));
    expect(lastText(pi)).toContain(
      `Task ID: ${taskId}\nReply to: ${replyTo} (sent by you earlier)\n`,
    );
  });

  it('a notice wakes', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(says('I see'));

    parent.send({ kind: 'notice', content: 'planner is gone', taskId });

    await until(() => expect(pi.requests).toHaveLength(1));
  });

  it('what no child takes is buried', async () => {
    const parent = createHandParent();
    await startChild(parent);

    parent.send({ kind: 'roster' });

    await until(() => expect(parent.unacked()).toEqual([]));
    expect(readdirSync(join(parent.identity.boxesDir, 'inbox', 'dead'))).not.toEqual([]);
  });
});

describe('shepherd_message', () => {
  it('asks for the own task and gives the verdict’s data', async () => {
    const parent = createHandParent();
    const data = { requestId: 'r', deadlineAtMs: 5, isClipped: true, targetId: peerId };
    parent.answer = () => ({ ok: true, data });
    const pi = await startChild(parent);
    pi.script(
      call('shepherd_message', {
        target: 'planner',
        message: 'Which?',
        expectsReply: true,
        threadId: '',
      }),
      says('I wait.'),
    );

    parent.send({ kind: 'task', taskId, content: 'Find the api.' });

    await until(() => expect(parent.events()).toHaveLength(2));
    const [asked] = parent.ofKind('message');
    expect(asked).toMatchObject({
      targetId: 'planner',
      content: 'Which?',
      delivery: 'followUp',
      expectsReply: true,
      taskId,
    });
    expect(asked).not.toHaveProperty('threadId');
    expect(toolResult(pi)).toMatchObject({
      isError: false,
      content: [
        {
          text: expect.stringContaining('until 1970-01-01T00:00:00.005Z, the deadline of the task'),
        },
      ],
      details: { accepted: true, messageId: asked?.messageId, delivery: 'queued', ...data },
    });
  });

  it('leaves the task of a reply to the router', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(
      says('first'),
      call('shepherd_message', {
        target: peerId,
        message: 'Blue.',
        replyTo: `shepherd-message-${'q'.repeat(24)}`,
      }),
      says('ok'),
    );
    parent.send({ kind: 'task', taskId, content: 'Find the api.' });
    await until(() => expect(parent.events()).toHaveLength(2));

    parent.send(
      { kind: 'message', content: 'Which?', delivery: 'followUp', expectsReply: true },
      peerId,
    );

    await until(() => expect(parent.ofKind('reply')).toHaveLength(1));
    expect(parent.ofKind('reply')[0]).not.toHaveProperty('taskId');
  });

  it.each([
    [{ target: ' ', message: 'x' }, 'invalid_argument: '],
    [{ target: 'planner', message: '' }, 'invalid_argument: '],
    [
      { target: 'planner', message: 'x', taskId: 'task-1' },
      'unknown_task: There is no task task-1',
    ],
    [{ target: 'planner', message: 'x', replyTo: '7' }, 'unknown_request: There is no message 7'],
    [{ target: 'planner', message: 'x'.repeat(70_000) }, 'message_too_large: '],
  ])('refuses %o with %s', async (parameters, text) => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(call('shepherd_message', parameters), says('oh'));

    await pi.session.prompt('go');

    expect(toolResult(pi)).toMatchObject({ isError: true });
    expect(lastText(pi)).toMatch(new RegExp(`^${text}`));
    expect(parent.ofKind('message')).toEqual([]);
  });

  it('shows a refusal as an error with its code', async () => {
    const parent = createHandParent();
    parent.answer = () => ({ ok: false, code: 'wait_cycle', error: 'planner waits for you.' });
    const pi = await startChild(parent);
    pi.script(call('shepherd_message', { target: 'planner', message: 'x' }), says('oh'));

    await pi.session.prompt('go');

    expect(toolResult(pi)).toMatchObject({ isError: true });
    expect(lastText(pi)).toBe('wait_cycle: planner waits for you.');
  });

  it('says queued without a verdict, and a later refusal wakes the child', async () => {
    const parent = createHandParent();
    parent.answer = () => undefined;
    const pi = await startChild(parent);
    pi.script(
      call('shepherd_message', { target: 'planner', message: 'x' }),
      says('on'),
      says('oh'),
    );

    await pi.session.prompt('go');
    const [message] = parent.ofKind('message');
    expect(toolResult(pi)).toMatchObject({ details: { delivery: 'queued' } });
    parent.send({
      kind: 'verdict',
      forMessageId: message!.messageId,
      ok: false,
      code: 'invalid_target',
      error: 'nobody',
    });

    await until(() => expect(pi.requests).toHaveLength(3));
    expect(lastText(pi)).toContain(`Reply to: ${message!.messageId}`);
    expect(lastText(pi)).toContain('It was not accepted: invalid_target: nobody');
  });
});

describe('shepherd_done', () => {
  it('is refused with its code, does not end the turn, and keeps the task', async () => {
    const parent = createHandParent();
    parent.answer = () => ({ ok: false, code: 'completion_refused', error: 'm1 is open.' });
    const pi = await startChild(parent);
    pi.script(call('shepherd_done', { status: 'completed' }), says('I wait.'));

    parent.send({ kind: 'task', taskId, content: 'Find the api.' });

    await until(() => expect(parent.events()).toHaveLength(2));
    expect(lastText(pi)).toBe('completion_refused: m1 is open.');
    expect(parent.ofKind('runtime').at(-1)).toMatchObject({ content: 'I wait.' });
  });

  it('passes an invented task id and an override on', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(call('shepherd_done', { status: 'blocked', taskId: 'task-7', override: 'enough' }));

    await pi.session.prompt('go');

    expect(parent.ofKind('task_done')).toMatchObject([
      { taskId: 'task-7', status: 'blocked', override: 'enough' },
    ]);
  });

  it('leaves the task out when the child knows of none', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(call('shepherd_done', { status: 'completed', taskId: '' }));

    await pi.session.prompt('go');

    expect(parent.ofKind('task_done')[0]).not.toHaveProperty('taskId');
    expect(parent.ofKind('task_done')[0]).not.toHaveProperty('content');
  });

  it('without a verdict does not end the turn; one that comes later closes the task', async () => {
    const parent = createHandParent();
    parent.answer = () => undefined;
    const pi = await startChild(parent);
    pi.script(call('shepherd_done', { status: 'completed' }), says('ending'), says('later'));
    parent.send({ kind: 'task', taskId, content: 'Find the api.' });
    await until(() => expect(parent.events()).toHaveLength(2));
    expect(toolResult(pi)).toMatchObject({ details: { accepted: false, delivery: 'queued' } });
    expect(parent.ofKind('runtime').at(-1)).toHaveProperty('content');
    expect(parent.ofKind('runtime').at(-1)).not.toHaveProperty('taskId');

    parent.send({
      kind: 'verdict',
      forMessageId: parent.ofKind('task_done')[0]!.messageId,
      ok: true,
    });
    await until(() => expect(parent.unacked()).toEqual([]));
    await pi.session.prompt('go');

    await until(() => expect(parent.events()).toHaveLength(4));
    expect(parent.ofKind('runtime').at(-1)).not.toHaveProperty('content');
    expect(pi.customEntries()).toHaveLength(1);
  });

  it('cuts its attached text on a character so that the envelope is taken', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(
      says(
        [
          { type: 'text', text: '🐑'.repeat(40_000) },
          calls('shepherd_done', { status: 'completed', summary: 's'.repeat(8_000) }),
        ],
        { stopReason: 'toolUse' },
      ),
    );

    await pi.session.prompt('go');

    const [done] = parent.ofKind('task_done');
    expect(done?.content).toMatch(/^(?:🐑)+$/u);
    expect(done!.content!.length).toBeGreaterThan(25_000);
  });
});

describe('reports', () => {
  it('tell of a provider that gave up, before the settled turn', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(says('', { stopReason: 'error', errorMessage: '500: {"message":"down"}' }));

    parent.send({ kind: 'task', taskId, content: 'Find the api.' });

    await until(() =>
      expect(parent.events()).toEqual(['turn_started', 'provider_gave_up', 'turn_settled']),
    );
    expect(parent.ofKind('runtime')[1]).toMatchObject({ error: '500: {"message":"down"}' });
    expect(pi.requests).toHaveLength(1);
  });

  it('tell of an abort, which is no failure of the provider', async () => {
    const parent = createHandParent();
    gate = createGate();
    const pi = await startChild(parent);
    pi.script(call('work'));
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    await pi.session.abort();
    await run;

    await until(() => expect(parent.events()).toEqual(['turn_started', 'turn_settled']));
    expect(parent.ofKind('runtime').at(-1)).toMatchObject({ aborted: true });
  });

  it('send a sign of life with the first activity, and not more than one in five seconds', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(call('work'), call('work'), call('work'), says('done'));

    await pi.session.prompt('go');

    await until(() => expect(parent.events()).toHaveLength(2));
    expect(parent.ofKind('heartbeat')).toMatchObject([
      { evidence: { lastActivityAtMs: expect.any(Number) as number } },
    ]);
  });

  it('tell of a child that goes in circles, once for each circle', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    pi.script(...Array.from({ length: 7 }, () => call('work')), says('done'));

    await pi.session.prompt('go');

    await until(() => expect(parent.events()).toHaveLength(3));
    expect(parent.ofKind('runtime')).toMatchObject([
      { event: 'turn_started' },
      { event: 'thrashing', content: expect.stringMatching(/^work .*5 times in a row/) as string },
      { event: 'turn_settled' },
    ]);
  });
});

describe('the child’s end', () => {
  it('closes the mailbox, so that nobody reads it any more', async () => {
    const parent = createHandParent();
    const pi = await startChild(parent);
    await until(() => expect(parent.received).toHaveLength(1));

    await pi.quit();
    const messageId = parent.send({ kind: 'message', content: 'late', delivery: 'followUp' });

    expect(parent.unacked()).toEqual([messageId]);
    expect(pi.errors).toEqual([]);
  });
});

function toolResult(pi: PiSession): unknown {
  return pi.session.messages.findLast(({ role }) => role === 'toolResult');
}
