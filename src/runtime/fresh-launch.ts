/**
 * A fresh child in place of a stalled one: its incarnation, its task, its mail.
 *
 * FL1. The old incarnation is superseded in the step that begins the new one: there is no instant at
 *      which both are heard, and none at which neither is.
 * FL2. What the old one had not taken in, and what it was asked and has not answered, the new one gets.
 */
import { SHEPHERD_ID } from '../ids.ts';
import type { Envelope, EnvelopeDraft } from '../mailbox/envelope.ts';
import { buildAgentStallRecoveryBrief } from '../stall/brief.ts';
import { firstCharacters } from '../text.ts';
import { publishTask } from './delegate.ts';
import type { Frame } from './herd.ts';
import type { AgentRecord, TaskRecord } from './records.ts';
import { excerpt, nameOf } from './router.ts';

/** Begins the next incarnation of an agent; its task is on the way to it, with a brief. */
export function launchFresh(frame: Frame, agentId: string, launch: number): void {
  const { draft, herd, nowMs } = frame;
  const agent = draft.get('agent', agentId);
  if (agent === undefined) return;
  const { place, pid, stalledSinceMs, look, error, ...kept } = agent;
  const task = draft.get('task', agent.taskId ?? '');
  const brief = task === undefined ? '' : briefFor(frame, agent, task);
  draft.put('agent', {
    ...kept,
    launch,
    secret: herd.ids.secret(),
    evidence: { turns: 0, toolCalls: 0, lastActivityAtMs: null },
    superseded: [
      ...(agent.superseded ?? []),
      {
        launch: agent.launch,
        secret: agent.secret,
        ...(place === undefined ? {} : { launchDir: place.launchDir }),
      },
    ],
  });
  frame.effect({ type: 'launch', agentId });
  frame.effect({ type: 'empty', agentId, launch: agent.launch });
  if (task === undefined || task.result !== undefined) return;
  draft.put('task', {
    ...task,
    attempts: [...task.attempts, { launch, startedAtMs: nowMs }],
    evidenceAtStart: countedOn(task, agent),
  });
  publishTask(frame, task.id, brief);
}

/** A fresh child counts from 0: what was done before it is taken off the start, so that it is kept. */
function countedOn(
  { evidenceAtStart: start }: TaskRecord,
  { evidence: now }: AgentRecord,
): TaskRecord['evidenceAtStart'] {
  return {
    turns: start.turns - now.turns,
    toolCalls: start.toolCalls - now.toolCalls,
    lastActivityAtMs: now.lastActivityAtMs,
  };
}

/** Everything but the task itself, which follows. */
function briefFor(frame: Frame, agent: AgentRecord, task: TaskRecord): string {
  const { draft, herd, nowMs } = frame;
  const { look, stalledSinceMs } = agent;
  const said = (look?.output ?? '').split('\n').filter((line) => line.trim() !== '');
  const { brief } = buildAgentStallRecoveryBrief({
    runId: `${agent.id}.${agent.launch}`,
    cwd: agent.cwd,
    lastAction: excerpt(said.at(-1) ?? '', 200),
    reason: 'stalled',
  });
  const branch = look?.branch ?? undefined;
  const attempt = task.attempts.length + 1;
  const silent = stalledSinceMs === undefined ? undefined : minutes(nowMs - stalledSinceMs);
  const began = task.attempts.at(-1)?.startedAtMs ?? nowMs;
  const asked = task.requestIds.flatMap((id) => {
    const request = draft.get('request', id);
    if (request?.state !== 'open') return [];
    return `- ${id} to ${nameOf(draft, request.recipientId)}: ${excerpt(request.question, 300)}`;
  });
  return [
    brief,
    `Attempt ${attempt} of ${herd.policy.maxFreshDispatches + 1}. ` +
      `The attempt before began ${minutes(nowMs - began)} ago` +
      `${silent === undefined ? '' : ` and showed nothing for ${silent}`}.` +
      (branch === undefined ? '' : ` Branch: ${branch}.`),
    ...(said.length === 0 ? [] : ['Its last output:', firstCharacters(said.join('\n'), 2_000)]),
    ...(asked.length === 0 ? [] : ['Questions of yours that are still open:', ...asked]),
    'The task:',
    '',
  ].join('\n');
}

const minutes = (ms: number): string => `${Math.max(0, Math.round(ms / 6_000) / 10)} min`;

/** Passes on what the old incarnation had not taken in, and questions to it that are still open (FL2). */
export function handOver(frame: Frame, agentId: string, unread: readonly Envelope[]): void {
  const { draft, herd } = frame;
  const mails = unread.filter(
    ({ kind }) => kind === 'message' || kind === 'reply' || kind === 'notice',
  );
  const passedOn = new Set(mails.map(({ messageId }) => messageId));
  for (const mail of mails) publishAgain(frame, agentId, mail, draftOf(mail));
  for (const id of herd.openRequestIds()) {
    const request = draft.get('request', id);
    if (request?.recipientId !== agentId || passedOn.has(id)) continue;
    const { askerId, taskId, question, deadlineAtMs, openedAtMs } = request;
    const mail = { messageId: id, senderId: askerId, createdAt: openedAtMs, hops: 0 };
    publishAgain(frame, agentId, mail, {
      kind: 'message',
      targetId: agentId,
      content: question,
      delivery: 'followUp',
      expectsReply: true,
      deadlineAt: deadlineAtMs,
      senderName: askerId === SHEPHERD_ID ? SHEPHERD_ID : nameOf(draft, askerId),
      ...(taskId === null ? {} : { taskId }),
    });
  }
}

function publishAgain(
  frame: Frame,
  agentId: string,
  mail: Pick<Envelope, 'messageId' | 'senderId' | 'createdAt' | 'hops'>,
  draft: EnvelopeDraft,
): void {
  frame.effect({
    type: 'publish',
    agentId,
    messageId: mail.messageId,
    senderId: mail.senderId,
    createdAtMs: mail.createdAt,
    hops: mail.hops,
    draft,
  });
}

function draftOf(envelope: Envelope): EnvelopeDraft {
  const { v, sessionId, brokerId, messageId, senderId, createdAt, seq, hops, mac, ...draft } =
    envelope;
  return draft;
}
