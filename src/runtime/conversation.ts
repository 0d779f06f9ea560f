/**
 * Messages, questions and answers between any two parties of a session.
 *
 * The same rules for the Shepherd's own messages and for those that children publish. Everything is
 * checked before anything is sent, so that a refusal has changed nothing.
 *
 * CV1. A reply counts only from the one who was asked, to the one who asked, while it is open.
 * CV2. With `replyTo` and `expectsReply` the answer comes first, then the counter-question.
 * CV3. A question that carries a task's id is required by that task, whoever asks.
 * CV4. A chain of envelopes counts its hops; an answer to an open request, and no question in turn,
 *      ends the chain that it belongs to.
 */
import { ConfigError, HostError, MailboxError, TaskError } from '../errors.ts';
import { SHEPHERD_ID } from '../ids.ts';
import { toQuestionEvent, toReplyEvent, toStartedEvent } from '../mailbox/adapter.ts';
import type { Delivery, EnvelopeDraft } from '../mailbox/envelope.ts';
import { callChild } from './child-notices.ts';
import { isLongerThan } from '../text.ts';
import type { Frame } from './herd.ts';
import {
  chainOf,
  refuseClosedSession,
  refuseFullInbox,
  refuseTooFar,
  refuseTooLong,
  refuseTooOften,
  type Chain,
} from './limits.ts';
import { sendIncoming } from './notices.ts';
import { advanceReceipt } from './receipts.ts';
import type { RequestRecord, TaskRecord } from './records.ts';
import { nameOf, refuseWaitCycle, resolveTarget } from './router.ts';

export interface Utterance {
  readonly messageId: string;
  readonly senderId: string;
  /** As the sender wrote it; resolved here. */
  readonly target: string;
  readonly content: string;
  readonly delivery: Delivery;
  readonly taskId: string | undefined;
  readonly threadId: string | undefined;
  readonly replyTo: string | undefined;
  readonly expectsReply: boolean;
  readonly createdAtMs: number;
  /** The envelope that started the sender's turn, as it says. */
  readonly causeId: string | undefined;
}

export interface Routed {
  readonly targetId: string;
  /** The request that the utterance opened. */
  readonly request: OpenedRequest | undefined;
}

export interface OpenedRequest {
  /** That of the message. */
  readonly requestId: string;
  /** Epoch ms. */
  readonly deadlineAtMs: number;
  /** That is the task's deadline, which comes first. */
  readonly isClipped?: true;
}

/**
 * Routes one utterance: answers, opens, and hands it to the recipient.
 *
 * @throws MailboxError `invalid_target`, `ambiguous_target`, `message_too_large`, `queue_full`,
 * `rate_limited`, `hop_limit`; HostError `agent_closed`; TaskError `unknown_task`,
 * `task_agent_mismatch`, `unknown_request`,
 * `not_the_recipient`, `request_settled`, `reply_task_mismatch`, `wait_cycle`.
 */
export function routeUtterance(frame: Frame, said: Utterance): Routed {
  const { herd, draft } = frame;
  const targetId = resolveTarget(herd, draft, said.target);
  refuseClosing(frame, targetId);
  if (said.expectsReply) refuseClosing(frame, said.senderId);
  if (said.content.trim() === '') {
    throw new ConfigError('invalid_argument', 'The message is blank; say something.');
  }
  if (isLongerThan(said.threadId ?? '', maxThreadIdLength)) {
    throw new ConfigError(
      'invalid_argument',
      `A threadId has at most ${maxThreadIdLength} characters.`,
    );
  }
  refuseTooLong(said.content, herd.policy);
  refuseFullInbox(frame, targetId);
  const answered = said.replyTo === undefined ? undefined : checkReply(frame, said, targetId);
  const required = said.expectsReply ? checkQuestion(frame, said, targetId, answered) : undefined;
  const task = said.expectsReply ? required : mentionedTask(frame, said, answered);
  if (targetId === said.senderId) {
    throw new MailboxError('invalid_target', 'You cannot send a message to yourself.');
  }
  const chain = checkChain(frame, said, targetId, answered);
  const { senderId, createdAtMs } = said;
  // An answer that somebody waits for is never too much.
  if (answered === undefined) {
    refuseTooOften(frame, { senderId, targetId, atMs: Math.min(createdAtMs, frame.nowMs) });
  }

  draft.put('message', {
    id: said.messageId,
    senderId: said.senderId,
    targetId,
    kind: said.replyTo === undefined ? 'message' : 'reply',
    ...(task === undefined ? {} : { taskId: task.id }),
    atMs: said.createdAtMs,
    ...chain,
    receipt: 'queued',
  });
  if (answered !== undefined) answer(frame, said, answered);
  const request = said.expectsReply ? openRequest(frame, said, targetId, required) : undefined;
  const deadlineAtMs = request?.deadlineAtMs;
  handOver(frame, said, { targetId, taskId: task?.id, deadlineAtMs, hops: chain.hops });
  return { targetId, request };
}

const maxThreadIdLength = 200;

/** @throws HostError `agent_closed` for an agent that is being closed; ConfigError `session_closed`. */
function refuseClosing(frame: Frame, targetId: string): void {
  refuseClosedSession(frame);
  const agent = frame.herd.agent(targetId);
  if (agent?.getSnapshot().matches({ process: 'closing' }) !== true) return;
  throw new HostError('agent_closed', `${nameOf(frame.draft, targetId)} is being closed.`, {
    data: { agentId: targetId },
  });
}

/** The open request that this reply answers, or `undefined` when it replies to a plain message. */
function checkReply(frame: Frame, said: Utterance, targetId: string): RequestRecord | undefined {
  const { draft } = frame;
  const replyTo = said.replyTo ?? '';
  const request = draft.get('request', replyTo);
  if (request === undefined) {
    if (draft.get('message', replyTo) !== undefined) return undefined;
    throw new TaskError(
      'unknown_request',
      `There is no message ${replyTo} in this session; replyTo takes the id of the message you answer.`,
      { data: { replyTo } },
    );
  }
  if (request.recipientId !== said.senderId) {
    throw new TaskError(
      'not_the_recipient',
      `${request.id} was asked of ${nameOf(draft, request.recipientId)}, not of you; nothing changed.`,
      { data: { requestId: request.id, recipientId: request.recipientId } },
    );
  }
  if (request.askerId !== targetId) {
    throw new MailboxError(
      'invalid_target',
      `${request.id} was asked by ${nameOf(draft, request.askerId)} (${request.askerId}); reply to that target.`,
      { data: { requestId: request.id, askerId: request.askerId } },
    );
  }
  if (said.taskId !== undefined && request.taskId !== null && said.taskId !== request.taskId) {
    throw new TaskError(
      'reply_task_mismatch',
      `${request.id} belongs to ${request.taskId}, not to ${said.taskId}; leave taskId out.`,
      { data: { requestId: request.id, taskId: request.taskId } },
    );
  }
  // By the sender's own time, also while the deadline waits for mail of others.
  const isTooLate = Math.min(said.createdAtMs, frame.nowMs) > request.deadlineAtMs;
  if (request.state !== 'open' || isTooLate) {
    keepLateReply(frame, said, request);
    throw new TaskError(
      'request_settled',
      `${request.id} is ${isTooLate ? 'expired' : request.state} already; your reply came too late and changed nothing.`,
      { data: { requestId: request.id, state: request.state } },
    );
  }
  return request;
}

/** A late reply is kept with its task, where it has one that settled. */
export function keepLateReply(
  frame: Frame,
  said: Pick<Utterance, 'createdAtMs' | 'senderId' | 'content'>,
  request: RequestRecord,
): void {
  if (request.taskId === null) return;
  keepLate(frame, request.taskId, {
    kind: 'reply',
    atMs: said.createdAtMs,
    fromId: said.senderId,
    text: said.content,
  });
}

/** Keeps what arrived for a task after it had settled; it is shown with the result. */
export function keepLate(
  frame: Frame,
  taskId: string,
  late: TaskRecord['lateEvents'][number],
): void {
  const task = frame.draft.get('task', taskId);
  if (task?.result === undefined) return;
  frame.noteLate(late.fromId);
  const lateEvents = [...task.lateEvents, late];
  frame.draft.put('task', { ...task, lateEvents, result: { ...task.result, lateEvents } });
}

/** The open task that requires the answer to this question, if any. */
function checkQuestion(
  frame: Frame,
  said: Utterance,
  targetId: string,
  answered: RequestRecord | undefined,
): TaskRecord | undefined {
  const task = mentionedTask(frame, said, undefined);
  if (task?.result !== undefined) {
    throw new TaskError(
      'task_settled',
      `${task.id} is ${task.state} already; ask without a task, or for the task that is open now.`,
      { data: { taskId: task.id, status: task.state } },
    );
  }
  if (task !== undefined) {
    if (task.agentId !== said.senderId && task.agentId !== targetId) {
      throw new TaskError(
        'task_agent_mismatch',
        `${task.id} belongs to ${nameOf(frame.draft, task.agentId)}; a question is required by the task of ` +
          'who asks or of who is asked, by no other.',
        { data: { taskId: task.id, agentId: task.agentId } },
      );
    }
    // An owner that speaks of its task has it; of one that is held it knows nothing yet.
    const isReached = task.id === activeTaskId(frame, said.senderId);
    if (task.state === 'created' && !isReached) {
      throw new TaskError('invalid_task', `${task.id} has not reached its agent yet; ask later.`, {
        retryable: true,
        data: { taskId: task.id },
      });
    }
  }
  refuseWaitCycle(frame, {
    asker: said.senderId,
    recipient: targetId,
    ...(answered === undefined ? {} : { answered: answered.id }),
  });
  return task;
}

/** The task that an utterance speaks of: named, that of the answered request, or the sender's own. */
function mentionedTask(
  frame: Frame,
  said: Utterance,
  answered: RequestRecord | undefined,
): TaskRecord | undefined {
  const { draft } = frame;
  const id = said.taskId ?? answered?.taskId ?? activeTaskId(frame, said.senderId);
  if (id === undefined || id === null) return undefined;
  const task = draft.get('task', id);
  if (task === undefined) {
    const own = activeTaskId(frame, said.senderId);
    throw new TaskError(
      'unknown_task',
      `There is no task ${id}; ${own === undefined ? 'leave taskId out' : `your task is ${own}`}.`,
      { data: { taskId: id, ...(own === undefined ? {} : { ownTaskId: own }) } },
    );
  }
  return task;
}

/** Id of the open task that an agent has now. */
export function activeTaskId(frame: Frame, agentId: string): string | undefined {
  return frame.herd.agent(agentId)?.getSnapshot().context.taskId ?? undefined;
}

function answer(frame: Frame, said: Utterance, request: RequestRecord): void {
  const actor = frame.herd.request(request.id);
  if (actor === undefined) return;
  frame.send(actor, toReplyEvent({ ...said, replyTo: request.id }));
  advanceReceipt(frame, request.id, 'answered');
}

function openRequest(
  frame: Frame,
  said: Utterance,
  recipientId: string,
  task: TaskRecord | undefined,
): OpenedRequest {
  const { herd, draft } = frame;
  const wantedAtMs = said.createdAtMs + herd.policy.replyTimeoutMs;
  const deadlineAtMs = Math.min(wantedAtMs, task?.deadlineAtMs ?? Infinity);
  const request = {
    requestId: said.messageId,
    askerId: said.senderId,
    recipientId,
    taskId: task?.id ?? null,
    openedAtMs: said.createdAtMs,
    deadlineAtMs,
  };
  draft.put('request', {
    id: said.messageId,
    askerId: said.senderId,
    recipientId,
    taskId: request.taskId,
    question: said.content,
    openedAtMs: said.createdAtMs,
    deadlineAtMs,
    state: 'open',
  });
  const event = toQuestionEvent(request);
  if (task !== undefined) {
    draft.change('task', task.id, { requestIds: [...task.requestIds, request.requestId] });
    const actor = herd.task(task.agentId, task.id);
    if (actor === undefined) throw new TaskError('internal_error', `No actor of ${task.id}.`);
    if (said.senderId === task.agentId) frame.send(actor, toStartedEvent(said.createdAtMs));
    frame.send(actor, event);
  } else if (said.senderId === SHEPHERD_ID) {
    frame.send(herd.session, event);
  } else {
    const asker = herd.agent(said.senderId);
    if (asker === undefined) throw new HostError('agent_closed', `${said.senderId} has ended.`);
    frame.send(asker, event);
  }
  const isClipped = deadlineAtMs < wantedAtMs;
  return { requestId: said.messageId, deadlineAtMs, ...(isClipped ? { isClipped } : {}) };
}

/** @throws MailboxError `hop_limit` (CV4). */
function checkChain(
  frame: Frame,
  said: Utterance,
  targetId: string,
  answered: RequestRecord | undefined,
): Chain {
  if (answered !== undefined && !said.expectsReply) return { chainId: said.messageId, hops: 0 };
  const chain = chainOf(frame, said);
  refuseTooFar(frame, { senderId: said.senderId, targetId }, chain);
  return chain;
}

function handOver(
  frame: Frame,
  said: Utterance,
  to: {
    readonly targetId: string;
    readonly taskId: string | undefined;
    readonly deadlineAtMs: number | undefined;
    readonly hops: number;
  },
): void {
  const { targetId, taskId, deadlineAtMs, hops } = to;
  if (targetId === SHEPHERD_ID) {
    const { messageId, senderId, content, threadId, replyTo, expectsReply } = said;
    const kind = replyTo === undefined ? 'message' : 'reply';
    frame.move({
      messageId,
      kind,
      from: senderId,
      to: targetId,
      ...(replyTo === undefined ? {} : { about: replyTo }),
      ...(expectsReply ? { asks: true } : {}),
      ...(taskId === undefined ? {} : { taskId }),
    });
    sendIncoming(frame, { messageId, senderId, content, taskId, threadId, replyTo, expectsReply });
    return;
  }
  const conversation = {
    targetId,
    senderName: nameOf(frame.draft, said.senderId),
    content: said.content,
    delivery: said.delivery,
    ...(taskId === undefined ? {} : { taskId }),
    ...(said.threadId === undefined ? {} : { threadId: said.threadId }),
    ...(said.expectsReply ? { expectsReply: true } : {}),
    ...(deadlineAtMs === undefined ? {} : { deadlineAt: deadlineAtMs }),
  };
  const draft: EnvelopeDraft =
    said.replyTo === undefined
      ? { kind: 'message', ...conversation }
      : { kind: 'reply', replyTo: said.replyTo, ...conversation };
  frame.effect({
    type: 'publish',
    agentId: targetId,
    messageId: said.messageId,
    senderId: said.senderId,
    createdAtMs: said.createdAtMs,
    hops,
    draft,
  });
  if (said.expectsReply || said.replyTo !== undefined) {
    callChild(frame, targetId, said.messageId);
  }
}
