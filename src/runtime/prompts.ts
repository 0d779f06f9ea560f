/**
 * Prompts, of the deprecated tool: one turn of a child at rest, and what it ended with.
 *
 * A prompt is no task: its end settles none, and no task id ever means one.
 */
import type { PromptContext } from '../../machines/index.ts';
import { ConfigError, MailboxError, TaskError } from '../errors.ts';
import { promptCode, type EnvelopeOf } from '../mailbox/envelope.ts';
import { firstCharacters } from '../text.ts';
import { callChild, publishToChild } from './child-notices.ts';
import type { Frame } from './herd.ts';
import { refuseClosedSession, refuseTooManyCharacters } from './limits.ts';
import { sendPassiveNotice } from './notices.ts';
import type { Effect, PromptRecord } from './records.ts';
import { excerpt, nameOf, resolveTarget } from './router.ts';
import type { PromptResult, PromptWatchResult } from './shepherd.ts';

/** Starts a turn of an agent that has nothing to do. Throws as `Shepherd.prompt`. */
export function promptAgent(
  frame: Frame,
  { target, message }: { readonly target: string; readonly message: string },
): { readonly promptId: string; readonly agentId: string } {
  const { herd, draft, nowMs } = frame;
  refuseClosedSession(frame);
  const agentId = resolveTarget(herd, draft, target);
  const actor = herd.agent(agentId);
  if (actor === undefined) {
    throw new MailboxError('invalid_target', 'The Shepherd cannot be prompted; name an agent.');
  }
  if (message.trim() === '') {
    throw new ConfigError('invalid_argument', 'The message is blank; say what the turn is for.');
  }
  refuseTooManyCharacters(message, herd.policy.maxContentCharacters);
  refuseBusy(frame, agentId);
  const promptId = herd.ids.promptId();
  const messageId = herd.ids.messageId(nowMs);
  draft.put('prompt', { id: promptId, agentId, messageId, createdAtMs: nowMs });
  frame.send(actor, { type: 'prompt.open', prompt: { promptId, agentId, sentAtMs: nowMs } });
  callChild(frame, agentId, messageId);
  publishToChild(
    frame,
    { kind: 'notice', targetId: agentId, code: promptCode, content: message.toWellFormed() },
    { messageId },
  );
  return { promptId, agentId };
}

function refuseBusy({ herd, draft }: Frame, agentId: string): void {
  const state = herd.agent(agentId)?.getSnapshot();
  const name = nameOf(draft, agentId);
  if (state === undefined) return;
  const { taskId, queue } = state.context;
  if (taskId !== null || queue.length > 0) {
    throw new TaskError(
      'active_task',
      `${name} has ${taskId ?? queue[0] ?? 'a task'}; write to it with shepherd_message.`,
      { retryable: true, data: { agentId, taskId } },
    );
  }
  if (state.matches({ slot: 'free', process: { ready: 'idle' } })) return;
  throw new TaskError('active_prompt', `${name} is in a turn, or not at rest yet.`, {
    retryable: true,
    data: { agentId },
  });
}

/** Begins a watch over prompts; those that have ended are returned and not told again. */
export function watchPrompts(frame: Frame, ids: readonly string[]): PromptWatchResult {
  const { herd, draft } = frame;
  if (ids.length === 0 || new Set(ids).size < ids.length) {
    throw new ConfigError('invalid_argument', 'Watch one or more prompt ids, each once.', {
      data: { ids },
    });
  }
  refuseClosedSession(frame);
  const prompts = ids.map((id): PromptRecord => {
    const prompt = draft.get('prompt', id);
    if (prompt !== undefined) return prompt;
    throw new TaskError('unknown_prompt', `There is no prompt ${excerpt(id)} in this session.`, {
      data: { promptId: id },
    });
  });
  const pending = prompts.flatMap(({ id, result }) => (result === undefined ? id : []));
  const watcherId = herd.ids.watchId();
  if (pending.length > 0) {
    const { coalesceMs } = herd.policy;
    // To the chart of a watch an id is an id.
    const watcher = { watcherId, taskIds: pending, coalesceMs };
    frame.send(herd.session, { type: 'watcher.open', watcher });
  }
  const completed = prompts.flatMap<PromptResult>(({ result }) => result ?? []);
  return { watcherId, promptIds: ids, pending, completed };
}

/** Keeps how a prompt ended, and has told who watches it; else the Shepherd, passively. */
export function settlePrompt(frame: Frame, prompt: PromptContext): void {
  const { herd, draft, nowMs } = frame;
  const { promptId, agentId, status, settledAtMs } = prompt;
  const record = draft.get('prompt', promptId);
  if (record === undefined || status === null || record.result !== undefined) return;
  const { text, error } = record;
  const result: PromptResult = {
    promptId,
    agentId,
    status,
    ...(text === undefined ? {} : { text }),
    ...(error === undefined ? {} : { error }),
    settledAtMs: settledAtMs ?? nowMs,
  };
  draft.put('prompt', { ...record, result });
  const watchers = herd
    .watchers()
    .filter((watcher) => watcher.getSnapshot().context.pending.includes(promptId));
  for (const watcher of watchers) {
    frame.send(watcher, { type: 'task.settled', taskId: promptId, atMs: nowMs });
  }
  if (watchers.length > 0) return;
  sendPassiveNotice(
    frame,
    `The prompted turn ${promptId} of ${nameOf(draft, agentId)} is over (${status}). ${error ?? text ?? ''}`,
    { promptId, agentId, status },
  );
}

/** What the child says in its turn, and why that failed, is its prompt's while it has one. */
export function notePromptText(
  { herd, draft }: Frame,
  agentId: string,
  { content, error }: Pick<EnvelopeOf<'runtime'>, 'content' | 'error'>,
): void {
  const promptId = herd.agent(agentId)?.getSnapshot().context.promptId ?? null;
  if (promptId === null || (content === undefined && error === undefined)) return;
  draft.change('prompt', promptId, {
    ...(content === undefined
      ? {}
      : { text: firstCharacters(content, herd.policy.maxContentCharacters) }),
    ...(error === undefined ? {} : { error: `provider_error: ${error}` }),
  });
}

/** Its words could not be brought to the child. */
export function failPrompt(
  frame: Frame,
  { agentId, messageId }: Extract<Effect, { type: 'publish' }>,
  error: string,
): void {
  const { herd, draft, nowMs } = frame;
  const promptId = herd.agent(agentId)?.getSnapshot().context.promptId ?? null;
  const prompt = promptId === null ? undefined : draft.get('prompt', promptId);
  if (promptId === null || prompt?.messageId !== messageId) return;
  draft.put('prompt', { ...prompt, error });
  const actor = herd.prompt(agentId, promptId);
  if (actor !== undefined) frame.send(actor, { type: 'publish.failed', atMs: nowMs });
}
