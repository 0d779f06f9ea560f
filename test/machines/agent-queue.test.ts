import { describe, expect, it } from 'vitest';
import type { AgentEvent, TaskEvent } from '../../machines/index.ts';
import {
  agentId,
  assign,
  close,
  exited,
  hello,
  outcomes,
  startAgent,
  startAtWork,
  taskId,
  taskOf,
  turnSettled,
  type Agent,
} from '../support/agent-chart.ts';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';

function queued(id: string, timeoutMs: number | null = null): AgentEvent {
  return { ...assign(id, timeoutMs), queue: true } as AgentEvent;
}

const advance: AgentEvent = { type: 'queue.advance', atMs: 700 };
const cancel: TaskEvent = { type: 'task.cancel', atMs: 50 };

/** At work on t1, with t2 and t3 held. */
function startBusy(bench: ChartBench): Agent {
  const agent = startAtWork(bench);
  agent.send(queued('t2', 1_000));
  agent.send(queued('t3'));
  return agent;
}

const settle = (agent: Agent, id: string): void =>
  taskOf(agent, id).send({ type: 'task.done', status: 'completed', override: false, atMs: 60 });
const dispatched = (bench: ChartBench) =>
  bench.facts.flatMap((fact) => (fact.type === 'task.dispatched' ? [fact.taskId] : []));
const offers = (bench: ChartBench) =>
  bench.facts.filter((fact) => fact.type === 'agent.slot_free').length;

describe('a task for a busy agent', () => {
  it('is not taken unless it may wait', () => {
    const bench = openCharts();
    const agent = startAtWork(bench);

    agent.send(assign('t2'));

    expect(taskOf(agent, 't2')).toBeUndefined();
    expect(agent.getSnapshot().context.queue).toEqual([]);
  });

  it('is created at once, held in order, and has no deadline yet', () => {
    const bench = openCharts();

    const agent = startBusy(bench);

    expect(agent.getSnapshot().context).toMatchObject({ taskId, queue: ['t2', 't3'] });
    expect(taskOf(agent, 't2').getSnapshot().value).toEqual({ open: 'created' });
    bench.clock.advanceTo(60_000);
    expect(taskOf(agent, 't2').getSnapshot().value).toEqual({ open: 'created' });
    expect(dispatched(bench)).toEqual([taskId]);
  });

  it('takes nothing for its start while it is held', () => {
    const bench = openCharts();
    const agent = startBusy(bench);

    taskOf(agent, 't2').send({ type: 'task.started', atMs: 5 });

    expect(taskOf(agent, 't2').getSnapshot().value).toEqual({ open: 'created' });
  });

  it('begins when the slot is offered; its deadline counts from there', () => {
    const bench = openCharts();
    const agent = startBusy(bench);
    settle(agent, taskId);
    expect(offers(bench)).toBe(0);
    agent.send(turnSettled);
    expect(offers(bench)).toBe(1);

    bench.clock.advanceTo(700);
    agent.send(advance);

    expect(agent.getSnapshot().context).toMatchObject({ taskId: 't2', queue: ['t3'] });
    expect(dispatched(bench)).toEqual([taskId, 't2']);
    bench.clock.advanceTo(1_699);
    expect(outcomes(bench)).toEqual(['completed owner']);
    bench.clock.advanceTo(1_700);
    expect(outcomes(bench)).toEqual(['completed owner', 'timed_out task_deadline']);
  });

  it('waits until a child has let go of a task that was withdrawn', () => {
    const bench = openCharts();
    const agent = startBusy(bench);

    taskOf(agent).send(cancel);
    expect(agent.getSnapshot().matches({ slot: 'draining' })).toBe(true);
    agent.send(advance);
    expect(agent.getSnapshot().context.queue).toEqual(['t2', 't3']);
    agent.send(queued('t4'));
    agent.send(turnSettled);
    agent.send(advance);

    expect(agent.getSnapshot().context).toMatchObject({ taskId: 't2', queue: ['t3', 't4'] });
  });

  it('that is withdrawn leaves the line, and its child hears nothing', () => {
    const bench = openCharts();
    const agent = startBusy(bench);

    taskOf(agent, 't2').send(cancel);

    expect(agent.getSnapshot().context).toMatchObject({ taskId, queue: ['t3'] });
    expect(agent.getSnapshot().matches({ slot: 'occupied' })).toBe(true);
    expect(outcomes(bench)).toEqual(['cancelled cancelled']);
    expect(bench.facts.map(({ type }) => type)).not.toContain('agent.release_task');
    expect(bench.facts).toContainEqual(
      expect.objectContaining({ type: 'agent.queue', agentId, queue: ['t3'] }),
    );
  });

  it.each([
    ['closed', close, 'cancelled agent_closed'],
    ['lost', exited, 'failed agent_lost'],
  ])('ends with an agent that is %s, and none of them begins', (_how, event, outcome) => {
    const bench = openCharts();
    const agent = startBusy(bench);

    agent.send(event);
    agent.send(advance);

    expect(outcomes(bench)).toEqual([outcome, outcome, outcome]);
    expect(agent.getSnapshot().context).toMatchObject({ taskId: null, queue: [] });
    expect(dispatched(bench)).toEqual([taskId]);
  });

  it('ends with a child that does not let go', () => {
    const bench = openCharts();
    const agent = startBusy(bench);
    taskOf(agent).send(cancel);
    agent.send({ type: 'release.told', atMs: 100 });

    bench.clock.advanceTo(10_100);

    expect(outcomes(bench)).toEqual([
      'cancelled cancelled',
      'cancelled agent_closed',
      'cancelled agent_closed',
    ]);
    expect(agent.getSnapshot().matches({ process: 'closing' })).toBe(true);
  });

  it('is held on when the actor of the one before it crashed', () => {
    const bench = openCharts();
    const agent = startBusy(bench);

    agent.send({ type: 'actor.crashed', atMs: 8 });

    expect(outcomes(bench)).toEqual(['failed actor_crashed']);
    expect(agent.getSnapshot().context.queue).toEqual(['t2', 't3']);
  });

  it('is held over a restart, in its place', () => {
    const before = openCharts();
    const snapshot = persist(startBusy(before));

    const bench = openCharts(400);
    const agent = startAgent(bench, snapshot);
    agent.send({ type: 'session.resumed' });
    settle(agent, taskId);
    agent.send(advance);

    expect(agent.getSnapshot().context).toMatchObject({ taskId: 't2', queue: ['t3'] });
    expect(dispatched(bench)).toEqual(['t2']);
  });
});

it('an agent with nothing in line is offered nothing', () => {
  const bench = openCharts();
  const agent = startAgent(bench);
  agent.send(hello);
  agent.send(queued(taskId));
  taskOf(agent).send({ type: 'task.started', atMs: 1 });

  settle(agent, taskId);
  agent.send(advance);

  expect(offers(bench)).toBe(0);
  expect(agent.getSnapshot().matches({ slot: 'free' })).toBe(true);
});
