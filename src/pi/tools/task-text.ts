/** How the Shepherd's tools show a task and an agent, for the model and for programs. */
import { excerpt } from '../../runtime/router.ts';
import type { AgentStatus, TaskStatus } from '../../runtime/shepherd.ts';

/** As much of a task as is repeated, in characters; a whole one may have a megabyte. */
const descriptionCharacters = 500;

/** What `details` say of a task that has not settled. */
export type TaskDetails = Pick<
  TaskStatus,
  | 'id'
  | 'state'
  | 'description'
  | 'queuePosition'
  | 'waitingMs'
  | 'pendingRequest'
  | 'waitingOn'
  | 'stale'
>;

export function taskDetails(task: TaskStatus): TaskDetails {
  const { id, state, queuePosition, waitingMs, pendingRequest, waitingOn, stale } = task;
  return {
    id,
    state,
    description: shortDescription(task),
    ...(queuePosition === undefined ? {} : { queuePosition }),
    ...(waitingMs === undefined ? {} : { waitingMs }),
    ...(pendingRequest === undefined ? {} : { pendingRequest }),
    ...(waitingOn === undefined ? {} : { waitingOn }),
    ...(stale === undefined ? {} : { stale }),
  };
}

/** The ellipsis counts too. */
export const shortDescription = ({ description }: TaskStatus): string =>
  excerpt(description, descriptionCharacters - 1);

/** `task shepherd-task-… is waiting on planner: main for 2 min (stale)`, without a full stop. */
export function taskText({
  id,
  state,
  queuePosition,
  waitingMs,
  waitingOn,
  stale,
}: TaskStatus): string {
  if (queuePosition !== undefined)
    return `task ${id} is held, number ${queuePosition} in the queue`;
  if (state !== 'waiting') return `task ${id} is ${state}`;
  const minutes = Math.floor((waitingMs ?? 0) / 60_000);
  const on = waitingOn === undefined ? '' : ` on ${waitingOn}`;
  return `task ${id} is waiting${on} for ${minutes} min${stale === true ? ' (stale)' : ''}`;
}

/** Both states of an agent side by side: its process's, and its task's. */
export function agentText(status: AgentStatus): string {
  const { id, agent, label, state, task, error, stalledMs, launch } = status;
  const parts = [`${agent}: ${label} (${id}) is ${state}`];
  if (launch !== undefined) parts.push(`launch ${launch}: a fresh child took over`);
  if (stalledMs !== undefined) {
    parts.push(`stalled: it has shown nothing for ${Math.floor(stalledMs / 60_000)} min`);
  }
  if (task !== undefined) parts.push(taskText(task));
  if (error !== undefined) parts.push(error);
  return `${parts.join('; ')}.`;
}
