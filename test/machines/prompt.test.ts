import { createActor } from 'xstate';
import { describe, expect, it } from 'vitest';
import { promptMachine, type AgentEvent, type PromptEvent } from '../../machines/index.ts';
import {
  agentId,
  assign,
  close,
  exited,
  hello,
  startAgent,
  startAtWork,
  turnSettled,
  turnStarted,
  type Agent,
} from '../support/agent-chart.ts';
import { openCharts, persist } from '../support/clock.ts';

const promptId = 'p1';
const open: AgentEvent = { type: 'prompt.open', prompt: { promptId, agentId, sentAtMs: 2 } };
const failed: AgentEvent = { ...turnSettled, outcome: 'failed' } as AgentEvent;
const aborted: AgentEvent = { ...turnSettled, outcome: 'aborted' } as AgentEvent;

function prompted() {
  const bench = openCharts();
  const agent = startAgent(bench);
  agent.send(hello);
  agent.send(open);
  const ended = () =>
    bench.facts.flatMap((fact) => (fact.type === 'prompt.settled' ? [fact.prompt.status] : []));
  return { bench, agent, ended };
}

const slotOf = (agent: Agent) => agent.getSnapshot().value.slot;

describe('a prompt', () => {
  it.each([
    ['completed', [turnStarted, turnSettled]],
    ['failed', [turnStarted, failed]],
    ['cancelled', [turnStarted, aborted]],
    ['failed', [exited]],
    ['cancelled', [close]],
  ] as const)('ends %s', (status, events) => {
    const { agent, ended } = prompted();
    expect(slotOf(agent)).toBe('prompted');
    for (const event of events) agent.send(event);
    expect(ended()).toEqual([status]);
  });

  it('is not ended by a turn that it did not start', () => {
    const { agent, ended } = prompted();
    agent.send(turnSettled);
    expect(ended()).toEqual([]);
    agent.send({ ...turnStarted, atMs: 1 } as AgentEvent);
    agent.send(turnSettled);
    expect(ended()).toEqual([]);
    expect(slotOf(agent)).toBe('prompted');
  });

  it('holds the slot: a task waits until it is over, where it may wait', () => {
    const { agent, bench } = prompted();
    agent.send(assign('t1'));
    expect(agent.getSnapshot().context.queue).toEqual([]);
    agent.send({ ...assign('t2'), queue: true } as AgentEvent);
    agent.send(turnStarted);
    agent.send(turnSettled);
    expect(slotOf(agent)).toBe('free');
    expect(bench.facts.map(({ type }) => type)).toContain('agent.slot_free');
  });

  it('is taken by no agent that has a task, or is in a turn', () => {
    const bench = openCharts();
    const busy = startAtWork(bench);
    busy.send(open);
    expect(busy.getSnapshot().context.promptId).toBeNull();

    const turning = startAgent(openCharts());
    turning.send(hello);
    turning.send(turnStarted);
    turning.send(open);
    expect(turning.getSnapshot().context.promptId).toBeNull();
  });

  it('goes on over a restart', () => {
    const { agent } = prompted();
    agent.send(turnStarted);
    const later = openCharts(10);
    const again = startAgent(later, persist(agent));
    again.send({ type: 'session.resumed' });
    again.send(turnSettled);
    expect(later.facts).toContainEqual(
      expect.objectContaining({
        type: 'prompt.settled',
        prompt: expect.objectContaining({ promptId, status: 'completed' }) as unknown,
      }),
    );
  });

  it('takes no further event once it has ended', () => {
    const bench = openCharts();
    const input = { promptId, agentId, sentAtMs: 0 };
    const prompt = createActor(promptMachine, { parent: bench.owner, input, id: promptId }).start();
    const events: readonly PromptEvent[] = [
      { type: 'publish.failed', atMs: 1 },
      { type: 'turn.started', atMs: 2 },
      { type: 'agent.closed', atMs: 3 },
    ];
    for (const event of events) prompt.send(event);
    expect(prompt.getSnapshot()).toMatchObject({
      value: 'failed',
      context: { status: 'failed', settledAtMs: 1 },
    });
    expect(bench.told()).toEqual([{ type: 'prompt.settled', promptId, atMs: 1 }]);
  });
});
