/**
 * What a child's envelope does: one function, run within a step.
 *
 * EN1. An envelope has its effect once; a repeat is given the same verdict again.
 * EN2. Every call that can be refused gets a verdict; nothing vanishes.
 * EN3. Only the living incarnation of an agent is heard; mail of an ended one is late.
 */
import {
  MailboxError,
  ShepherdError,
  TaskError,
  describeError,
  type MailboxErrorCode,
} from '../errors.ts';
import { firstCharacters } from '../text.ts';
import { contentHash, type Envelope, type EnvelopeOf } from '../mailbox/envelope.ts';
import type { Incarnation } from '../mailbox/layout.ts';
import { toAgentEvent, toFailureEvent, toStartedEvent, toTaskEvent } from '../mailbox/adapter.ts';
import { publishToChild, settleCall } from './child-notices.ts';
import { activeTaskId, keepLate, routeUtterance, type Utterance } from './conversation.ts';
import type { Frame } from './herd.ts';
import { refuseTooManyCharacters } from './limits.ts';
import type { AgentRecord, SeenRecord, TaskRecord, VerdictBody } from './records.ts';
import { sendPassiveNotice, sendUnwatchedOutcome } from './notices.ts';
import { notePromptText } from './prompts.ts';
import { advanceReceipt, failMessage } from './receipts.ts';
import { rosterFor } from './roster.ts';
import { excerpt, nameOf } from './router.ts';
import { handOnLate } from './late-words.ts';
import { logStall } from './stalls.ts';
import type { TaskResult } from './shepherd.ts';

/**
 * Handles one envelope that `agent`'s current incarnation has proven to be its own.
 *
 * @param mail `isAgain`: it was taken before and not acked; its verdict may be on its way.
 */
export function handleEnvelope(
  frame: Frame,
  agent: AgentRecord,
  mail: { readonly envelope: Envelope; readonly isAgain: boolean },
): void {
  const { draft } = frame;
  const { envelope, isAgain } = mail;
  const seen = draft.get('seen', envelope.messageId);
  const hash = contentHash(envelope);
  if (seen !== undefined) {
    if (seen.hash !== hash) {
      const conflict = `${envelope.messageId} was used for another envelope; nothing changed.`;
      sendVerdict(
        frame,
        agent,
        envelope,
        refusal(new MailboxError('duplicate_conflict', conflict)),
      );
      return;
    }
    const verdict = isAgain ? seen.verdict : withReceipt(frame, seen);
    // After a crash the same envelope once more: what lies in the inbox already is not doubled.
    const verdictId = isAgain ? seen.verdictId : undefined;
    if (verdict !== undefined)
      sendVerdict(frame, agent, envelope, verdict, { messageId: verdictId });
    return;
  }
  proveStarted(frame, agent, envelope);
  const verdict = act(frame, agent, envelope);
  keepVerdict(frame, agent, envelope, verdict);
}

/** Remembers an envelope, and answers it where it is to be answered. */
function keepVerdict(
  frame: Frame,
  agent: AgentRecord,
  envelope: Envelope,
  verdict: VerdictBody | undefined,
): void {
  const seen = { id: envelope.messageId, hash: contentHash(envelope) };
  frame.draft.put(
    'seen',
    verdict === undefined
      ? seen
      : { ...seen, verdict, verdictId: sendVerdict(frame, agent, envelope, verdict) },
  );
}

/** Asked again, a sender also learns how far its message has come. */
function withReceipt({ draft }: Frame, { id, verdict }: SeenRecord): VerdictBody | undefined {
  const message = draft.get('message', id);
  if (verdict?.ok !== true || message === undefined) return verdict;
  return { ...verdict, data: { ...verdict.data, delivery: message.receipt } };
}

/** Any envelope of the owner about its task proves that the task has reached it. */
function proveStarted(frame: Frame, agent: AgentRecord, envelope: Envelope): void {
  const own = activeTaskId(frame, agent.id);
  if (own === undefined || !isAbout(envelope, own)) return;
  const task = frame.herd.task(agent.id, own);
  if (task !== undefined) frame.send(task, toStartedEvent(frame.nowMs));
}

/** A `task_done` that names no task is about the one that its sender has. */
function isAbout(envelope: Envelope, taskId: string): boolean {
  if (!('taskId' in envelope) || envelope.taskId === undefined)
    return envelope.kind === 'task_done';
  return envelope.taskId === taskId;
}

function act(frame: Frame, agent: AgentRecord, envelope: Envelope): VerdictBody | undefined {
  switch (envelope.kind) {
    case 'message':
    case 'reply':
      return judged(() => speak(frame, agent, envelope));
    case 'task_done':
      return judged(() => finishTask(frame, agent, envelope));
    case 'roster':
      return { ok: true, data: rosterFor(frame, agent) };
    case 'hello':
      sayHello(frame, agent, envelope);
      return undefined;
    case 'runtime':
      observe(frame, agent, envelope);
      return undefined;
    case 'heartbeat':
      // Activity alone makes no step: the pump keeps it out.
      return undefined;
    case 'receipt':
      keepReceipt(frame, agent, envelope);
      return undefined;
    case 'task':
    case 'verdict':
    case 'task_closed':
    case 'notice':
      return refusal(
        new MailboxError('invalid_envelope', `A child does not send "${envelope.kind}".`),
      );
  }
}

/** Runs what may be refused; a deliberate error becomes the verdict, any other one is a crash. */
function judged(work: () => VerdictBody): VerdictBody {
  try {
    return work();
  } catch (error) {
    if (ShepherdError.is(error)) return refusal(error);
    throw error;
  }
}

function refusal(error: ShepherdError): VerdictBody {
  return { ok: false, code: error.code, error: error.message, data: { ...error.data } };
}

/** Tells the Shepherd of a file that was put aside, and its sender where that can be done. */
export function reportBadMail(
  frame: Frame,
  bad: {
    readonly from: { readonly agentId: string };
    readonly name: string;
    readonly reason: string;
    readonly code: MailboxErrorCode;
    readonly messageId?: string | undefined;
  },
): void {
  const agent = frame.draft.get('agent', bad.from.agentId);
  if (agent === undefined) return;
  sendPassiveNotice(
    frame,
    `Unusable mail of ${nameOf(frame.draft, agent.id)} was put aside (${bad.name}): ${bad.reason}`,
    { agentId: agent.id, file: bad.name, code: bad.code },
  );
  if (bad.messageId === undefined || frame.herd.agent(agent.id) === undefined) return;
  const error = new MailboxError(bad.code, bad.reason);
  sendVerdict(frame, agent, { messageId: bad.messageId }, refusal(error));
}

/** Returns the id of the envelope that carries the verdict. */
function sendVerdict(
  frame: Frame,
  agent: AgentRecord,
  envelope: Pick<Envelope, 'messageId'>,
  verdict: VerdictBody,
  to: { readonly messageId?: string | undefined; readonly launch?: number } = {},
): string {
  const { messageId: forMessageId } = envelope;
  return publishToChild(
    frame,
    { kind: 'verdict', targetId: agent.id, forMessageId, ...verdict },
    to,
  );
}

function speak(
  frame: Frame,
  agent: AgentRecord,
  envelope: EnvelopeOf<'message'> | EnvelopeOf<'reply'>,
): VerdictBody {
  const said: Utterance = {
    messageId: envelope.messageId,
    senderId: agent.id,
    target: envelope.targetId,
    content: envelope.content,
    delivery: envelope.delivery,
    taskId: envelope.taskId,
    threadId: envelope.threadId,
    replyTo: envelope.kind === 'reply' ? envelope.replyTo : undefined,
    expectsReply: envelope.expectsReply ?? false,
    createdAtMs: envelope.createdAt,
    causeId: envelope.causeId,
  };
  const { targetId, request } = routeUtterance(frame, said);
  return {
    ok: true,
    data: {
      messageId: envelope.messageId,
      delivery: 'queued',
      targetId,
      target: nameOf(frame.draft, targetId),
      ...request,
    },
  };
}

/** Hands in the task that a `shepherd_done` names, else the one that its sender had then. */
function finishTask(
  frame: Frame,
  agent: AgentRecord,
  envelope: EnvelopeOf<'task_done'>,
): VerdictBody {
  const { herd, draft } = frame;
  const named = envelope.taskId === undefined ? undefined : draft.get('task', envelope.taskId);
  refuseForeignTask(frame, agent, envelope.taskId, named);
  const task = named ?? taskAt(frame, agent, envelope.createdAt);
  if (task === undefined) {
    throw new TaskError(
      'no_delegated_task',
      'You have not been given a task; use shepherd_message to say something.',
    );
  }
  const actor = herd.task(agent.id, task.id);
  if (task.result !== undefined || actor === undefined) return answerRepeat(frame, task, envelope);
  if (task.attempts.length === 0) {
    throw new TaskError(
      'invalid_task',
      `${task.id} waits for its turn and has not been given to you. Your task is ${agent.taskId ?? 'none'}.`,
      { data: { taskId: task.id, ownTaskId: agent.taskId } },
    );
  }
  refuseTooManyCharacters(envelope.summary ?? '', herd.policy.maxSummaryCharacters);
  frame.draft.put('task', withLastWord(task, envelope, herd.policy.maxContentCharacters));
  frame.send(actor, toTaskEvent(envelope));
  const [refused] = frame.refusals;
  if (refused !== undefined) {
    draft.put('task', task);
    throw refused;
  }
  const settled = draft.get('task', task.id)?.result;
  if (settled === undefined) {
    throw new TaskError('internal_error', `${task.id} took no notice; nothing changed.`);
  }
  return { ok: true, data: { taskId: task.id, status: settled.status, accepted: true } };
}

/** The task that an agent had at an instant: a word from before the present one is about another. */
function taskAt(frame: Frame, agent: AgentRecord, atMs: number): TaskRecord | undefined {
  const { draft } = frame;
  const task = draft.get('task', activeTaskId(frame, agent.id) ?? agent.taskId ?? '');
  const beganAtMs = task?.attempts.at(-1)?.startedAtMs ?? 0;
  if (task === undefined || task.result !== undefined || atMs >= beganAtMs) return task;
  const earlier = draft
    .all('task')
    .findLast(({ agentId, result }) => agentId === agent.id && result !== undefined);
  return earlier ?? task;
}

/** The task's record with its owner's last word on it. */
function withLastWord(
  task: TaskRecord,
  envelope: EnvelopeOf<'task_done'>,
  maxCharacters: number,
): TaskRecord {
  const { summary, content, override, evidence, status } = envelope;
  return {
    ...task,
    ...(summary === undefined ? {} : { summary }),
    ...(content === undefined ? {} : { text: firstCharacters(content, maxCharacters) }),
    ...(override === undefined ? {} : { override }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(status === 'completed' ? {} : { error: `${status}: ${summary ?? 'no reason given'}` }),
  };
}

function refuseForeignTask(
  frame: Frame,
  agent: AgentRecord,
  id: string | undefined,
  named: TaskRecord | undefined,
): void {
  if (id === undefined || named?.agentId === agent.id) return;
  const own = activeTaskId(frame, agent.id);
  const hint = own === undefined ? 'You have no open task.' : `Your task is ${own}.`;
  const data = { taskId: id, ...(own === undefined ? {} : { ownTaskId: own }) };
  throw named === undefined
    ? new TaskError('unknown_task', `There is no task ${id}. ${hint}`, { data })
    : new TaskError(
        'task_agent_mismatch',
        `${id} belongs to ${nameOf(frame.draft, named.agentId)}. ${hint}`,
        { data },
      );
}

/** A result that surely fits an envelope: its sender has written the texts itself. */
function shortened({ lateEvents, ...result }: TaskResult): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(result).map(([key, value]) => [
      key,
      typeof value === 'string' ? excerpt(value, 2_000) : value,
    ]),
  );
}

/** A `shepherd_done` for a settled task: the owner's repeat is answered, anything else is late. */
function answerRepeat(
  frame: Frame,
  task: TaskRecord,
  envelope: EnvelopeOf<'task_done'>,
): VerdictBody {
  const { result } = task;
  if (task.cause === 'owner' && result?.status === envelope.status) {
    const { status } = result;
    return { ok: true, data: { taskId: task.id, status, repeat: true, result: shortened(result) } };
  }
  keepLate(frame, task.id, {
    kind: 'task_done',
    atMs: envelope.createdAt,
    fromId: envelope.senderId,
    text: `${envelope.status}: ${envelope.content ?? envelope.summary ?? ''}`,
  });
  throw new TaskError(
    'task_settled',
    `${task.id} is ${task.state} already; what you sent is kept as late and changes nothing.`,
    { data: { taskId: task.id, status: task.state } },
  );
}

const childTools = ['shepherd_message', 'shepherd_done'];

function sayHello(frame: Frame, agent: AgentRecord, envelope: EnvelopeOf<'hello'>): void {
  const { herd, draft } = frame;
  const actor = herd.agent(agent.id);
  if (actor === undefined) return;
  const missing = childTools.filter((tool) => !envelope.tools.includes(tool));
  draft.change('agent', agent.id, { pid: envelope.pid });
  if (missing.length > 0) {
    sendPassiveNotice(
      frame,
      `${nameOf(draft, agent.id)} runs without ${missing.join(' and ')}: it cannot settle a task itself.`,
      { agentId: agent.id, missing },
    );
  }
  frame.send(actor, toAgentEvent(envelope));
}

/** Observations move the process region; only a provider that gave up reaches the task. */
function observe(frame: Frame, agent: AgentRecord, envelope: EnvelopeOf<'runtime'>): void {
  const { herd, draft } = frame;
  const actor = herd.agent(agent.id);
  if (actor === undefined) return;
  if (envelope.evidence !== undefined) {
    draft.change('agent', agent.id, { evidence: envelope.evidence });
  }
  const taskId = activeTaskId(frame, agent.id);
  // What a child says of a task is said of the one it names: a run's last words, and its failure, may
  // come when another one has begun.
  const isOfTask = taskId !== undefined && envelope.taskId === taskId;
  const isWord = envelope.event !== 'thrashing';
  if (isOfTask && isWord && envelope.content !== undefined) {
    const text = firstCharacters(envelope.content, herd.policy.maxContentCharacters);
    draft.change('task', taskId, { text });
  }
  if (isWord) notePromptText(frame, agent.id, envelope);
  // The agent first: its turn is over, so that no later one is stopped for the task's sake.
  const event = toAgentEvent(envelope, hasAsked(frame, agent.id));
  if (event !== undefined) frame.send(actor, event);
  if (envelope.event === 'thrashing') {
    sendPassiveNotice(
      frame,
      `${nameOf(draft, agent.id)} goes in circles: ${excerpt(envelope.content ?? 'the same call again and again')}`,
      { agentId: agent.id, taskId: taskId ?? null, code: 'thrash' },
    );
  }
  if (envelope.event !== 'provider_gave_up') return;
  const error = `provider_error: ${envelope.error ?? 'the model provider gave up.'}`;
  const task = isOfTask ? herd.task(agent.id, taskId) : undefined;
  if (task === undefined || taskId === undefined) {
    if (envelope.taskId !== undefined) return;
    sendPassiveNotice(frame, `${nameOf(draft, agent.id)}: ${error}`, { agentId: agent.id });
    return;
  }
  if (task.getSnapshot().matches({ open: 'created' })) return;
  draft.change('task', taskId, { error });
  frame.send(task, toFailureEvent(envelope));
}

/** Whether a question of this agent is open, under whose task soever. */
function hasAsked({ herd, draft }: Frame, agentId: string): boolean {
  return herd.openRequestIds().some((id) => draft.get('request', id)?.askerId === agentId);
}

function keepReceipt(frame: Frame, agent: AgentRecord, envelope: EnvelopeOf<'receipt'>): void {
  settleCall(frame, agent.id, envelope.forMessageId);
  const message = frame.draft.get('message', envelope.forMessageId);
  if (message === undefined || message.targetId !== agent.id) return;
  if (envelope.receipt !== 'dead') {
    advanceReceipt(frame, message.id, envelope.receipt);
    return;
  }
  failMessage(frame, message.id, envelope.error ?? 'its Pi session did not accept it', {
    type: 'delivery.failed',
    atMs: envelope.createdAt,
  });
}

/** Mail found in the outbox of an agent that has ended: kept once, with its task where it is about one. */
export function handleLateEnvelope(frame: Frame, agent: AgentRecord, envelope: Envelope): void {
  const { draft } = frame;
  const { kind, messageId } = envelope;
  if (kind !== 'task_done' && kind !== 'message' && kind !== 'reply') return;
  if (draft.get('seen', messageId) !== undefined) return;
  draft.put('seen', { id: messageId, hash: contentHash(envelope) });
  if (kind !== 'task_done') {
    handOnLate(frame, agent, envelope);
    return;
  }
  const task = draft.get('task', envelope.taskId ?? agent.taskId ?? '');
  // Of a task of somebody else it has nothing to say, early or late.
  if (task?.agentId !== agent.id) return;
  keepLate(frame, task.id, {
    kind: 'task_done',
    atMs: envelope.createdAt,
    fromId: agent.id,
    text: `${envelope.status}: ${envelope.content ?? envelope.summary ?? ''}`,
  });
}

/** A replaced incarnation is told so, whatever it says, and nothing follows from it (EN3). */
export function refuseSuperseded(
  frame: Frame,
  agent: AgentRecord,
  { from, envelope }: { readonly from: Incarnation; readonly envelope: Envelope },
): void {
  const { draft } = frame;
  const { kind, messageId } = envelope;
  if (draft.get('seen', messageId) !== undefined) return;
  logStall(frame, agent, 'superseded', { launch: from.launch, detail: `${kind} ${messageId}` });
  const error = new MailboxError(
    'superseded',
    `A fresh child has taken over from you (launch ${agent.launch}); what you say and do changes nothing. Stop.`,
    { data: { launch: from.launch, liveLaunch: agent.launch } },
  );
  draft.put('seen', {
    id: messageId,
    hash: contentHash(envelope),
    ...(isAnswered(kind)
      ? { verdictId: sendVerdict(frame, agent, envelope, refusal(error), { launch: from.launch }) }
      : {}),
  });
}

const isAnswered = (kind: Envelope['kind']): boolean =>
  kind === 'message' || kind === 'reply' || kind === 'task_done' || kind === 'roster';

/** Answers an envelope whose handling failed and was rolled back; it is not tried again (EN2). */
export function refuseCrashed(frame: Frame, agent: AgentRecord, envelope: Envelope): void {
  const error = new TaskError('internal_error', 'Handling it failed; it changed nothing.');
  keepVerdict(frame, agent, envelope, isAnswered(envelope.kind) ? refusal(error) : undefined);
}

/** The step that follows a chart's crash: what the actor owned fails, the rest lives on. */
export function containCrash(
  frame: Frame,
  crash: { readonly actorId: string; readonly error: unknown; readonly isTimer: boolean },
): void {
  const { herd, draft, nowMs } = frame;
  const { actorId, isTimer } = crash;
  const reason = describeError(crash.error);
  sendPassiveNotice(frame, `An actor failed and was rolled back (${actorId}): ${reason}`, {
    actorId,
    code: 'internal_error',
  });
  const agent = herd.agent(actorId);
  if (agent === undefined) {
    if (isTimer) endCrashed(frame, actorId);
    return;
  }
  const { taskId } = agent.getSnapshot().context;
  if (taskId !== null) {
    draft.change('task', taskId, { error: reason });
    frame.send(agent, { type: 'actor.crashed', atMs: nowMs });
  } else if (isTimer) {
    frame.send(agent, { type: 'agent.close', atMs: nowMs });
  }
}

/** A watcher or a question whose timer crashes would crash again: it ends, and what it owes is told. */
function endCrashed(frame: Frame, actorId: string): void {
  const { herd, draft, nowMs } = frame;
  const watcher = herd.watchers().find(({ id }) => id === actorId);
  const isRequest = draft.get('request', actorId)?.state === 'open';
  if (watcher === undefined && !isRequest) return;
  if (isRequest) draft.change('request', actorId, { state: 'cancelled', settledAtMs: nowMs });
  const tasks = watcher?.getSnapshot().context.settled ?? [];
  for (const id of tasks) {
    const result = draft.get('task', id)?.result;
    if (result !== undefined) sendUnwatchedOutcome(frame, result);
  }
  herd.reap(actorId);
}
