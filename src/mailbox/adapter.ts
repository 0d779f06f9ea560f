/**
 * Envelope in, actor event out: the one place where mail becomes something a chart can take.
 *
 * AD1. Every event's type is written here; none can come from an envelope, so nothing with the prefix
 *      `xstate.` ever enters a chart.
 * AD2. Instants are the envelope's own `createdAt`: they decide against deadlines.
 */
import type {
  AgentEvent,
  RequestEvent,
  RequestInput,
  TaskEvent,
  TurnSettledEvent,
} from '../../machines/index.ts';
import type { EnvelopeOf } from './envelope.ts';

/**
 * What an agent's chart hears of its child's own observations.
 *
 * @param isOwed whether somebody owes the child an answer.
 * @returns undefined for what is none of the chart's business.
 */
export function toAgentEvent(
  envelope: EnvelopeOf<'hello'> | EnvelopeOf<'runtime'>,
  isOwed = false,
): AgentEvent | undefined {
  const atMs = envelope.createdAt;
  if (envelope.kind === 'hello') return { type: 'agent.hello', atMs };
  const { taskId = null } = envelope;
  switch (envelope.event) {
    case 'turn_started':
      return { type: 'turn.started', atMs };
    case 'turn_settled':
    case 'provider_gave_up':
      return { type: 'turn.settled', atMs, outcome: outcomeOf(envelope), taskId, isOwed };
    case 'task_released':
      return taskId === null ? undefined : { type: 'task.released', taskId };
    case 'blocked':
      return { type: 'human.awaited', atMs };
    case 'unblocked':
      return { type: 'human.answered', atMs };
    case 'throttled':
      return { type: 'provider.throttled', untilMs: envelope.untilMs ?? atMs };
    case 'thrashing':
      return { type: 'child.active', atMs };
  }
}

function outcomeOf({ event, aborted }: EnvelopeOf<'runtime'>): TurnSettledEvent['outcome'] {
  if (event === 'provider_gave_up') return 'failed';
  return aborted === true ? 'aborted' : 'completed';
}

/** What a task's chart hears of its owner's word. */
export function toTaskEvent(envelope: EnvelopeOf<'task_done'>): TaskEvent {
  return {
    type: 'task.done',
    status: envelope.status,
    override: envelope.override !== undefined,
    atMs: envelope.createdAt,
  };
}

/** What a task's chart hears when the provider of its agent's model has given up. */
export function toFailureEvent(envelope: EnvelopeOf<'runtime'>): TaskEvent {
  return { type: 'provider.gave_up', atMs: envelope.createdAt };
}

/** What a task's chart hears when it is known to have reached its agent. */
export function toStartedEvent(atMs: number): TaskEvent {
  return { type: 'task.started', atMs };
}

/** What an open request hears when somebody replies to it, child or Shepherd. */
export function toReplyEvent(reply: {
  readonly messageId: string;
  readonly senderId: string;
  readonly replyTo: string;
  readonly createdAtMs: number;
}): RequestEvent {
  return {
    type: 'reply.received',
    replyTo: reply.replyTo,
    fromId: reply.senderId,
    messageId: reply.messageId,
    atMs: reply.createdAtMs,
  };
}

/** What the owner of a new request hears: the task that requires it, its asker, or the session. */
export function toQuestionEvent(request: RequestInput): {
  readonly type: 'request.open';
  readonly request: RequestInput;
} {
  return { type: 'request.open', request };
}
