/** A Shepherd by hand: the surface that the Pi tools call, with answers that a test gives. */
import { TaskError } from '../../../src/errors.ts';
import type {
  AgentStatus,
  MessageStatus,
  Shepherd,
  TaskResult,
  TaskStatus,
} from '../../../src/runtime/shepherd.ts';

export const agentId = 'shepherd-agent-scout0000000';
export const taskId = 'shepherd-task-000000000001';

export const result: TaskResult = {
  taskId,
  agentId,
  status: 'completed',
  ok: true,
  returnCode: 0,
  text: 'It is in api.ts.',
  lateEvents: [],
  evidence: { turns: 1, toolCalls: 2, lastActivityAtMs: 3 },
  attempts: [],
  settledAtMs: 4,
};

export const waiting: TaskStatus = {
  id: taskId,
  agentId,
  state: 'waiting',
  description: 'Find the api.',
  states: [],
  waitingMs: 125_000,
  pendingRequest: 'shepherd-message-1',
  waitingOn: 'planner: main',
  stale: true,
  requests: [],
};

export const idle: AgentStatus = {
  id: agentId,
  agent: 'scout',
  label: 'api',
  state: 'idle',
  model: null,
  createdAtMs: 0,
};

export const sent: MessageStatus = {
  messageId: 'shepherd-message-000000000000000000000001',
  kind: 'reply',
  fromId: 'shepherd-agent-planner00000',
  toId: agentId,
  fromName: 'planner: main',
  toName: 'scout: api',
  taskId,
  atMs: 1,
  receipt: 'seen',
};

const unused = (): never => {
  throw new Error('No tool calls this.');
};

export interface HandShepherd {
  readonly shepherd: Shepherd;
  /** Every call: its name and arguments, in order. */
  readonly calls: readonly (readonly [string, ...unknown[]])[];
}

export function createHandShepherd(change: Partial<Shepherd> = {}): HandShepherd {
  const calls: [string, ...unknown[]][] = [];
  const answers: Shepherd = {
    sessionId: 's',
    sessionDir: '/s',
    spawn: ({ agent, label }) => Promise.resolve({ id: agentId, agent, label, model: 'faux/m' }),
    delegate: () => Promise.resolve({ taskId, agentId, state: 'running' }),
    message: () =>
      Promise.resolve({
        messageId: 'shepherd-message-1',
        accepted: true,
        delivery: 'queued',
        targetId: agentId,
        requestId: 'shepherd-message-1',
        targetTaskState: 'running',
      }),
    watch: () => ({ watcherId: 'w', taskIds: [taskId], pending: [taskId], completed: [] }),
    status: () => ({ ...idle, task: waiting }),
    task: () => ({ ...waiting, state: 'completed', result }),
    close: () => Promise.resolve({ id: agentId }),
    release: () => Promise.resolve(),
    dispose: () => Promise.resolve(),
    cancel: (id) => ({ id, kind: 'task', state: 'cancelled' }),
    messages: () => [],
    seen: () => {},
    agents: unused,
    tasks: unused,
    definitions: () => ({ agents: [], problems: [] }),
    configure: () => {},
    prompt: unused,
    watchPrompts: unused,
    prune: () => ({ pruned: 0, remaining: 0, agents: 0, tasks: 0 }),
    settled: unused,
    interrupt: unused,
    read: unused,
    on: unused,
    changes: unused,
    ...change,
  };
  const shepherd = new Proxy(answers, {
    get(target, name: string) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]): unknown => {
        calls.push([name, ...parameters]);
        return Reflect.apply(value, target, parameters);
      };
    },
  });
  return { shepherd, calls };
}

export const busy = new TaskError('active_task', 'scout: api has a task already.');
