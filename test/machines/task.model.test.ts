import { createActor } from 'xstate';
import { describe, expect, it } from 'vitest';
import type { TaskEvent } from '../../machines/index.ts';
import { openCharts } from '../support/clock.ts';
import { shortestTaskPaths } from '../support/model.ts';

const staleAtMs = 300;
const taskAtMs = 5_000;
const input = { taskId: 't1', agentId: 'a1', timeoutMs: taskAtMs, staleAfterMs: staleAtMs };

const staleWait = { type: 'xstate.after.staleWait.task.open.waiting.fresh' } as never as TaskEvent;
const taskDeadline = { type: 'xstate.after.taskDeadline.task.open' } as never as TaskEvent;

const always: readonly TaskEvent[] = [
  { type: 'task.dispatched', atMs: 0 },
  { type: 'task.started', atMs: 0 },
  { type: 'task.done', status: 'completed', override: false, atMs: 0 },
  { type: 'task.done', status: 'completed', override: true, atMs: 0 },
  { type: 'task.done', status: 'blocked', override: false, atMs: 0 },
  { type: 'task.done', status: 'failed', override: false, atMs: 0 },
  { type: 'task.cancel', atMs: 0 },
  { type: 'publish.failed', atMs: 0 },
  { type: 'delivery.failed', atMs: 0 },
  { type: 'provider.gave_up', atMs: 0 },
  { type: 'agent.closed', atMs: 0 },
  { type: 'agent.lost', atMs: 0 },
  { type: 'actor.crashed', atMs: 0 },
  { type: 'session.resumed' },
  staleWait,
];

const requestIds = ['q1', 'q2'];

/** At most two questions, the first one first; each open one may end in any way. */
const paths = shortestTaskPaths(input, ({ context }) => {
  const open = context.requests.map((request) => request.requestId);
  const next = requestIds.find((id) => !open.includes(id));
  return [
    ...always,
    ...(context.deadlineAtMs === null ? [] : [taskDeadline]),
    ...(next === undefined ? [] : [ask(next)]),
    ...open.flatMap((requestId) =>
      (['answered', 'expired', 'recipient_gone', 'cancelled'] as const).map(
        (outcome): TaskEvent => ({ type: 'request.settled', requestId, outcome, atMs: 0 }),
      ),
    ),
  ];
});

function ask(requestId: string): TaskEvent {
  const asked = { requestId, askerId: 'a1', recipientId: 'a2', taskId: 't1', openedAtMs: 0 };
  return { type: 'request.open', request: { ...asked, deadlineAtMs: Infinity } };
}

const keyOf = (value: unknown): string => JSON.stringify(value);

describe('the shortest ways through the task chart', () => {
  it('reach every state', () => {
    expect([...new Set(paths.map((path) => keyOf(path.value)))].toSorted()).toEqual(
      [
        { open: 'created' },
        { open: 'running' },
        { open: { waiting: 'fresh' } },
        { open: { waiting: 'stale' } },
        'blocked',
        'cancelled',
        'completed',
        'failed',
        'timed_out',
      ]
        .map(keyOf)
        .toSorted(),
    );
  });

  it('are as many as there are states and open requests to tell apart', () => {
    expect(paths).toHaveLength(38);
  });

  it('lead a real actor, on its own timers, to the same state', () => {
    const reached = paths.map(({ events }) => {
      const bench = openCharts();
      const task = createActor(bench.charts.task, { parent: bench.owner, id: 't1', input }).start();

      for (const event of events) {
        if (event === staleWait) bench.clock.advanceTo(staleAtMs);
        else if (event === taskDeadline) bench.clock.advanceTo(taskAtMs);
        else task.send(event);
      }

      return { events, value: task.getSnapshot().value };
    });

    expect(reached).toEqual(paths.map(({ events, value }) => ({ events, value })));
  });
});
