/**
 * The fieldnote of each delegated task: when it is written, what it says, how that went.
 *
 * FN1. One note a task, none for a message; a held task has none before its dispatch.
 * FN2. A note is an effect of its own lane: it holds up no envelope and no outcome, and no task fails
 *      for it. What fails for the time being is tried until it can be done.
 * FN3. Each effect writes what the records say when it is done: repeating it is harmless.
 * FN4. The name is kept before the task's envelope is published, if the disk lets it; else the child
 *      is not told of a note.
 */
import { describeError, isRetryable, ShepherdError } from '../errors.ts';
import type { NoteFiles } from '../notes/note-files.ts';
import { noteSlug, writeNote, type NoteFacts, type NoteStatus } from '../notes/note.ts';
import type { Frame } from './herd.ts';
import { sendPassiveNotice } from './notices.ts';
import type { EffectOutcome } from './effect-outcome.ts';
import type { AgentRecord, TaskRecord } from './records.ts';
import { nameOf, type Reader } from './router.ts';

/** Gives a task that is dispatched its note, where tasks are to have one (FN1). */
export function beginNote(frame: Frame, taskId: string): void {
  if (!frame.herd.policy.fieldnotes) return;
  frame.draft.put('note', { id: taskId, file: null });
  noteTask(frame, taskId);
}

/** Has a task's note brought up to date once this step is kept (FN3). */
export function noteTask(frame: Frame, taskId: string): void {
  if (frame.draft.get('note', taskId) !== undefined) frame.effect({ type: 'note', taskId });
}

/** Whether a task's new state is one that its note has not; it says `running` from the beginning. */
export function changesNote(task: TaskRecord, state: TaskRecord['state']): boolean {
  return state === 'waiting' || (state === 'running' && task.state === 'waiting');
}

/**
 * Reserves the note of a task, or brings it up to date.
 *
 * @param wanted `mayHave`: a process that ended may have reserved it.
 * @throws MailboxError `disk_error`.
 */
export function performNote(
  { reader, files }: { readonly reader: Reader; readonly files: NoteFiles },
  wanted: { readonly taskId: string; readonly mayHave: boolean },
): EffectOutcome {
  const note = reader.get('note', wanted.taskId);
  const task = reader.get('task', wanted.taskId);
  const agent = task && reader.get('agent', task.agentId);
  // Forgotten meanwhile.
  if (note === undefined || task === undefined || agent === undefined) return { ok: true };
  const facts = factsOf(reader, task, agent);
  if (note.file !== null) {
    files.update(note.file, (text) => writeNote(text, facts));
    return { ok: true, note: note.file };
  }
  const file = files.reserve({
    slug: noteSlug(agent.definition.name),
    taskId: task.id,
    text: writeNote(undefined, facts),
    mayHave: wanted.mayHave,
  });
  return { ok: true, note: file };
}

function factsOf(reader: Reader, task: TaskRecord, agent: AgentRecord): NoteFacts {
  const { result } = task;
  const facts = {
    taskId: task.id,
    agentId: agent.id,
    agent: nameOf(reader, agent.id),
    task: task.description,
    createdAtMs: task.createdAtMs,
    dispatchedAtMs: task.attempts[0]?.startedAtMs ?? task.createdAtMs,
  };
  if (result === undefined) return { ...facts, status: openStatus(task) };
  const { status, settledAtMs, summary, text, error, override, evidence } = result;
  return {
    ...facts,
    status,
    outcome: { settledAtMs, summary, output: text, error, override, evidence },
  };
}

const openStatus = ({ state }: TaskRecord): NoteStatus =>
  state === 'waiting' ? 'waiting' : 'running';

/** Keeps the name of a note that is there; of one that can never be written the Shepherd hears once. */
export function confirmNote(frame: Frame, taskId: string, outcome: EffectOutcome): void {
  const note = frame.draft.get('note', taskId);
  if (note === undefined) return;
  if (!outcome.ok) tellNoteTrouble(frame, taskId, outcome.error);
  else if (outcome.note !== undefined) frame.draft.put('note', { id: taskId, file: outcome.note });
}

/** Whether the Shepherd is still to hear of a note that cannot be written now. */
export function isNoteTroubleNew(reader: Reader, taskId: string): boolean {
  const note = reader.get('note', taskId);
  return note !== undefined && note.trouble === undefined;
}

/** Tells that notes cannot be written: once for each reason, however many tasks it concerns (FN2). */
export function tellNoteTrouble(frame: Frame, taskId: string, error: unknown): void {
  const { draft } = frame;
  const note = draft.get('note', taskId);
  const task = draft.get('task', taskId);
  if (note === undefined || task === undefined || note.trouble !== undefined) return;
  const trouble = reasonOf(error);
  const isKnown = draft.all('note').some((other) => other.trouble === trouble);
  draft.put('note', { ...note, trouble });
  if (isKnown) return;
  const hope = isRetryable(error) ? ' It is written as soon as that is possible.' : '';
  sendPassiveNotice(
    frame,
    `The fieldnote of ${taskId} (${nameOf(draft, task.agentId)}) could not be written: ` +
      `${describeError(error)}${hope} The task goes on.`,
    { taskId, agentId: task.agentId, code: 'note_failed' },
  );
}

/** What several notes may suffer from, or what is the matter with this one alone. */
function reasonOf(error: unknown): string {
  const errno = ShepherdError.is(error) ? error.data['errno'] : undefined;
  return isRetryable(error) && typeof errno === 'string' ? errno : describeError(error);
}
