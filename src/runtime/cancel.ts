/** Withdrawal by the Shepherd: of a task, held or running, or of one open question. */
import { TaskError } from '../errors.ts';
import { firstCharacters } from '../text.ts';
import { tellChild } from './child-notices.ts';
import type { Frame } from './herd.ts';
import type { RequestRecord, TaskRecord } from './records.ts';
import { excerpt, nameOf } from './router.ts';
import type { CancelResult } from './shepherd.ts';

/** As much of a reason as every envelope has room for. */
const maxReasonCharacters = 2_000;

/**
 * Withdraws what the id names; once more is harmless.
 *
 * @throws TaskError `unknown_task` for an id of neither; `task_settled`, `request_settled` when it has
 * ended otherwise.
 */
export function cancel(frame: Frame, id: string, reason: string | undefined): CancelResult {
  const why = firstCharacters(reason?.toWellFormed().trim() ?? '', maxReasonCharacters);
  const said = why === '' ? undefined : why;
  const task = frame.draft.get('task', id);
  if (task !== undefined) return cancelTask(frame, task, said);
  const request = frame.draft.get('request', id);
  if (request !== undefined) return cancelRequest(frame, request, said);
  const agent = frame.draft.get('agent', id);
  throw new TaskError(
    'unknown_task',
    agent === undefined
      ? `There is no task and no question ${excerpt(id)} in this session.`
      : `${excerpt(id)} is an agent; cancel its task${agent.taskId === undefined ? '' : ` ${agent.taskId}`}, or close it.`,
    { data: { id } },
  );
}

function cancelTask(frame: Frame, task: TaskRecord, reason: string | undefined): CancelResult {
  const { draft, herd, nowMs } = frame;
  if (task.result === undefined) {
    const error = `cancelled: ${reason ?? 'the Shepherd withdrew the task.'}`;
    draft.put('task', { ...task, error });
    const actor = herd.task(task.agentId, task.id);
    if (actor !== undefined) frame.send(actor, { type: 'task.cancel', atMs: nowMs });
  }
  const state = draft.get('task', task.id)?.state ?? task.state;
  if (state === 'cancelled') return { id: task.id, kind: 'task', state };
  throw new TaskError('task_settled', `${task.id} is ${state} already; nothing changed.`, {
    data: { taskId: task.id, status: state },
  });
}

function cancelRequest(
  frame: Frame,
  request: RequestRecord,
  reason: string | undefined,
): CancelResult {
  const { draft, herd, nowMs } = frame;
  const { id, askerId, recipientId } = request;
  const actor = request.state === 'open' ? herd.request(id) : undefined;
  if (actor !== undefined) {
    if (reason !== undefined) draft.put('request', { ...request, reason });
    frame.send(actor, { type: 'request.cancel', atMs: nowMs });
    // Who has not begun to answer need not; whose own task waited for that has to go on with it.
    const isOfTask = draft.get('task', request.taskId ?? '')?.agentId === recipientId;
    tellChild(frame, recipientId, {
      code: isOfTask ? 'cancelled' : 'request_withdrawn',
      requestId: id,
      content: `The question ${id} of ${nameOf(draft, askerId)} was withdrawn; it needs no answer any more.`,
    });
  }
  const state = draft.get('request', id)?.state ?? request.state;
  if (state === 'cancelled') return { id, kind: 'request', state };
  throw new TaskError('request_settled', `${id} is ${state} already; nothing changed.`, {
    data: { requestId: id, state },
  });
}
