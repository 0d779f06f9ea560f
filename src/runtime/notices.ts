/**
 * What the Shepherd's model reads: one text for each kind of notice.
 *
 * Every text opens with who it is from and the ids needed to act on it.
 */
import { SHEPHERD_ID } from '../ids.ts';
import type { Frame } from './herd.ts';
import type { AgentRecord, RequestRecord, TaskRecord } from './records.ts';
import { excerpt, nameOf } from './router.ts';
import type { Notice, PromptResult, TaskResult } from './shepherd.ts';

/** Records a notice and causes its delivery. */
function sendNotice(frame: Frame, notice: Omit<Notice, 'id' | 'atMs'>): void {
  const id = frame.herd.ids.noticeId(frame.nowMs);
  const details = { ...notice.details, id };
  frame.draft.put('notice', {
    id,
    notice: { ...notice, details, id, atMs: frame.nowMs },
    delivered: false,
  });
  frame.effect({ type: 'notify', noticeId: id });
}

/** A notice that wakes nobody: something to know, nothing to answer. */
export function sendPassiveNotice(
  frame: Frame,
  text: string,
  details: Readonly<Record<string, unknown>> = {},
): void {
  sendNotice(frame, {
    kind: 'shepherd.notice',
    text,
    wake: false,
    deliverAs: 'followUp',
    details,
  });
}

function outcomeText(result: TaskResult): string {
  const { error, summary, text } = result;
  // A child that failed itself has said why in its summary, which its error repeats.
  const told = new Set([
    error?.endsWith(`: ${summary}`) === true ? undefined : error,
    summary,
    text,
  ]);
  const lines = [...told].filter((line) => line !== undefined && line !== '');
  return lines.length === 0 ? '(no text)' : lines.join('\n');
}

/** One line and the result of each settled task, in the watcher's order. */
export function sendCompletion(
  frame: Frame,
  watcherId: string,
  tasks: readonly TaskRecord[],
): void {
  const results = tasks.flatMap((task) => task.result ?? []);
  const headline = results
    .map((result) => `${nameOf(frame.draft, result.agentId)} ${result.status}`)
    .join(', ');
  const bodies = results.map((result) => `${result.taskId}: ${outcomeText(result)}`);
  sendNotice(frame, {
    kind: 'shepherd.task.completion',
    text: [`Watched task settled: ${headline}`, ...bodies].join('\n\n'),
    wake: true,
    deliverAs: 'steer',
    details: {
      watcherId,
      results: results.map((result) => ({
        ...result,
        agent: nameOf(frame.draft, result.agentId),
      })),
    },
  });
}

/** That the turns of these prompts are over; it says of no task that it is done. */
export function sendPromptCompletion(
  frame: Frame,
  watcherId: string,
  results: readonly PromptResult[],
): void {
  const named = results.map((result) => ({
    ...result,
    agent: nameOf(frame.draft, result.agentId),
  }));
  sendNotice(frame, {
    kind: 'shepherd.prompt.completion',
    text: [
      `Prompted turn over: ${named.map(({ agent, status }) => `${agent} ${status}`).join(', ')}`,
      ...named.map(({ promptId, error, text }) => `${promptId}: ${error ?? text ?? '(no text)'}`),
    ].join('\n\n'),
    wake: true,
    deliverAs: 'steer',
    details: { watcherId, results: named },
  });
}

/** The end of a task that nobody watched: told once, and it wakes nobody. */
export function sendUnwatchedOutcome(frame: Frame, result: TaskResult): void {
  const name = nameOf(frame.draft, result.agentId);
  sendPassiveNotice(
    frame,
    `Task ${result.taskId} of ${name} ${result.status}. ${outcomeText(result)}`,
    { taskId: result.taskId, agentId: result.agentId, status: result.status },
  );
}

/** A message or reply for the Shepherd. Questions and replies wake; plain messages do not. */
export function sendIncoming(
  frame: Frame,
  message: {
    readonly messageId: string;
    readonly senderId: string;
    readonly content: string;
    readonly taskId?: string | undefined;
    readonly threadId?: string | undefined;
    readonly replyTo?: string | undefined;
    readonly expectsReply: boolean;
  },
): void {
  const { content, ...ids } = message;
  const isReply = message.replyTo !== undefined;
  const name = nameOf(frame.draft, message.senderId);
  const heading = [
    `${isReply ? 'Reply' : message.expectsReply ? 'Question' : 'Message'} from ${name} (${message.senderId})`,
    `Message id: ${message.messageId}`,
    ...(message.taskId === undefined ? [] : [`Task id: ${message.taskId}`]),
    ...(message.replyTo === undefined ? [] : [`In reply to: ${message.replyTo}`]),
    ...(message.expectsReply
      ? [`A reply is expected: call shepherd_message with replyTo "${message.messageId}".`]
      : []),
  ];
  sendNotice(frame, {
    kind: isReply ? 'shepherd.message.reply' : 'shepherd.message.incoming',
    text: `${heading.join('\n')}\n\n${content}`,
    wake: isReply || message.expectsReply,
    deliverAs: isReply || message.expectsReply ? 'steer' : 'followUp',
    details: { ...ids, sender: name },
  });
}

function whatToDo({ id, recipientId, deadlineAtMs }: RequestRecord, recipient: string): string {
  const wait = `or wait: at ${new Date(deadlineAtMs).toISOString()} the task settles as blocked.`;
  return recipientId === SHEPHERD_ID
    ? `Answer it (shepherd_message with replyTo "${id}"), withdraw it (shepherd_cancel with its id), ${wait}`
    : `Remind ${recipient} (shepherd_message), withdraw the question (shepherd_cancel with its id) so that ` +
        `its asker goes on without it or asks somebody else, cancel the task, ${wait}`;
}

/** The one reminder of a long wait; it settles nothing and wakes nobody. */
export function sendStaleWait(frame: Frame, task: TaskRecord, request: RequestRecord): void {
  const { draft, nowMs } = frame;
  const description = excerpt(task.description, 500);
  const waitingSince = request.openedAtMs;
  const elapsedMs = nowMs - waitingSince;
  const recipient = nameOf(draft, request.recipientId);
  const thresholdMinutes = (frame.herd.policy.staleAfterMs ?? 0) / 60_000;
  const minutes = Math.floor(elapsedMs / 60_000);
  const seconds = Math.floor(elapsedMs / 1000) % 60;
  const elapsed = `${String(minutes).padStart(2, '0')}:${String(seconds).padStart(2, '0')}`;
  sendNotice(frame, {
    kind: 'shepherd.stale.wait',
    text: [
      `Task ${task.id} of ${nameOf(draft, task.agentId)} has waited ${elapsed} for ${recipient}.`,
      `Task: ${description}`,
      `Question (${request.id}): ${request.question}`,
      whatToDo(request, recipient),
    ].join('\n'),
    wake: false,
    deliverAs: 'followUp',
    details: {
      taskId: task.id,
      agentId: task.agentId,
      agentName: nameOf(draft, task.agentId),
      description,
      waitingSince,
      elapsedMs,
      requestMessageId: request.id,
      question: request.question,
      recipientId: request.recipientId,
      recipientName: recipient,
      recipientState: draft.get('agent', request.recipientId)?.state ?? 'unknown',
      thresholdMinutes,
    },
  });
}

/**
 * A stalled child: one that was replaced is told of and wakes nobody; one that is left to the Shepherd
 * wakes it, as a question does.
 */
export function sendStall(
  frame: Frame,
  agent: AgentRecord,
  { code, why }: { readonly code: string; readonly why?: string },
): void {
  const { draft, nowMs } = frame;
  const { id, launch, cwd, look, stalledSinceMs } = agent;
  const task = draft.get('task', agent.taskId ?? '');
  const open = task?.result === undefined ? task : undefined;
  const name = nameOf(draft, id);
  const silentMs = stalledSinceMs === undefined ? undefined : nowMs - stalledSinceMs;
  const silent = `${((silentMs ?? 0) / 60_000).toFixed(1)} min`;
  const isRecovered = why === undefined;
  const output = look?.output.trim() ?? '';
  const branch = look?.branch ?? undefined;
  const lines = isRecovered
    ? [
        `${name} (${id}) had stalled and was replaced by a fresh child (launch ${launch}), which goes on with ${open?.id ?? 'nothing'}.`,
      ]
    : [
        `${name} (${id}) has stalled: it has shown nothing for ${silent}. ${why}`,
        ...(open === undefined ? [] : [`Task ${open.id}: ${excerpt(open.description, 500)}`]),
        `Process: ${look?.presence ?? 'unknown'}. Directory: ${cwd}${branch === undefined ? '' : `, branch ${branch}`}.`,
        ...(output === '' ? [] : ['Its last output:', excerpt(output, 2_000)]),
        'Look at it (shepherd_read), stop its turn with a message that steers, cancel the task (shepherd_cancel), or close it ' +
          '(shepherd_close) and give the task to another agent. Do not do its work yourself.',
      ];
  sendNotice(frame, {
    kind: 'shepherd.stall',
    text: lines.join('\n'),
    wake: !isRecovered,
    deliverAs: isRecovered ? 'followUp' : 'steer',
    details: {
      agentId: id,
      agentName: name,
      code,
      launch,
      taskId: open?.id ?? null,
      silentMs: silentMs ?? null,
      cwd,
      branch: look?.branch ?? null,
      presence: look?.presence ?? null,
      attempts: open?.attempts ?? [],
    },
  });
}
