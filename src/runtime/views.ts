/** What records look like from outside: the shapes of `shepherd.ts`, without secrets or places. */
import { nameOf, type Reader } from './router.ts';
import type {
  AgentError,
  AgentRecord,
  MessageRecord,
  RequestRecord,
  TaskRecord,
} from './records.ts';
import { notePathInSession } from './session-dir.ts';
import type { AgentStatus, MessageStatus, RequestView, TaskStatus } from './shepherd.ts';

export function viewRequest(reader: Reader, request: RequestRecord): RequestView {
  return {
    requestId: request.id,
    askerId: request.askerId,
    recipientId: request.recipientId,
    recipientName: nameOf(reader, request.recipientId),
    question: request.question,
    openedAtMs: request.openedAtMs,
    deadlineAtMs: request.deadlineAtMs,
    state: request.state,
  };
}

/** @param nowMs epoch ms; how long a wait has lasted is counted to here. */
export function viewTask(reader: Reader, task: TaskRecord, nowMs: number): TaskStatus {
  const requests = task.requestIds.flatMap((id) => {
    const request = reader.get('request', id);
    return request === undefined ? [] : viewRequest(reader, request);
  });
  const oldest = requests.find((request) => request.state === 'open');
  const position = (reader.get('agent', task.agentId)?.queue.indexOf(task.id) ?? -1) + 1;
  const note = reader.get('note', task.id)?.file;
  const since = task.states.at(-1)?.atMs ?? nowMs;
  return {
    id: task.id,
    agentId: task.agentId,
    state: task.state,
    description: task.description,
    states: task.states,
    requests,
    ...(position > 0 ? { queuePosition: position } : {}),
    ...(task.state === 'waiting'
      ? { waitingMs: Math.max(0, nowMs - since), stale: task.stale }
      : {}),
    ...(task.state === 'waiting' && oldest !== undefined
      ? { pendingRequest: oldest.requestId, waitingOn: oldest.recipientName }
      : {}),
    ...(typeof note === 'string' ? { note: notePathInSession(note) } : {}),
    ...(task.result === undefined ? {} : { result: task.result }),
  };
}

export function viewMessage(reader: Reader, message: MessageRecord): MessageStatus {
  const { id, kind, senderId, targetId, taskId, atMs, receipt, error } = message;
  return {
    messageId: id,
    kind,
    fromId: senderId,
    toId: targetId,
    fromName: nameOf(reader, senderId),
    toName: nameOf(reader, targetId),
    ...(taskId === undefined ? {} : { taskId }),
    atMs,
    receipt,
    ...(error === undefined ? {} : { error }),
  };
}

export function describeAgentError({ code, message }: AgentError): string {
  return `${code}: ${message}`;
}

export function viewAgent(reader: Reader, agent: AgentRecord, nowMs: number): AgentStatus {
  const task = agent.taskId === undefined ? undefined : reader.get('task', agent.taskId);
  return {
    id: agent.id,
    agent: agent.definition.name,
    label: agent.label,
    state: agent.state,
    model: agent.model,
    createdAtMs: agent.createdAtMs,
    ...(task === undefined || task.result !== undefined
      ? {}
      : { task: viewTask(reader, task, nowMs) }),
    ...(agent.queue.length === 0 ? {} : { queue: agent.queue }),
    ...(agent.stalledSinceMs === undefined ? {} : { stalledMs: nowMs - agent.stalledSinceMs }),
    ...(agent.place === undefined ? {} : { host: agent.place.host }),
    ...(agent.launch === 1 ? {} : { launch: agent.launch }),
    ...(agent.error === undefined ? {} : { error: describeAgentError(agent.error) }),
  };
}
