import { createActor, initialTransition, transition } from 'xstate';
import { describe, expect, it } from 'vitest';
import type { TaskEvent, TaskInput } from '../../machines/index.ts';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';
import { soloTask } from '../support/model.ts';

const taskId = 'shepherd-task-1';
const agentId = 'shepherd-agent-1';

function inputOf(changes: Partial<TaskInput> = {}): TaskInput {
  return { taskId, agentId, timeoutMs: null, staleAfterMs: null, ...changes };
}

function requestOf(requestId: string, openedAtMs = 0, deadlineAtMs = 600_000) {
  return { requestId, askerId: agentId, recipientId: 'peer', taskId, openedAtMs, deadlineAtMs };
}

function open(requestId: string, openedAtMs?: number, deadlineAtMs?: number): TaskEvent {
  return { type: 'request.open', request: requestOf(requestId, openedAtMs, deadlineAtMs) };
}

function done(status: 'completed' | 'blocked' | 'failed', override = false): TaskEvent {
  return { type: 'task.done', status, override, atMs: 90 };
}

function settled(
  requestId: string,
  outcome: 'answered' | 'expired' | 'recipient_gone' | 'cancelled' = 'answered',
): TaskEvent {
  return { type: 'request.settled', requestId, outcome, atMs: 80 };
}

const dispatched: TaskEvent = { type: 'task.dispatched', atMs: 0 };
const started: TaskEvent = { type: 'task.started', atMs: 1 };

/** The state of a dispatched task after these events; pure, no timer and no effect. */
function after(...events: readonly TaskEvent[]) {
  const [initial] = initialTransition(soloTask, inputOf());
  return [dispatched, ...events].reduce(
    (state, event) => transition(soloTask, state, event)[0],
    initial,
  );
}

/** Names of the actions that the last of these events causes. */
function actionsOf(...events: readonly TaskEvent[]): readonly string[] {
  const last = events.at(-1) as TaskEvent;
  return transition(soloTask, after(...events.slice(0, -1)), last)[1].map(({ type }) => type);
}

function startTask(bench: ChartBench, input: Partial<TaskInput>) {
  const task = createActor(bench.charts.task, {
    parent: bench.owner,
    id: taskId,
    input: inputOf(input),
  });
  task.start();
  task.send(dispatched);
  return task;
}

/** The task as a new process finds it, told that the session has been resumed. */
function resumeTask(bench: ChartBench, snapshot: never) {
  const task = createActor(bench.charts.task, {
    parent: bench.owner,
    id: taskId,
    input: inputOf(),
    snapshot,
  });
  task.start();
  task.send({ type: 'session.resumed' });
  return task;
}

const outside: readonly TaskEvent[] = [
  { type: 'task.cancel', atMs: 90 },
  { type: 'agent.closed', atMs: 90 },
  { type: 'agent.lost', atMs: 90 },
  { type: 'actor.crashed', atMs: 90 },
];

describe('the way of a task', () => {
  it('begins as created and runs once its envelope is in the inbox', () => {
    expect(after().value).toEqual({ open: 'created' });
    expect(after(started).value).toEqual({ open: 'running' });
    expect(actionsOf(started)).toEqual(['recordState']);
  });

  it('fails from created when it could not be published, and only from there', () => {
    const unpublished: TaskEvent = { type: 'publish.failed', atMs: 5 };

    expect(after(unpublished).context.outcome).toMatchObject({
      status: 'failed',
      cause: 'publish_failed',
    });
    expect(after(started, unpublished).value).toEqual({ open: 'running' });
  });

  it.each([
    ['running', [started]],
    ['waiting', [started, open('q1')]],
  ] as const)('fails from %s when its child’s Pi would not take it', (_state, before) => {
    const state = after(...before, { type: 'delivery.failed', atMs: 7 });

    expect(state.value).toBe('failed');
    expect(state.context.outcome).toMatchObject({ status: 'failed', cause: 'delivery_failed' });
  });

  it('is dispatched once: its deadline stays', () => {
    const bench = openCharts();
    const task = startTask(bench, { timeoutMs: 1_000 });

    task.send({ type: 'task.dispatched', atMs: 500 });

    expect(task.getSnapshot().context).toMatchObject({ dispatchedAtMs: 0, deadlineAtMs: 1_000 });
  });

  it('fails when the provider gave up, running or waiting', () => {
    const gaveUp: TaskEvent = { type: 'provider.gave_up', atMs: 5 };

    expect(after(started, gaveUp).value).toBe('failed');
    expect(after(started, open('r1'), gaveUp).context.outcome?.cause).toBe('provider_gave_up');
  });

  it.each([
    ['task.cancel', 'cancelled', 'cancelled'],
    ['agent.closed', 'cancelled', 'agent_closed'],
    ['agent.lost', 'failed', 'agent_lost'],
    ['actor.crashed', 'failed', 'actor_crashed'],
  ] as const)('settles on %s as %s from every open state', (type, status, cause) => {
    const event = { type, atMs: 90 } as TaskEvent;
    const outcome = { status, cause, atMs: 90, requestId: null };

    expect(after(event).context.outcome).toEqual(outcome);
    expect(after(started, event).context.outcome).toEqual(outcome);
    expect(after(started, open('r1'), event).context.outcome).toEqual({
      ...outcome,
      requestId: 'r1',
    });
  });

  it('tells its owner how it ended, and is done with that outcome', () => {
    const bench = openCharts();
    const task = startTask(bench, {});

    task.send(started);
    task.send(done('failed'));

    expect(bench.told()).toEqual([
      { type: 'task.settled', taskId, status: 'failed', cause: 'owner', atMs: 90 },
    ]);
    expect(task.getSnapshot()).toMatchObject({
      status: 'done',
      output: { status: 'failed', cause: 'owner' },
    });
  });
});

describe('T1. Only the owner’s task.done settles as completed', () => {
  it('settles as the owner says', () => {
    expect(after(started, done('completed')).value).toBe('completed');
    expect(after(started, done('blocked')).value).toBe('blocked');
    expect(after(started, done('failed')).value).toBe('failed');
  });

  it.each(['turn.settled', 'turn.started', 'agent_end', 'agent_settled', 'agent.idle'])(
    'does not know %s',
    (type) => {
      const before = after(started, open('r1'));
      const [next, actions] = transition(soloTask, before, { type } as never);

      expect(next.value).toEqual(before.value);
      expect(actions).toEqual([]);
    },
  );

  it('is completed by nothing else, whatever happens to it', () => {
    const events: readonly TaskEvent[] = [
      ...outside,
      settled('r1'),
      settled('r1', 'expired'),
      settled('r1', 'cancelled'),
      { type: 'provider.gave_up', atMs: 1 },
      { type: 'session.resumed' },
    ];

    const values = events.map((event) => after(started, open('r1'), event).value);
    expect(values).not.toContain('completed');
  });
});

describe('T2. completed never with a required request open, unless an override says why', () => {
  it('refuses and stays waiting', () => {
    const events = [started, open('r1'), done('completed')];

    expect(after(...events).value).toEqual({ open: { waiting: 'fresh' } });
    expect(actionsOf(...events)).toEqual(['refuseCompletion']);
  });

  it('refuses as long as one of several is open', () => {
    const one = [started, open('r1'), open('r2'), settled('r1')];

    expect(after(...one, done('completed')).value).toEqual({ open: { waiting: 'fresh' } });
    expect(after(...one, settled('r2'), done('completed')).value).toBe('completed');
  });

  it('completes with an override and closes the open requests in the records', () => {
    const bench = openCharts();
    const task = startTask(bench, {});
    for (const event of [started, open('r1'), open('r2')]) task.send(event);

    task.send(done('completed', true));

    expect(task.getSnapshot().value).toBe('completed');
    expect(bench.facts.find((fact) => fact.type === 'task.requests_closed')).toMatchObject({
      requests: [{ requestId: 'r1' }, { requestId: 'r2' }],
      atMs: 90,
    });
  });

  it('lets the owner give up while it waits', () => {
    expect(after(started, open('r1'), done('blocked')).value).toBe('blocked');
    expect(after(started, open('r1'), done('failed')).value).toBe('failed');
  });
});

describe('T3. The first outcome wins; a settled task takes no further event', () => {
  it.each(['completed', 'blocked', 'failed'] as const)('keeps %s', (status) => {
    const first = after(started, done(status));
    const events = [...outside, done('completed'), done('failed'), started, open('r1')];

    for (const event of events) {
      const [next, actions] = transition(soloTask, first, event);
      expect(next.context.outcome).toEqual(first.context.outcome);
      expect(next.value).toBe(status);
      expect(actions).toEqual([]);
    }
  });

  it('lets no timer change a settled task', () => {
    const bench = openCharts();
    const task = startTask(bench, { timeoutMs: 1_000, staleAfterMs: 100 });
    for (const event of [started, open('r1', 0, 500), done('blocked')]) task.send(event);

    bench.clock.advanceTo(10_000);

    expect(task.getSnapshot().context.outcome).toMatchObject({ status: 'blocked', cause: 'owner' });
    expect(bench.told().filter(({ type }) => type === 'task.settled')).toHaveLength(1);
    expect(bench.clock.nextDueAtMs()).toBeUndefined();
  });
});

describe('T4. A reply deadline blocks; an answer, cancellation or lost recipient ends the wait', () => {
  it.each(['answered', 'recipient_gone', 'cancelled'] as const)('runs again on %s', (outcome) => {
    expect(after(started, open('r1'), settled('r1', outcome)).value).toEqual({ open: 'running' });
  });

  it('waits on while another request is open, whichever ends first', () => {
    const both = [started, open('r1'), open('r2')];

    expect(after(...both, settled('r1')).value).toEqual({ open: { waiting: 'fresh' } });
    expect(after(...both, settled('r2')).value).toEqual({ open: { waiting: 'fresh' } });
    expect(after(...both, settled('r2'), settled('r1')).value).toEqual({ open: 'running' });
  });

  it('settles as blocked when a reply deadline passes, and names the request', () => {
    const bench = openCharts();
    const task = startTask(bench, {});
    for (const event of [started, open('r1', 0, 900), open('r2', 10, 500)]) task.send(event);

    bench.clock.advanceTo(499);
    expect(task.getSnapshot().value).toEqual({ open: { waiting: 'fresh' } });
    bench.clock.advanceTo(500);

    expect(task.getSnapshot().context.outcome).toEqual({
      status: 'blocked',
      cause: 'reply_deadline',
      atMs: 500,
      requestId: 'r2',
    });
  });

  it('waits anew when it asks again', () => {
    expect(after(started, open('r1'), settled('r1'), open('r2')).value).toEqual({
      open: { waiting: 'fresh' },
    });
  });
});

/** When a reminder was recorded, and of which request. */
const reminders = (bench: ChartBench) =>
  bench.facts.flatMap((fact) =>
    fact.type === 'task.stale' ? [[fact.recordedAtMs, fact.requestId]] : [],
  );

describe('T5. One stale reminder an episode; it settles nothing', () => {
  it('reminds once at the threshold and stays waiting', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0)]) task.send(event);

    bench.clock.advanceTo(299);
    expect(reminders(bench)).toEqual([]);
    bench.clock.advanceTo(5_000);

    expect(reminders(bench)).toEqual([[300, 'r1']]);
    expect(task.getSnapshot().value).toEqual({ open: { waiting: 'stale' } });
  });

  it('never reminds without a threshold', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: null });
    for (const event of [started, open('r1', 0, 90_000)]) task.send(event);

    bench.clock.advanceTo(89_999);

    expect(reminders(bench)).toEqual([]);
    expect(task.getSnapshot().value).toEqual({ open: { waiting: 'fresh' } });
  });

  it('begins a new episode with a new wait', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0)]) task.send(event);
    bench.clock.advanceTo(400);
    task.send(settled('r1'));
    bench.clock.advanceTo(1_000);
    task.send(open('r2', 1_000));

    bench.clock.advanceTo(5_000);

    expect(reminders(bench)).toEqual([
      [300, 'r1'],
      [1_300, 'r2'],
    ]);
  });

  it('counts from the next oldest request when the oldest is answered', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0)]) task.send(event);
    bench.clock.advanceTo(250);
    task.send(open('r2', 250));
    bench.clock.advanceTo(310);
    expect(task.getSnapshot().value).toEqual({ open: { waiting: 'stale' } });

    task.send(settled('r1'));
    expect(task.getSnapshot().value).toEqual({ open: { waiting: 'fresh' } });
    bench.clock.advanceTo(5_000);

    expect(reminders(bench)).toEqual([
      [300, 'r1'],
      [550, 'r2'],
    ]);
  });

  it('keeps the episode when a younger request ends', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0), open('r2', 100)]) task.send(event);
    bench.clock.advanceTo(310);

    task.send(settled('r2'));
    bench.clock.advanceTo(5_000);

    expect(reminders(bench)).toEqual([[300, 'r1']]);
    expect(task.getSnapshot().value).toEqual({ open: { waiting: 'stale' } });
  });

  it('says that the wait is no longer stale when a new episode begins', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0), open('r2', 250)]) task.send(event);
    bench.clock.advanceTo(310);

    task.send(settled('r1'));

    expect(bench.facts.at(-1)).toMatchObject({ type: 'task.fresh', taskId });
  });
});

describe('T5. Another threshold', () => {
  it.each([
    ['a longer one', 600, [[600, 'r1']]],
    ['a shorter one that has passed', 50, [[100, 'r1']]],
    ['none', null, []],
  ])('re-arms a wait that nobody was reminded of: %s', (_what, staleAfterMs, expected) => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0)]) task.send(event);
    bench.clock.advanceTo(100);
    task.send({ type: 'stale.threshold', staleAfterMs });
    bench.clock.advanceTo(5_000);
    expect(reminders(bench)).toEqual(expected);
  });

  it('reminds nobody twice, and counts for the next wait', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0)]) task.send(event);
    bench.clock.advanceTo(400);
    task.send({ type: 'stale.threshold', staleAfterMs: 500 });
    bench.clock.advanceTo(1_000);
    expect(reminders(bench)).toEqual([[300, 'r1']]);
    task.send(settled('r1'));
    task.send(open('r2', 1_000));
    bench.clock.advanceTo(5_000);
    expect(reminders(bench)).toEqual([
      [300, 'r1'],
      [1_500, 'r2'],
    ]);
  });
});

describe('T8. A wait is counted from the host’s return; no deadline moves for that', () => {
  it('is reminded of a whole threshold later, and blocked when it was to be', () => {
    const bench = openCharts();
    const task = startTask(bench, { staleAfterMs: 300 });
    for (const event of [started, open('r1', 0, 90_000)]) task.send(event);
    // The timers that fell due meanwhile fire only when this is known.
    bench.clock.moveTo(80_000);
    task.send({ type: 'host.away', atMs: 80_000 });
    bench.clock.advanceTo(80_299);
    expect(reminders(bench)).toEqual([]);
    bench.clock.advanceTo(80_300);
    expect(reminders(bench)).toEqual([[80_300, 'r1']]);
    bench.clock.advanceTo(90_000);
    expect(task.getSnapshot().matches('blocked')).toBe(true);
  });
});

describe('T6. The task deadline holds in every open state', () => {
  it.each([
    ['created', []],
    ['running', [started]],
    ['waiting', [started, open('r1')]],
    ['waiting, reminded', [started, open('r1', -300)]],
  ] as const)('times out while %s', (_name, events) => {
    const bench = openCharts();
    const task = startTask(bench, { timeoutMs: 1_000, staleAfterMs: 300 });
    for (const event of events) task.send(event);

    bench.clock.advanceTo(999);
    expect(task.getSnapshot().status).toBe('active');
    bench.clock.advanceTo(1_000);

    expect(task.getSnapshot().context.outcome).toMatchObject({
      status: 'timed_out',
      cause: 'task_deadline',
      atMs: 1_000,
    });
  });

  it('never times out without a deadline', () => {
    const bench = openCharts();
    const task = startTask(bench, { timeoutMs: null });

    bench.clock.advanceTo(Number.MAX_SAFE_INTEGER / 2);

    expect(task.getSnapshot().value).toEqual({ open: 'created' });
  });

  it('keeps an instant that is farther away than a Node timer reaches', () => {
    const farAtMs = 90 * 24 * 60 * 60_000;
    const bench = openCharts();
    const task = startTask(bench, { timeoutMs: farAtMs });

    bench.clock.advanceTo(farAtMs - 1);
    expect(task.getSnapshot().status).toBe('active');
    bench.clock.advanceTo(farAtMs);

    expect(task.getSnapshot().value).toBe('timed_out');
  });
});

/** Waiting since 100: reminder at 1,100, reply deadline at 1,800, task deadline at 5,000. */
function startWaiting(bench: ChartBench) {
  const task = startTask(bench, { timeoutMs: 5_000, staleAfterMs: 1_000 });
  bench.clock.advanceTo(100);
  for (const event of [started, open('r1', 100, 1_800)]) task.send(event);
  return task;
}

/** What a task's timers did, as instant and name. */
const story = (bench: ChartBench) =>
  bench.facts.flatMap((fact) => {
    if (fact.type === 'task.stale') return ['stale'];
    return fact.type === 'task.settled' ? [`${fact.outcome.status}@${fact.outcome.atMs}`] : [];
  });

describe('T7. session.resumed re-arms every timer at its original instant', () => {
  it('arms nothing by itself: an actor that is only restored has no timer', () => {
    const before = openCharts();
    const snapshot = persist(startWaiting(before));
    const bench = openCharts(400);

    createActor(bench.charts.task, { parent: bench.owner, input: inputOf(), snapshot }).start();

    expect(bench.clock.nextDueAtMs()).toBeUndefined();
  });

  it('goes on in time', () => {
    const before = openCharts();
    const task = startWaiting(before);
    before.clock.advanceTo(200);

    const bench = openCharts(400);
    resumeTask(bench, persist(task));
    bench.clock.advanceTo(10_000);

    expect(bench.facts.map((fact) => [fact.type, fact.recordedAtMs])).toEqual([
      ['task.stale', 1_100],
      ['request.settled', 1_800],
      ['task.settled', 1_800],
    ]);
    expect(story(bench)).toEqual(['stale', 'blocked@1800']);
  });

  it('fires what is overdue in the order of the instants: blocked before timed_out', () => {
    const before = openCharts();
    const snapshot = persist(startWaiting(before));

    const bench = openCharts(9_999);
    const task = resumeTask(bench, snapshot);
    expect(bench.facts).toEqual([]);
    bench.clock.advanceTo(9_999);

    expect(story(bench)).toEqual(['stale', 'blocked@1800']);
    expect(task.getSnapshot().value).toBe('blocked');
  });

  it('repeats no reminder', () => {
    const before = openCharts();
    const task = startWaiting(before);
    before.clock.advanceTo(1_200);
    expect(story(before)).toEqual(['stale']);

    const bench = openCharts(1_300);
    resumeTask(bench, persist(task));
    bench.clock.advanceTo(10_000);

    expect(story(bench)).toEqual(['blocked@1800']);
  });

  it('is told twice and still fires once', () => {
    const before = openCharts();
    const snapshot = persist(startWaiting(before));

    const bench = openCharts(400);
    const task = resumeTask(bench, snapshot);
    task.send({ type: 'session.resumed' });
    bench.clock.advanceTo(10_000);

    expect(story(bench)).toEqual(['stale', 'blocked@1800']);
  });

  it('leaves a running and a created task where they were', () => {
    for (const events of [[], [started]] as const) {
      const before = openCharts();
      const task = startTask(before, { timeoutMs: 5_000 });
      for (const event of events) task.send(event);

      const bench = openCharts(100);
      const resumed = resumeTask(bench, persist(task));

      expect(resumed.getSnapshot().value).toEqual(task.getSnapshot().value);
      expect(bench.clock.nextDueAtMs()).toBe(5_000);
      expect(bench.facts).toEqual([]);
    }
  });

  it.each([
    ['reply and task deadline', { replyAtMs: 2_000, taskAtMs: 2_000, staleAfterMs: null }],
    ['reminder and reply deadline', { replyAtMs: 2_000, taskAtMs: null, staleAfterMs: 2_000 }],
    ['reminder and task deadline', { replyAtMs: 9_000, taskAtMs: 2_000, staleAfterMs: 2_000 }],
  ] as const)('decides equal instants of %s as without a restart', (_name, deadlines) => {
    const { replyAtMs, taskAtMs, staleAfterMs } = deadlines;
    const without = openCharts();
    const task = startTask(without, { timeoutMs: taskAtMs, staleAfterMs });
    for (const event of [started, open('r1', 0, replyAtMs)]) task.send(event);
    const snapshot = persist(task);
    without.clock.advanceTo(10_000);

    for (const restartAtMs of [100, 5_000]) {
      const bench = openCharts(restartAtMs);
      resumeTask(bench, snapshot);
      bench.clock.advanceTo(10_000);
      expect(story(bench)).toEqual(story(without));
    }
  });

  it('gives the same story wherever it is cut', () => {
    const whole = openCharts();
    startWaiting(whole);
    whole.clock.advanceTo(10_000);

    const cuts = Array.from({ length: 34 }, (_, index) => 100 + 50 * index);
    const stories = cuts.map((cutAtMs) => {
      const before = openCharts();
      const task = startWaiting(before);
      before.clock.advanceTo(cutAtMs);
      const bench = openCharts(cutAtMs + 700);
      resumeTask(bench, persist(task));
      bench.clock.advanceTo(10_000);
      return [cutAtMs, ...story(before), ...story(bench)];
    });

    expect(stories).toEqual(cuts.map((cutAtMs) => [cutAtMs, ...story(whole)]));
  });
});
