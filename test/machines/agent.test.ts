import { describe, expect, it } from 'vitest';
import {
  agentId,
  taskId,
  startAgent,
  hello,
  turnStarted,
  turnSettled,
  exited,
  close,
  assign,
  ask,
  taskOf,
  startAtWork,
  states,
  kinds,
  outcomes,
  type Agent,
} from '../support/agent-chart.ts';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';

describe('A1. ready only after the child’s own hello', () => {
  it('is idle once the child has said hello', () => {
    const bench = openCharts();
    const agent = startAgent(bench);
    expect(agent.getSnapshot().hasTag('ready')).toBe(false);

    agent.send(hello);

    expect(agent.getSnapshot().matches({ process: { ready: 'idle' } })).toBe(true);
    expect(states(bench)).toEqual(['idle']);
  });

  it('takes no turn for a hello', () => {
    const bench = openCharts();
    const agent = startAgent(bench);

    agent.send(turnStarted);
    agent.send(turnSettled);

    expect(agent.getSnapshot().matches({ process: 'starting' })).toBe(true);
  });

  it('fails at the spawn deadline and frees what it holds', () => {
    const bench = openCharts();
    const agent = startAgent(bench);
    agent.send(assign());
    agent.send(ask('q1'));

    bench.clock.advanceTo(19_999);
    expect(agent.getSnapshot().matches({ process: 'starting' })).toBe(true);
    bench.clock.advanceTo(20_000);

    expect(agent.getSnapshot().hasTag('ended')).toBe(true);
    expect(kinds(bench)).toContain('agent.end_process');
    expect(outcomes(bench)).toEqual(['failed agent_lost']);
    expect(bench.facts).toContainEqual(
      expect.objectContaining({
        type: 'request.settled',
        request: expect.objectContaining({ requestId: 'q1', outcome: 'cancelled' }),
      }),
    );
    expect(bench.told()).toEqual([{ type: 'agent.ended', agentId, state: 'failed' }]);
  });

  it.each(['launch.failed', 'process.exited'] as const)('fails on %s before hello', (type) => {
    const bench = openCharts();
    const agent = startAgent(bench);

    agent.send({ type, atMs: 4 });

    expect(states(bench)).toEqual(['failed']);
    expect(bench.told()).toEqual([{ type: 'agent.ended', agentId, state: 'failed' }]);
  });

  it('knows no spawn deadline once it is ready', () => {
    const bench = openCharts();
    const agent = startAgent(bench);
    agent.send(hello);

    bench.clock.advanceTo(1_000_000);

    expect(agent.getSnapshot().hasTag('ready')).toBe(true);
  });
});

describe('A2. A turn that starts or ends never reaches the task', () => {
  it('moves the process region only', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    const before = taskOf(agent).getSnapshot();

    for (const event of [turnSettled, turnStarted, turnSettled, turnStarted]) agent.send(event);

    expect(taskOf(agent).getSnapshot()).toBe(before);
    expect(states(bench)).toEqual(['idle', 'working', 'idle', 'working', 'idle', 'working']);
    expect(outcomes(bench)).toEqual([]);
  });

  it('is blocked while a person is awaited, and works on afterwards', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send({ type: 'human.awaited', atMs: 3 });
    expect(agent.getSnapshot().matches({ process: { ready: 'blocked' } })).toBe(true);
    agent.send({ type: 'human.answered', atMs: 4 });

    expect(agent.getSnapshot().matches({ process: { ready: 'working' } })).toBe(true);
    expect(outcomes(bench)).toEqual([]);
  });
});

describe('A3. At most one task; the slot frees when it has settled and its child let go', () => {
  it('takes no second task', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send(assign('t2'));

    expect(agent.getSnapshot().context.taskId).toBe(taskId);
    expect(Object.keys(agent.getSnapshot().children)).toEqual([taskId]);
  });

  it('is free at once when the owner settled the task itself', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    taskOf(agent).send({ type: 'task.done', status: 'completed', override: false, atMs: 9 });

    expect(agent.getSnapshot().matches({ slot: 'free' })).toBe(true);
    expect(agent.getSnapshot().children).toEqual({});
    expect(kinds(bench)).not.toContain('agent.release_task');
    agent.send(assign('t2'));
    expect(agent.getSnapshot().context.taskId).toBe('t2');
  });

  it('is free at once when no turn runs, and tells the child', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    agent.send(turnSettled);

    taskOf(agent).send({ type: 'task.cancel', atMs: 9 });

    expect(agent.getSnapshot().matches({ slot: 'free' })).toBe(true);
    expect(kinds(bench)).toContain('agent.release_task');
  });

  it.each([
    ['works', []],
    ['waits for a person', [{ type: 'human.awaited', atMs: 3 }]],
  ] as const)('drains while a turn %s, until that turn settles', (_name, events) => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    for (const event of events) agent.send(event);

    taskOf(agent).send({ type: 'task.cancel', atMs: 9 });
    expect(agent.getSnapshot().matches({ slot: 'draining' })).toBe(true);
    agent.send(assign('t2'));
    expect(agent.getSnapshot().context.taskId).toBeNull();
    agent.send(turnSettled);

    expect(agent.getSnapshot().matches({ slot: 'free', process: { ready: 'idle' } })).toBe(true);
  });

  it('ends a child that does not let go within the time after it was told', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    bench.clock.advanceTo(50_000);
    taskOf(agent).send({ type: 'task.cancel', atMs: 40_000 });
    bench.clock.advanceTo(60_000);
    agent.send({ type: 'release.told', atMs: 60_000 });

    bench.clock.advanceTo(69_999);
    expect(agent.getSnapshot().matches({ slot: 'draining' })).toBe(true);
    bench.clock.advanceTo(70_000);

    expect(agent.getSnapshot().matches({ process: 'closing' })).toBe(true);
    expect(kinds(bench)).toContain('agent.end_process');
    expect(bench.facts).toContainEqual(
      expect.objectContaining({ type: 'agent.bailed', agentId, taskId }),
    );
    agent.send(exited);
    expect(bench.told()).toEqual([{ type: 'agent.ended', agentId, state: 'closed' }]);
  });

  it('is free once the child has let go, although its turn goes on', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    taskOf(agent).send({ type: 'task.cancel', atMs: 9 });
    agent.send({ type: 'release.told', atMs: 9 });

    agent.send({ type: 'task.released', taskId: 't0' });
    expect(agent.getSnapshot().matches({ slot: 'draining' })).toBe(true);
    agent.send({ type: 'task.released', taskId });
    bench.clock.advanceTo(100_000);

    expect(agent.getSnapshot().matches({ slot: 'free', process: { ready: 'working' } })).toBe(true);
    expect(kinds(bench)).not.toContain('agent.bailed');
  });

  it('keeps its own questions apart from those of its task', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send(ask('q1'));
    taskOf(agent).send(ask('q2', taskId) as never);

    expect(agent.getSnapshot().context.requestIds).toEqual(['q1']);
    expect(taskOf(agent).getSnapshot().matches({ open: 'waiting' })).toBe(true);
    taskOf(agent).send({ type: 'task.cancel', atMs: 9 });
    expect(agent.getSnapshot().context.requestIds).toEqual(['q1']);
  });

  it('drops and reaps a question of its own that has ended', () => {
    const bench = openCharts();
    const agent = startAgent(bench);
    agent.send(hello);
    agent.send(ask('q1'));

    agent.getSnapshot().children['q1']?.send({ type: 'request.cancel', atMs: 9 });

    expect(agent.getSnapshot().context.requestIds).toEqual([]);
    expect(agent.getSnapshot().children).toEqual({});
  });
});

describe('A4. A lost agent fails its task, a closed one cancels it', () => {
  it('fails the task when the process ended by itself', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send(exited);

    expect(outcomes(bench)).toEqual(['failed agent_lost']);
    expect(states(bench).at(-1)).toBe('lost');
    expect(bench.told()).toEqual([{ type: 'agent.ended', agentId, state: 'lost' }]);
  });

  it.each([
    ['starting', []],
    ['ready', [hello]],
  ] as const)('cancels the task when it is closed while %s', (_name, events) => {
    const bench = openCharts();
    const agent = startAgent(bench);
    for (const event of [...events, assign()]) agent.send(event);

    agent.send(close);
    expect(outcomes(bench)).toEqual(['cancelled agent_closed']);
    expect(bench.told()).toEqual([]);
    agent.send(exited);

    expect(bench.told()).toEqual([{ type: 'agent.ended', agentId, state: 'closed' }]);
    expect(states(bench).slice(-2)).toEqual(['closing', 'closed']);
  });

  it('fails the task when an actor below it crashed, and goes on', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send({ type: 'actor.crashed', atMs: 9 });

    expect(outcomes(bench)).toEqual(['failed actor_crashed']);
    expect(agent.getSnapshot().hasTag('ready')).toBe(true);
  });

  it('has the process ended once more when it is asked again', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send(close);
    agent.send(close);

    expect(kinds(bench).filter((kind) => kind === 'agent.end_process')).toHaveLength(2);
    expect(outcomes(bench)).toHaveLength(1);
  });
});

describe('A5. An ended agent takes no further event', () => {
  it.each([
    ['closed', [hello, close, exited]],
    ['failed', [exited]],
    ['lost', [hello, exited]],
  ] as const)('stays %s', (state, events) => {
    const bench = openCharts();
    const agent = startAgent(bench);
    for (const event of events) agent.send(event);
    const before = agent.getSnapshot();
    const facts = bench.facts.length;

    for (const event of [hello, turnStarted, exited, close, assign(), ask('q1')]) agent.send(event);
    agent.send({ type: 'agent.bail', atMs: 9 });
    bench.clock.advanceTo(1_000_000);

    expect(agent.getSnapshot().value).toEqual(before.value);
    expect(agent.getSnapshot().context).toEqual(before.context);
    expect(agent.getSnapshot().children).toEqual({});
    expect(bench.facts).toHaveLength(facts);
    expect(states(bench).at(-1)).toBe(state);
  });

  it('takes no work while it is being closed either', () => {
    const bench = openCharts();
    const agent = startAgent(bench);
    for (const event of [hello, close, assign(), ask('q1')]) agent.send(event);

    expect(agent.getSnapshot().children).toEqual({});
    expect(agent.getSnapshot().context).toMatchObject({ taskId: null, requestIds: [] });
  });
});

/** Waits for q1 (reminder at 1,000, reply by 1,800), its task until 5,000, its own q0 till 3,000. */
function startNest(bench: ChartBench): Agent {
  const agent = startAgent(bench);
  agent.send(hello);
  agent.send({
    type: 'task.assign',
    queue: false,
    atMs: 0,
    task: { taskId, agentId, timeoutMs: 5_000, staleAfterMs: 1_000 },
  });
  agent.send(turnStarted);
  const question = { askerId: agentId, recipientId: 'a2', openedAtMs: 0 };
  const own = { ...question, requestId: 'q0', taskId: null, deadlineAtMs: 3_000 };
  const required = { ...question, requestId: 'q1', taskId, deadlineAtMs: 1_800 };
  agent.send({ type: 'request.open', request: own });
  taskOf(agent).send({ type: 'task.started', atMs: 0 });
  taskOf(agent).send({ type: 'request.open', request: required });
  return agent;
}

function resume(bench: ChartBench, snapshot: never): Agent {
  const agent = startAgent(bench, snapshot);
  agent.send({ type: 'session.resumed' });
  return agent;
}

describe('an agent that is resumed', () => {
  it('finds every region, its task and both kinds of questions where they were', () => {
    const before = openCharts();
    const agent = startNest(before);

    const bench = openCharts(400);
    const resumed = resume(bench, persist(agent));

    expect(resumed.getSnapshot().value).toEqual(agent.getSnapshot().value);
    expect(resumed.getSnapshot().context).toEqual(agent.getSnapshot().context);
    expect(Object.keys(resumed.getSnapshot().children).toSorted()).toEqual(['q0', taskId]);
    expect(
      taskOf(resumed)
        .getSnapshot()
        .matches({ open: { waiting: 'fresh' } }),
    ).toBe(true);
    expect(bench.facts).toEqual([]);
  });

  it('was kept with nothing but names: no logic travels in a snapshot', () => {
    const before = openCharts();
    const snapshot = persist(startNest(before)) as {
      children: Record<string, { src: unknown; snapshot: { children: object } }>;
    };

    expect(snapshot.children).toMatchObject({ q0: { src: 'request' }, [taskId]: { src: 'task' } });
    expect(snapshot.children[taskId]?.snapshot.children).toMatchObject({ q1: { src: 'request' } });
  });

  it.each([
    ['in time', 400],
    ['after everything is overdue', 9_999],
  ])('fires reminder, reply deadlines and task deadline in due order, %s', (_name, restartAtMs) => {
    const whole = openCharts();
    const agent = startNest(whole);
    const snapshot = persist(agent);
    whole.clock.advanceTo(20_000);

    const bench = openCharts(restartAtMs);
    resume(bench, snapshot);
    bench.clock.advanceTo(20_000);

    expect(kinds(bench)).toEqual([
      'task.stale',
      'request.settled',
      'task.settled',
      'agent.release_task',
      'request.settled',
    ]);
    expect(outcomes(bench)).toEqual(['blocked reply_deadline']);
    expect(outcomes(bench)).toEqual(outcomes(whole));
    expect(kinds(bench)).toEqual(kinds(whole).slice(-5));
  });

  it('fails at its own spawn deadline, not a full one later', () => {
    const before = openCharts();
    const snapshot = persist(startAgent(before));

    const bench = openCharts(19_000);
    const resumed = resume(bench, snapshot);
    bench.clock.advanceTo(20_000);

    expect(resumed.getSnapshot().matches({ process: 'failed' })).toBe(true);
  });

  it('keeps the drain deadline of a child that was told before', () => {
    const before = openCharts();
    const agent = startAtWork(before);
    taskOf(agent).send({ type: 'task.cancel', atMs: 9 });
    agent.send({ type: 'release.told', atMs: 100 });

    const bench = openCharts(5_000);
    const resumed = resume(bench, persist(agent));
    bench.clock.advanceTo(10_099);
    expect(resumed.getSnapshot().matches({ slot: 'draining' })).toBe(true);
    bench.clock.advanceTo(10_100);

    expect(resumed.getSnapshot().matches({ process: 'closing' })).toBe(true);
  });
});
