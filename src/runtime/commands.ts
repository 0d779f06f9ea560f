/**
 * What the Shepherd asks of its session: one function for each command, run within a step.
 *
 * A command that is refused throws before anything has changed.
 */
import type { AgentDefinition } from '../agents/definition.ts';
import { ConfigError, ShepherdError, TaskError } from '../errors.ts';
import type { Placement } from '../hosts/host.ts';
import { SHEPHERD_ID } from '../ids.ts';
import { routeUtterance, type Routed, type Utterance } from './conversation.ts';
import type { Frame } from './herd.ts';
import { refuseClosedSession } from './limits.ts';
import type { AgentRecord, TaskRecord } from './records.ts';
import { excerpt } from './router.ts';
import type { TaskResult, WatchResult } from './shepherd.ts';

const labelPattern = /^[\p{L}\p{N} _.-]{1,64}$/u;

/** What a model writes when it means the Shepherd, in any case, or an agent by its id. */
const reservedPattern = /^(shepherd|parent|shepherd-agent-.*)$/iu;

export interface SpawnCommand {
  readonly definition: AgentDefinition;
  readonly label: string;
  readonly model: string | null;
  readonly cwd: string;
  readonly placement: Placement | undefined;
}

/**
 * Reserves an agent and causes its launch.
 *
 * @throws ConfigError `invalid_label`, `duplicate_label`, `session_closed`.
 */
export function spawnAgent(frame: Frame, command: SpawnCommand): AgentRecord {
  const { herd, draft, nowMs } = frame;
  const { definition, label } = command;
  refuseClosedSession(frame);
  if (!labelPattern.test(label) || label.trim() === '') {
    throw new ConfigError(
      'invalid_label',
      `The label "${excerpt(label)}" is not 1 to 64 letters, digits, spaces, "_", "-" or ".".`,
      { data: { label } },
    );
  }
  if (reservedPattern.test(label) || label !== label.trim()) {
    throw new ConfigError(
      'invalid_label',
      `The label "${label}" cannot be addressed: "shepherd" and "parent" mean the Shepherd, what begins like an id means an id, and blanks at an end do not count.`,
      { data: { label } },
    );
  }
  const twin = herd
    .agents()
    .map((agent) => draft.get('agent', agent.id))
    .find((agent) => agent?.label === label && agent.definition.name === definition.name);
  if (twin !== undefined) {
    throw new ConfigError(
      'duplicate_label',
      `"${definition.name}: ${label}" is taken by ${twin.id}; give another label.`,
      { data: { label, agentId: twin.id } },
    );
  }
  const agent: AgentRecord = {
    ...command,
    id: herd.ids.agentId(),
    state: 'starting',
    launch: 1,
    secret: herd.ids.secret(),
    createdAtMs: nowMs,
    evidence: { turns: 0, toolCalls: 0, lastActivityAtMs: null },
    queue: [],
  };
  draft.put('agent', agent);
  frame.send(herd.session, {
    type: 'agent.spawn',
    agent: {
      agentId: agent.id,
      launch: agent.launch,
      spawnDeadlineAtMs: nowMs + herd.policy.spawnTimeoutMs,
      drainAfterMs: herd.policy.drainAfterMs,
      doneNudges: herd.policy.doneNudges,
      stallAfterMs: herd.policy.stallAfterMs,
      stallRecovery: herd.policy.stallRecovery,
      maxFreshDispatches: herd.policy.maxFreshDispatches,
      closeIdleAfterMs: herd.policy.closeIdleAfterMs,
    },
  });
  return agent;
}

/**
 * Sends as the Shepherd. A reply that came too late is returned, not thrown: it is kept as late.
 *
 * @throws as `Shepherd.message`.
 */
export function sayAsShepherd(
  frame: Frame,
  said: Pick<
    Utterance,
    'target' | 'content' | 'delivery' | 'taskId' | 'threadId' | 'replyTo' | 'expectsReply'
  >,
): (Routed & { readonly messageId: string }) | { readonly tooLate: ShepherdError } {
  const messageId = frame.herd.ids.messageId(frame.nowMs);
  try {
    const routed = routeUtterance(frame, {
      ...said,
      content: said.content.toWellFormed(),
      messageId,
      senderId: SHEPHERD_ID,
      createdAtMs: frame.nowMs,
      causeId: undefined,
    });
    return { ...routed, messageId };
  } catch (error) {
    if (ShepherdError.is(error) && error.code === 'request_settled') return { tooLate: error };
    throw error;
  }
}

/**
 * Begins a watch; tasks that have settled are returned and not told again.
 *
 * @throws ConfigError `invalid_argument` for none or repeated ids; TaskError `unknown_task`.
 */
export function watchTasks(frame: Frame, ids: readonly string[]): WatchResult {
  const { herd } = frame;
  if (ids.length === 0 || new Set(ids).size < ids.length) {
    throw new ConfigError('invalid_argument', 'Watch one or more task ids, each once.', {
      data: { ids },
    });
  }
  refuseClosedSession(frame);
  const tasks = ids.map((id) => knownTask(frame, id));
  const pending = tasks.filter((task) => task.result === undefined).map((task) => task.id);
  const watcherId = herd.ids.watchId();
  if (pending.length > 0) {
    frame.send(herd.session, {
      type: 'watcher.open',
      watcher: { watcherId, taskIds: pending, coalesceMs: herd.policy.coalesceMs },
    });
  }
  const completed = tasks.flatMap<TaskResult>((task) => task.result ?? []);
  return { watcherId, taskIds: ids, pending, completed };
}

function knownTask(frame: Frame, id: string): TaskRecord {
  const task = frame.draft.get('task', id);
  if (task !== undefined) return task;
  const agent = frame.draft.get('agent', id);
  throw new TaskError(
    'unknown_task',
    agent === undefined
      ? `There is no task ${excerpt(id)} in this session.`
      : `${excerpt(id)} is an agent, not a task${agent.taskId === undefined ? '' : `; its task is ${agent.taskId}`}.`,
    { data: { taskId: id } },
  );
}

/** Begins to end an agent, or tries it once more; nothing for one that has ended. */
export function closeAgent(frame: Frame, agentId: string): void {
  const actor = frame.herd.agent(agentId);
  if (actor !== undefined) frame.send(actor, { type: 'agent.close', atMs: frame.nowMs });
}
