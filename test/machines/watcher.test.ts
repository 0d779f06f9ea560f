import { createActor } from 'xstate';
import { describe, expect, it } from 'vitest';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';

const input = { watcherId: 'w1', taskIds: ['t1', 't2', 't3'], coalesceMs: 25 };

function startWatcher(bench: ChartBench, snapshot?: never) {
  const watcher = createActor(bench.charts.watcher, {
    parent: bench.owner,
    id: input.watcherId,
    input,
    ...(snapshot === undefined ? {} : { snapshot }),
  });
  return watcher.start();
}

const settle = (taskId: string, atMs: number) => ({ type: 'task.settled', taskId, atMs }) as const;

/** The notices that a watcher caused: when, and about which tasks. */
const notices = (bench: ChartBench) =>
  bench.facts.flatMap((fact) =>
    fact.type === 'watcher.outcomes' ? [[fact.recordedAtMs, ...fact.taskIds]] : [],
  );

describe('W1. Only a settled task is reported', () => {
  it.each(['task.started', 'request.open', 'turn.settled'])('does not know %s', (type) => {
    const bench = openCharts();
    const watcher = startWatcher(bench);

    watcher.send({ type, taskId: 't1', atMs: 0 } as never);
    bench.clock.advanceTo(1_000);

    expect(notices(bench)).toEqual([]);
    expect(watcher.getSnapshot().value).toBe('watching');
  });

  it('passes over a task that it does not watch', () => {
    const bench = openCharts();
    const watcher = startWatcher(bench);

    watcher.send(settle('t9', 0));
    bench.clock.advanceTo(1_000);

    expect(notices(bench)).toEqual([]);
  });
});

describe('W2. Each task is reported exactly once, in the order the caller gave', () => {
  it('reports in the caller’s order, not in that of the outcomes', () => {
    const bench = openCharts();
    const watcher = startWatcher(bench);

    for (const id of ['t3', 't1', 't2']) watcher.send(settle(id, 0));
    bench.clock.advanceTo(25);

    expect(notices(bench)).toEqual([[25, 't1', 't2', 't3']]);
  });

  it('reports a task once, however often it is said to have settled', () => {
    const bench = openCharts();
    const watcher = startWatcher(bench);

    watcher.send(settle('t1', 0));
    watcher.send(settle('t1', 1));
    bench.clock.advanceTo(100);
    watcher.send(settle('t1', 100));
    bench.clock.advanceTo(1_000);

    expect(notices(bench)).toEqual([[25, 't1']]);
    expect(watcher.getSnapshot().value).toBe('watching');
  });

  it('ends with its last task and says so', () => {
    const bench = openCharts();
    const watcher = startWatcher(bench);

    for (const id of input.taskIds) watcher.send(settle(id, 0));
    expect(watcher.getSnapshot().status).toBe('active');
    bench.clock.advanceTo(25);

    expect(watcher.getSnapshot().status).toBe('done');
    expect(bench.told()).toEqual([{ type: 'watcher.done', watcherId: 'w1' }]);
  });

  it.each([
    ['before the notice', 10, [[900, 't1']]],
    ['after the notice', 30, []],
  ])('reports once across a restart %s', (_name, cutAtMs, expected) => {
    const before = openCharts();
    const watcher = startWatcher(before);
    watcher.send(settle('t1', 0));
    before.clock.advanceTo(cutAtMs);

    const bench = openCharts(900);
    const resumed = startWatcher(bench, persist(watcher));
    resumed.send({ type: 'session.resumed' });
    bench.clock.advanceTo(900);
    expect(notices(bench)).toEqual(expected);
    for (const id of ['t2', 't3']) resumed.send(settle(id, 900));
    bench.clock.advanceTo(2_000);

    expect(notices(bench).slice(expected.length)).toEqual([[925, 't2', 't3']]);
    expect(resumed.getSnapshot().status).toBe('done');
  });
});

describe('W3. Outcomes within one coalescing window are one notice', () => {
  it('counts the window from the first outcome', () => {
    const bench = openCharts();
    const watcher = startWatcher(bench);

    watcher.send(settle('t1', 0));
    bench.clock.advanceTo(24);
    watcher.send(settle('t2', 24));
    bench.clock.advanceTo(25);
    expect(notices(bench)).toEqual([[25, 't1', 't2']]);
    watcher.send(settle('t3', 25));
    bench.clock.advanceTo(50);

    expect(notices(bench)).toEqual([
      [25, 't1', 't2'],
      [50, 't3'],
    ]);
  });

  it('keeps the window of the first outcome across a restart', () => {
    const before = openCharts();
    const watcher = startWatcher(before);
    watcher.send(settle('t1', 0));
    before.clock.advanceTo(24);
    watcher.send(settle('t2', 24));

    const bench = openCharts(24);
    startWatcher(bench, persist(watcher)).send({ type: 'session.resumed' });
    bench.clock.advanceTo(100);

    expect(notices(bench)).toEqual([[25, 't1', 't2']]);
  });
});
