/**
 * Delegation: a task is created, held or dispatched, and withdrawn again.
 *
 * DG1. A key stands for one task: what comes again under it gives that task, another one is refused.
 * DG2. A held task is created at once and has its place in line; its text and its deadline begin with
 *      its dispatch.
 */
import { createHash } from 'node:crypto';
import { HostError, MailboxError, TaskError } from '../errors.ts';
import { SHEPHERD_ID } from '../ids.ts';
import { describeAttachment } from '../mailbox/attachment.ts';
import { canonicalJson } from '../mailbox/envelope.ts';
import { firstCharacters, isLongerThan } from '../text.ts';
import { publishToChild } from './child-notices.ts';
import { beginNote } from './fieldnotes.ts';
import { fitsEnvelope, refuseClosedSession, refuseFullInbox } from './limits.ts';
import type { Frame, LiveAgent } from './herd.ts';
import type { AgentRecord, TaskRecord } from './records.ts';
import { excerpt, nameOf, resolveTarget } from './router.ts';

export interface DelegateCommand {
  readonly target: string;
  readonly task: string;
  readonly timeoutMs: number | undefined;
  readonly queue: boolean;
  readonly idempotencyKey: string | undefined;
}

/**
 * Creates a task and causes its delivery, now or when the agent is free.
 *
 * @throws as `Shepherd.delegate`.
 */
export function delegateTask(frame: Frame, command: DelegateCommand): TaskRecord {
  const { herd, draft, nowMs } = frame;
  const { timeoutMs, queue } = command;
  const description = command.task.toWellFormed();
  const hash = hashOf(description, timeoutMs);
  const known = taskOfKey(frame, command, hash);
  if (known !== undefined) return known;
  refuseClosedSession(frame);
  const { agent, actor } = ownerOf(frame, command.target);
  refuseInvalid(frame, description, timeoutMs);
  refuseFullInbox(frame, agent.id);
  refuseBusy(frame, agent, actor, queue);
  const task: TaskRecord = {
    id: herd.ids.taskId(),
    agentId: agent.id,
    description,
    state: 'created',
    states: [{ state: 'created', atMs: nowMs }],
    createdAtMs: nowMs,
    timeoutMs: roundUp(timeoutMs ?? herd.policy.taskTimeoutMs),
    deadlineAtMs: null,
    messageId: herd.ids.messageId(nowMs),
    attempts: [],
    stale: false,
    requestIds: [],
    evidenceAtStart: agent.evidence,
    lateEvents: [],
  };
  draft.put('task', task);
  if (command.idempotencyKey !== undefined) {
    draft.put('key', { id: command.idempotencyKey, taskId: task.id, hash });
  }
  frame.send(actor, {
    type: 'task.assign',
    queue,
    atMs: nowMs,
    task: {
      taskId: task.id,
      agentId: agent.id,
      timeoutMs: task.timeoutMs,
      staleAfterMs: herd.policy.staleAfterMs,
    },
  });
  return draft.get('task', task.id) ?? task;
}

function hashOf(task: string, timeoutMs: number | undefined): string {
  return createHash('sha256').update(canonicalJson({ task, timeoutMs })).digest('hex');
}

const roundUp = (ms: number | null): number | null => (ms === null ? null : Math.ceil(ms));

const maxKeyLength = 200;

/** @throws TaskError `invalid_task` for a key that cannot be one; MailboxError `duplicate_conflict`. */
function taskOfKey(
  frame: Frame,
  { idempotencyKey: key, target }: DelegateCommand,
  hash: string,
): TaskRecord | undefined {
  if (key === undefined) return undefined;
  if (key.trim() === '' || isLongerThan(key, maxKeyLength)) {
    throw new TaskError(
      'invalid_task',
      `An idempotencyKey has 1 to ${maxKeyLength} characters, not all of them blank.`,
    );
  }
  const known = frame.draft.get('key', key);
  const task = known && frame.draft.get('task', known.taskId);
  if (known === undefined || task === undefined) return undefined;
  if (known.hash === hash && mayMean(frame, target, task.agentId)) return task;
  throw new MailboxError(
    'duplicate_conflict',
    `The idempotencyKey "${excerpt(key)}" stands for ${task.id}, which was another task; use a new key.`,
    { data: { idempotencyKey: key, taskId: task.id } },
  );
}

/** Whether a target, by whatever name, is this agent; one that has ended can only be believed. */
function mayMean(frame: Frame, target: string, agentId: string): boolean {
  if (target === agentId) return true;
  if (frame.herd.agent(target) !== undefined) return false;
  if (frame.herd.agent(agentId) === undefined) return true;
  try {
    return resolveTarget(frame.herd, frame.draft, target) === agentId;
  } catch {
    return false;
  }
}

function ownerOf(
  frame: Frame,
  target: string,
): { readonly agent: AgentRecord; readonly actor: LiveAgent } {
  const agentId = resolveTarget(frame.herd, frame.draft, target);
  const agent = frame.draft.get('agent', agentId);
  const actor = frame.herd.agent(agentId);
  if (agent !== undefined && actor !== undefined) return { agent, actor };
  throw new TaskError('invalid_task', 'The Shepherd cannot be given a task; name an agent.');
}

function refuseInvalid(frame: Frame, description: string, timeoutMs: number | undefined): void {
  if (description.trim() === '') {
    throw new TaskError('invalid_task', 'The task is blank; say what is to be done.');
  }
  const deadlineAtMs = Math.round(frame.nowMs + (timeoutMs ?? 0));
  if (timeoutMs !== undefined && !(timeoutMs > 0 && Number.isSafeInteger(deadlineAtMs))) {
    throw new TaskError(
      'invalid_timeout',
      `The timeout ${timeoutMs} ms is no length of time above 0 that ends in any calendar; leave it out for none.`,
    );
  }
  const bytes = Buffer.byteLength(description);
  const { maxTaskBytes } = frame.herd.policy;
  if (bytes <= maxTaskBytes) return;
  throw new MailboxError(
    'message_too_large',
    `The task has ${bytes} bytes; at most ${maxTaskBytes} are taken. Write it to a file and name the file.`,
    { data: { bytes, maxBytes: maxTaskBytes } },
  );
}

function refuseBusy(frame: Frame, agent: AgentRecord, actor: LiveAgent, queue: boolean): void {
  const name = nameOf(frame.draft, agent.id);
  const state = actor.getSnapshot();
  if (state.matches({ process: 'closing' })) {
    throw new HostError('agent_closed', `${name} is being closed.`);
  }
  const isFree = state.matches({ slot: 'free' });
  if (queue || (isFree && agent.queue.length === 0)) return;
  if (state.matches({ slot: 'prompted' })) {
    throw new TaskError(
      'active_prompt',
      `${name} is in a turn that was prompted; wait until it is over, or give \`queue: true\`.`,
      { retryable: true, data: { agentId: agent.id } },
    );
  }
  const why =
    isFree || state.matches({ slot: 'draining' })
      ? 'is letting go of its last task; try again in a few seconds'
      : `still has ${agent.taskId ?? 'a task'}; wait until it has settled, or spawn another agent`;
  throw new TaskError('active_task', `${name} ${why}, or give \`queue: true\`.`, {
    retryable: true,
    data: { agentId: agent.id, taskId: agent.taskId },
  });
}

/** As much of an attached text as its envelope repeats. */
const excerptCharacters = 2_000;

/** Hands a task to its agent: its deadline begins, and its envelope is on its way (DG2). */
export function dispatchTask(
  frame: Frame,
  dispatched: {
    readonly taskId: string;
    readonly atMs: number;
    readonly deadlineAtMs: number | null;
  },
): void {
  const { draft } = frame;
  const task = draft.get('task', dispatched.taskId);
  const agent = task && draft.get('agent', task.agentId);
  if (task === undefined || agent === undefined) return;
  const { id: taskId, agentId, messageId } = task;
  const { atMs, deadlineAtMs } = dispatched;
  draft.put('task', {
    ...task,
    deadlineAtMs,
    attempts: [{ launch: agent.launch, startedAtMs: atMs }],
    evidenceAtStart: agent.evidence,
  });
  // Before the envelope, which says where the note is.
  beginNote(frame, taskId);
  draft.change('agent', agentId, { taskId, wakeId: messageId });
  draft.put('message', {
    id: messageId,
    senderId: SHEPHERD_ID,
    targetId: agentId,
    kind: 'task',
    taskId,
    atMs,
    hops: 0,
    chainId: messageId,
    receipt: 'queued',
  });
  publishTask(frame, taskId);
}

/**
 * Causes the envelope of a task to its agent.
 *
 * @param preface what stands before the task's own text.
 */
export function publishTask(frame: Frame, taskId: string, preface = ''): void {
  const { draft } = frame;
  const task = draft.get('task', taskId);
  if (task === undefined) return;
  const { agentId, description, messageId, deadlineAtMs } = task;
  const whole = `${preface}${description}`;
  const attachment = fitsEnvelope(whole, frame.herd.policy)
    ? undefined
    : describeAttachment(messageId, description);
  if (attachment !== undefined) draft.put('task', { ...task, attachment });
  const text =
    attachment === undefined
      ? { content: whole }
      : { content: `${preface}${firstCharacters(description, excerptCharacters)}`, attachment };
  publishToChild(
    frame,
    {
      kind: 'task',
      targetId: agentId,
      taskId,
      ...text,
      ...(deadlineAtMs === null ? {} : { deadlineAt: deadlineAtMs }),
    },
    { messageId },
  );
}
