import { describe, expect, it } from 'vitest';
import type { AgentEvent, TurnSettledEvent } from '../../machines/index.ts';
import {
  agentId,
  ask,
  startAgent,
  startAtWork,
  taskId,
  taskOf,
  turnStarted,
  type Agent,
} from '../support/agent-chart.ts';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';

/** The child's turn has ended; by itself and with its task in mind, unless said otherwise. */
function settled(changes: Partial<TurnSettledEvent> = {}): AgentEvent {
  return {
    type: 'turn.settled',
    atMs: 30,
    outcome: 'completed',
    taskId,
    isOwed: false,
    ...changes,
  };
}

function endTurn(agent: Agent, changes: Partial<TurnSettledEvent> = {}): void {
  agent.send(turnStarted);
  agent.send(settled(changes));
}

const said = (bench: ChartBench) =>
  bench.facts.flatMap(({ type }) =>
    type === 'agent.remind' || type === 'agent.forgotten' ? [type] : [],
  );
const question = { askerId: agentId, recipientId: 'a2', openedAtMs: 0, deadlineAtMs: 600_000 };

describe('A6. A turn that ends with its task open', () => {
  it('is reminded once; then the Shepherd is told, once', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send(settled());
    expect(said(bench)).toEqual(['agent.remind']);
    endTurn(agent);
    expect(said(bench)).toEqual(['agent.remind', 'agent.forgotten']);
    endTurn(agent);
    endTurn(agent);

    expect(said(bench)).toEqual(['agent.remind', 'agent.forgotten']);
    expect(taskOf(agent).getSnapshot().value).toEqual({ open: 'running' });
  });

  it.each([
    [0, []],
    [2, ['agent.remind', 'agent.remind', 'agent.forgotten']],
  ])('is reminded as often as it is set to: %i', (doneNudges, expected) => {
    const bench = openCharts();
    const agent = startAtWork(bench, null, { doneNudges });

    for (let turn = 0; turn < 5; turn += 1) endTurn(agent);

    expect(said(bench)).toEqual(expected);
  });

  it.each<[string, Partial<TurnSettledEvent>]>([
    ['that was aborted', { outcome: 'aborted' }],
    ['that failed', { outcome: 'failed' }],
    ['in which the child was owed an answer', { isOwed: true }],
    ['in which the child knew of no task', { taskId: null }],
    ['in which the child knew of another task', { taskId: 't0' }],
  ])('is not reminded of a turn %s', (_what, changes) => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    endTurn(agent, changes);

    expect(said(bench)).toEqual([]);
  });

  it('is not reminded while something that wakes it is on its way', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    agent.send({ type: 'child.called', messageId: 'm1', atMs: 20 });
    agent.send({ type: 'child.called', messageId: 'm2', atMs: 25 });

    agent.send(settled());
    agent.send({ type: 'call.settled', messageId: 'm1' });
    endTurn(agent);
    expect(said(bench)).toEqual([]);
    agent.send({ type: 'call.settled', messageId: 'm2' });
    endTurn(agent);

    expect(said(bench)).toEqual(['agent.remind']);
  });

  it('is reminded when a turn that began after it was called ends, though it confirmed nothing', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    agent.send({ type: 'child.called', messageId: 'm1', atMs: 20 });
    agent.send(settled());

    agent.send({ type: 'turn.started', atMs: 20 });
    agent.send(settled());
    expect(said(bench)).toEqual([]);
    agent.send({ type: 'turn.started', atMs: 21 });
    agent.send(settled());

    expect(said(bench)).toEqual(['agent.remind']);
  });

  it('is not reminded while one of two answers is on its way', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    taskOf(agent).send({ type: 'request.open', request: { ...question, requestId: 'q1', taskId } });
    agent.send({ type: 'child.called', messageId: 'm1', atMs: 20 });
    taskOf(agent).send({ type: 'request.settled', requestId: 'q1', outcome: 'answered', atMs: 20 });

    agent.send(settled());
    expect(said(bench)).toEqual([]);
    agent.send({ type: 'call.settled', messageId: 'm1' });
    endTurn(agent);

    expect(said(bench)).toEqual(['agent.remind']);
  });

  it('is not reminded while its task waits, and anew once it was answered', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    agent.send(settled());
    taskOf(agent).send({
      type: 'request.open',
      request: { ...question, requestId: 'q1', taskId },
    });

    endTurn(agent);
    expect(said(bench)).toEqual(['agent.remind']);
    taskOf(agent).send({ type: 'request.settled', requestId: 'q1', outcome: 'answered', atMs: 40 });
    endTurn(agent);

    expect(said(bench)).toEqual(['agent.remind', 'agent.remind']);
  });

  it('is not reminded while a question of its own is open that no task requires', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    agent.send(ask('q0'));

    endTurn(agent);
    expect(said(bench)).toEqual([]);
    agent.send({ type: 'request.settled', requestId: 'q0', outcome: 'answered', atMs: 40 });
    endTurn(agent);

    expect(said(bench)).toEqual(['agent.remind']);
  });

  it('is reminded of nothing once its task has settled', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);
    taskOf(agent).send({ type: 'task.done', status: 'completed', override: false, atMs: 20 });

    agent.send(settled());

    expect(said(bench)).toEqual([]);
  });

  it('stays reminded over a restart', () => {
    const before = openCharts();
    const agent = startAtWork(before);
    agent.send(settled());

    const bench = openCharts(400);
    const resumed = startAgent(bench, persist(agent));
    resumed.send({ type: 'session.resumed' });
    endTurn(resumed);

    expect(said(bench)).toEqual(['agent.forgotten']);
  });
});
