/** An agent on the real chart, with the events that its tests send. */
import { createActor } from 'xstate';
import type { AgentEvent, AgentInput, TaskActor } from '../../machines/index.ts';
import type { ChartBench } from './clock.ts';

export const agentId = 'a1';
export const taskId = 't1';
const input: AgentInput = {
  agentId,
  launch: 1,
  spawnDeadlineAtMs: 20_000,
  drainAfterMs: 10_000,
  doneNudges: 1,
  stallAfterMs: null,
  stallRecovery: 'notify',
  maxFreshDispatches: 1,
  closeIdleAfterMs: null,
};

export function startAgent(bench: ChartBench, snapshot?: never, changes: Partial<AgentInput> = {}) {
  const agent = createActor(bench.charts.agent, {
    parent: bench.owner,
    id: agentId,
    input: { ...input, ...changes },
    ...(snapshot === undefined ? {} : { snapshot }),
  });
  return agent.start();
}

export type Agent = ReturnType<typeof startAgent>;

export const hello: AgentEvent = { type: 'agent.hello', atMs: 1 };
export const turnStarted: AgentEvent = { type: 'turn.started', atMs: 2 };
export const turnSettled: AgentEvent = {
  type: 'turn.settled',
  atMs: 3,
  outcome: 'completed',
  taskId: null,
  isOwed: false,
};
export const exited: AgentEvent = { type: 'process.exited', atMs: 4 };
export const close: AgentEvent = { type: 'agent.close', atMs: 5 };

export function assign(id = taskId, timeoutMs: number | null = null): AgentEvent {
  return {
    type: 'task.assign',
    queue: false,
    atMs: 0,
    task: { taskId: id, agentId, timeoutMs, staleAfterMs: null },
  };
}

export function ask(requestId: string, owner: string | null = null): AgentEvent {
  const request = { requestId, askerId: agentId, recipientId: 'a2', taskId: owner, openedAtMs: 0 };
  return { type: 'request.open', request: { ...request, deadlineAtMs: 600_000 } };
}

export function taskOf(agent: Agent, id = taskId): TaskActor {
  return agent.getSnapshot().children[id] as TaskActor;
}

/** A ready agent in a turn on its task. */
export function startAtWork(
  bench: ChartBench,
  timeoutMs: number | null = null,
  changes: Partial<AgentInput> = {},
): Agent {
  const agent = startAgent(bench, undefined, changes);
  agent.send(hello);
  agent.send(assign(taskId, timeoutMs));
  taskOf(agent).send({ type: 'task.started', atMs: 1 });
  agent.send(turnStarted);
  return agent;
}

export const states = (bench: ChartBench) =>
  bench.facts.flatMap((fact) => (fact.type === 'agent.state' ? [fact.state] : []));
export const kinds = (bench: ChartBench) => bench.facts.map((fact) => fact.type);
export const outcomes = (bench: ChartBench) =>
  bench.facts.flatMap((fact) =>
    fact.type === 'task.settled' ? [`${fact.outcome.status} ${fact.outcome.cause}`] : [],
  );
