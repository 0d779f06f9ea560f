import { describe, expect, it } from 'vitest';
import type { OpenShepherdOptions } from '../../src/pi/parent/herd-of-session.ts';
import { registerParent } from '../../src/pi/parent/session.ts';
import type { Notice, Shepherd } from '../../src/runtime/shepherd.ts';
import {
  agentId,
  busy,
  createHandShepherd,
  idle,
  result,
  sent,
  taskId,
  waiting,
} from './support/hand-shepherd.ts';
import { createGate } from './support/gate.ts';
import { calls, says, startPi, type PiSession } from './support/pi-session.ts';
import { until } from './support/until.ts';

interface Setup {
  readonly pi: PiSession;
  readonly calls: ReturnType<typeof createHandShepherd>['calls'];
  /** What each opening was given. */
  readonly openings: readonly OpenShepherdOptions[];
  /** Calls one tool as the model would; returns what the model reads. */
  readonly use: (name: string, parameters: Parameters<typeof calls>[1]) => Promise<ToolResult>;
}

interface ToolResult {
  readonly text: string;
  readonly details: unknown;
  readonly isError: boolean;
}

async function setUp(
  change: Partial<Shepherd> = {},
  open?: () => Promise<Shepherd>,
): Promise<Setup> {
  const hand = createHandShepherd(change);
  const openings: OpenShepherdOptions[] = [];
  const pi = await startPi({
    extensions: [
      (api) =>
        registerParent(api, {
          open: (options) => {
            openings.push(options);
            return open?.() ?? Promise.resolve(hand.shepherd);
          },
        }),
    ],
  });
  return {
    pi,
    calls: hand.calls,
    openings,
    async use(name, parameters) {
      pi.script(says([calls(name, parameters)], { stopReason: 'toolUse' }), says('ok'));
      await pi.session.prompt('go');
      return toolResult(pi);
    },
  };
}

function toolResult(pi: PiSession): ToolResult {
  const message = pi.session.messages.findLast(({ role }) => role === 'toolResult');
  if (message?.role !== 'toolResult') throw new Error('No tool was called.');
  const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { text, details: message.details, isError: message.isError };
}

function notice(change: Partial<Notice> = {}): Notice {
  return {
    id: 'shepherd-notice-1',
    kind: 'shepherd.task.completion',
    text: 'Watched task settled: scout: api completed',
    wake: true,
    deliverAs: 'steer',
    details: { watcherId: 'w' },
    atMs: 0,
    ...change,
  };
}

describe('the parent’s tools', () => {
  it('are ten, each with a flat object schema and its required parameters', async () => {
    const { pi } = await setUp();

    const tools = pi.tools();

    const required = Object.fromEntries(
      tools.map(({ name, parameters }) => [name, (parameters as { required?: string[] }).required]),
    );
    expect(required).toEqual({
      shepherd: ['action'],
      shepherd_prompt: ['id', 'message'],
      shepherd_read: ['name'],
      shepherd_spawn: ['agent', 'label'],
      shepherd_delegate: ['target', 'task'],
      shepherd_message: ['target', 'message'],
      shepherd_watch: ['id'],
      shepherd_status: ['id'],
      shepherd_cancel: ['id'],
      shepherd_close: ['id'],
    });
    for (const { parameters } of tools) {
      expect(Object.keys(parameters).toSorted()).toEqual(['properties', 'required', 'type']);
      expect(parameters).toMatchObject({ type: 'object' });
    }
  });

  it('tell the model to watch and end its turn, never to poll', async () => {
    const { pi } = await setUp();

    const guidelines = pi.tools().flatMap(({ promptGuidelines = [] }) => promptGuidelines);

    expect(guidelines.join('\n')).toMatch(/call shepherd_watch .* then end your turn/);
    expect(guidelines.join('\n')).toMatch(/Never wait by polling/);
  });

  it('shepherd_spawn passes everything on, and the signal', async () => {
    const { use, calls: made } = await setUp();
    const parameters = { agent: 'scout', label: 'api', placement: 'tab', cwd: '/x' };

    const { details, text } = await use('shepherd_spawn', parameters);

    expect(details).toEqual({ id: agentId, agent: 'scout', label: 'api', model: 'faux/m' });
    expect(text).toBe(`Agent scout: api is ready and idle (${agentId}, model faux/m).`);
    expect(made).toEqual([['spawn', parameters, expect.any(AbortSignal)]]);
  });

  it('shepherd_spawn is aborted with the turn', async () => {
    let aborted = false;
    const { pi } = await setUp({
      spawn: (_options, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            aborted = true;
            reject(new Error('aborted'));
          });
        }),
    });
    pi.script(
      says([calls('shepherd_spawn', { agent: 'scout', label: 'api' })], { stopReason: 'toolUse' }),
    );
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    await pi.session.abort();
    await run;

    expect(aborted).toBe(true);
  });

  it('shepherd_delegate takes minutes', async () => {
    const { use, calls: made } = await setUp();

    const { details } = await use('shepherd_delegate', {
      target: 'api',
      task: 'Find it.',
      timeout: 1.5,
    });

    expect(details).toEqual({ taskId, agentId, state: 'running' });
    expect(made).toEqual([['delegate', { target: 'api', task: 'Find it.', timeoutMs: 90_000 }]]);
  });

  it('shepherd_delegate says where a held task stands in the queue', async () => {
    const { use, calls: made } = await setUp({
      delegate: () => Promise.resolve({ taskId, agentId, state: 'created', position: 2 }),
    });
    const asked = { target: 'api', task: 'Find it.', queue: true, idempotencyKey: 'find-1' };

    const { details, text } = await use('shepherd_delegate', asked);

    expect(details).toEqual({ taskId, agentId, state: 'created', position: 2 });
    expect(text).toContain(`is held, number 2 in the queue of ${agentId}`);
    expect(made).toEqual([['delegate', asked]]);
  });

  it('shepherd_delegate takes a blank key for none', async () => {
    const { use, calls: made } = await setUp();

    await use('shepherd_delegate', { target: 'api', task: 'Find it.', idempotencyKey: ' ' });

    expect(made).toEqual([['delegate', { target: 'api', task: 'Find it.' }]]);
  });

  it.each([0, -1])('shepherd_delegate refuses a timeout of %d minutes', async (timeout) => {
    const { use, calls: made } = await setUp();

    const refused = await use('shepherd_delegate', { target: 'api', task: 'x', timeout });

    expect(refused).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^invalid_timeout: /),
    });
    expect(made).toEqual([]);
  });

  it('shepherd_message passes everything on', async () => {
    const { use, calls: made } = await setUp();
    const parameters = { target: 'api', message: 'Which?', expectsReply: true, delivery: 'steer' };

    const { details } = await use('shepherd_message', { ...parameters, taskId, replyTo: '' });

    expect(details).toEqual({
      messageId: 'shepherd-message-1',
      accepted: true,
      delivery: 'queued',
      targetId: agentId,
      requestId: 'shepherd-message-1',
      targetTaskState: 'running',
    });
    expect(made).toEqual([['message', { ...parameters, taskId }]]);
  });

  it.each([taskId, [taskId]])(
    'shepherd_watch takes %o and gives settled tasks back',
    async (id) => {
      const { use, calls: made } = await setUp({
        watch: () => ({ watcherId: 'w', taskIds: [taskId], pending: [], completed: [result] }),
      });

      const { details, text } = await use('shepherd_watch', { id });

      expect(details).toEqual({
        watcherId: 'w',
        taskIds: [taskId],
        pending: [],
        completed: [result],
      });
      expect(text).toBe(`${taskId} completed: It is in api.ts.\nNothing is left to wait for.`);
      expect(made).toEqual([['watch', id]]);
    },
  );

  it('shepherd_status shows the states of an agent and its task side by side', async () => {
    const { use } = await setUp();

    const { details, text } = await use('shepherd_status', { id: 'api' });

    expect(text).toBe(
      `Agent scout: api (${agentId}) is idle; task ${taskId} is waiting on planner: main for 2 min (stale).\nTask: Find the api.`,
    );
    expect(details).toEqual({
      id: agentId,
      state: 'idle',
      messages: [],
      task: {
        id: taskId,
        state: 'waiting',
        description: 'Find the api.',
        waitingMs: 125_000,
        pendingRequest: 'shepherd-message-1',
        waitingOn: 'planner: main',
        stale: true,
      },
    });
  });

  it('shepherd_status takes a task id', async () => {
    const { use, calls: made } = await setUp();

    const { details } = await use('shepherd_status', { id: taskId });

    expect(details).toMatchObject({ id: taskId, state: 'completed', agentId, result });
    expect(made).toEqual([
      ['task', taskId],
      ['messages', taskId, { limit: 5 }],
    ]);
  });

  it('shepherd_status shows how far the latest messages of an agent or a task came', async () => {
    const { use } = await setUp({ messages: () => [sent] });
    const line = `- ${sent.messageId} (reply) from planner: main to scout: api is seen`;

    const ofAgent = await use('shepherd_status', { id: 'api' });
    const ofTask = await use('shepherd_status', { id: taskId });

    for (const { text, details } of [ofAgent, ofTask]) {
      expect(text.split('\n').at(-1)).toBe(line);
      expect(details).toMatchObject({ messages: [sent] });
    }
  });

  it('shepherd_status takes a message id, and says why one is dead', async () => {
    const dead = { ...sent, receipt: 'dead', error: 'uncertain: Pi never took it.' } as const;
    const { use, calls: made } = await setUp({ messages: () => [dead] });

    const { text, details } = await use('shepherd_status', { id: dead.messageId });

    expect(text).toMatch(/is dead: uncertain: Pi never took it\.$/);
    expect(details).toEqual({ id: dead.messageId, messages: [dead] });
    expect(made).toEqual([['messages', dead.messageId]]);
  });

  it('shepherd_status shows the queue, and of a long task only the beginning', async () => {
    const held = { ...waiting, state: 'created', description: '🐑'.repeat(1_000) } as const;
    const { use } = await setUp({
      status: () => ({ ...idle, queue: [taskId] }),
      task: () => ({ ...held, queuePosition: 1 }),
    });

    const { text, details } = await use('shepherd_status', { id: 'api' });

    const shown = `${'🐑'.repeat(499)}…`;
    expect(text).toContain(`In its queue, number 1: ${taskId}, ${shown}`);
    expect(details).toMatchObject({ queue: [{ queuePosition: 1, description: shown }] });
    expect(JSON.stringify(details)).not.toMatch(/pane|tab|workspace/);
  });

  it.each(['task', 'request'] as const)('shepherd_cancel withdraws a %s', async (kind) => {
    const { use, calls: made } = await setUp({
      cancel: (id) => ({ id, kind, state: 'cancelled' }),
    });

    const { details, isError } = await use('shepherd_cancel', { id: taskId, reason: 'Enough.' });

    expect(isError).toBe(false);
    expect(details).toEqual({ id: taskId, kind, state: 'cancelled' });
    expect(made).toEqual([['cancel', taskId, 'Enough.']]);
  });

  it('shepherd_close gives the id', async () => {
    const { use } = await setUp();

    expect(await use('shepherd_close', { id: 'api' })).toMatchObject({
      details: { id: agentId },
      isError: false,
    });
  });

  it('throw an error as code and message', async () => {
    const { use } = await setUp({ delegate: () => Promise.reject(busy) });

    const refused = await use('shepherd_delegate', { target: 'api', task: 'x' });

    expect(refused).toMatchObject({
      isError: true,
      text: 'active_task: scout: api has a task already.',
    });
  });
});

describe('the runtime of a parent session', () => {
  it('is opened once, by the first tool that needs it', async () => {
    const { use, openings, pi } = await setUp();
    expect(openings).toHaveLength(0);

    await use('shepherd_status', { id: 'api' });
    await use('shepherd_status', { id: 'api' });

    expect(openings).toHaveLength(1);
    expect(openings[0]?.ctx.sessionManager.getSessionId()).toBe(pi.session.sessionId);
  });

  it('is opened once for tools of one message', async () => {
    const { pi, openings } = await setUp();
    const both = ['a', 'b'].map((label) => calls('shepherd_spawn', { agent: 'scout', label }));
    pi.script(says(both, { stopReason: 'toolUse' }), says('ok'));

    await pi.session.prompt('go');

    expect(openings).toHaveLength(1);
  });

  it('is tried again after a failed opening', async () => {
    const { use, openings } = await setUp({}, () => Promise.reject(busy));

    expect(await use('shepherd_status', { id: 'api' })).toMatchObject({ isError: true });
    expect(await use('shepherd_status', { id: 'api' })).toMatchObject({ isError: true });

    expect(openings).toHaveLength(2);
  });

  it('is disposed with the session, before Pi is gone', async () => {
    const gate = createGate();
    let disposed = false;
    const { use, pi } = await setUp({
      async dispose() {
        await gate.passed;
        disposed = true;
      },
    });
    await use('shepherd_status', { id: 'api' });

    setImmediate(gate.open);
    await pi.quit();

    expect(disposed).toBe(true);
  });

  it('is not opened to be disposed', async () => {
    const { pi, openings } = await setUp();

    await pi.quit();

    expect(openings).toEqual([]);
    expect(pi.errors).toEqual([]);
  });
});

describe('a notice', () => {
  it('that wakes is read in a turn, once, and confirmed', async () => {
    const { use, openings, pi } = await setUp();
    await use('shepherd_status', { id: 'api' });
    const { notify } = openings[0]!;
    pi.script(says('Good.'));

    await Promise.all([notify(notice()), notify(notice())]);
    await notify(notice());

    await pi.session.waitForIdle();
    expect(pi.customEntries()).toMatchObject([
      {
        customType: 'shepherd.task.completion',
        content: 'Watched task settled: scout: api completed',
        details: { id: 'shepherd-notice-1', watcherId: 'w' },
      },
    ]);
    expect(pi.requests).toHaveLength(3);
  });

  it('that is passive wakes nobody', async () => {
    const { use, openings, pi } = await setUp();
    await use('shepherd_status', { id: 'api' });

    await openings[0]!.notify(notice({ kind: 'shepherd.notice', wake: false }));

    expect(pi.session.isIdle).toBe(true);
    expect(pi.requests).toHaveLength(2);
    expect(pi.customEntries()).toHaveLength(1);
  });

  it('is rejected once the session is over', async () => {
    const { use, openings, pi } = await setUp();
    await use('shepherd_status', { id: 'api' });

    await pi.quit();

    await expect(openings[0]!.notify(notice())).rejects.toMatchObject({ code: 'session_closed' });
  });
});
