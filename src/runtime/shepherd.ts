/**
 * The public shape of a running session: what the Pi extension, the CLI and embedding programs call.
 *
 * Durations end in `Ms`, instants (epoch ms) in `AtMs`. Ids are opaque.
 */
import type { AgentProblem } from '../agents/catalog.ts';
import type { DefinitionSource } from '../agents/definition.ts';
import type { Delivery, Evidence } from '../mailbox/envelope.ts';
import type { Placement } from '../hosts/host.ts';
import type { LiveOptions } from './live-options.ts';

export type TaskState =
  | 'created'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'blocked'
  | 'failed'
  | 'cancelled'
  | 'timed_out';
export type TerminalState = Exclude<TaskState, 'created' | 'running' | 'waiting'>;
export type AgentState =
  | 'starting'
  | 'idle'
  | 'working'
  | 'blocked'
  | 'closing'
  | 'closed'
  | 'failed'
  | 'lost'
  | 'unknown';

export interface SpawnOptions {
  /** Name of an agent definition, exact. */
  readonly agent: string;
  /** 1 to 64 letters, digits, spaces, `_`, `-`, `.`; unique as `agent: label` among live agents. */
  readonly label: string;
  readonly placement?: Placement | undefined;
  readonly cwd?: string | undefined;
}
export interface SpawnResult {
  readonly id: string;
  readonly agent: string;
  readonly label: string;
  readonly model: string | null;
  /** Broken definition files of that name, which another one stood in for. */
  readonly warnings?: readonly string[];
}

export interface DelegateOptions {
  /** Agent id or a name that means one live agent. */
  readonly target: string;
  readonly task: string;
  /** Task deadline, from dispatch. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Whether a busy agent does it later, in order; else it refuses. Default false. */
  readonly queue?: boolean | undefined;
  /** The same key gives the same task, however often it is asked for; at most 200 characters. */
  readonly idempotencyKey?: string | undefined;
}
export interface DelegateResult {
  readonly taskId: string;
  readonly agentId: string;
  readonly state: TaskState;
  /** Place in the agent's queue, from 1, while the task is held. */
  readonly position?: number;
}

export interface MessageOptions {
  readonly target: string;
  readonly message: string;
  readonly taskId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly expectsReply?: boolean | undefined;
  readonly delivery?: Delivery | undefined;
}
export interface MessageResult {
  readonly messageId: string;
  readonly accepted: true;
  readonly delivery: 'queued' | 'duplicate';
  readonly targetId: string;
  /** The request that this message opened, with `expectsReply`. */
  readonly requestId?: string;
  /** Epoch ms at which that request expires. */
  readonly deadlineAtMs?: number;
  /** That is the task's deadline, which comes first. */
  readonly isClipped?: true;
  readonly targetTaskState?: TaskState;
}

export interface CancelResult {
  readonly id: string;
  readonly kind: 'task' | 'request';
  readonly state: 'cancelled';
}

/** A definition that `spawn` takes by its name. */
export interface DefinitionView {
  readonly name: string;
  /** What it is for. */
  readonly description: string;
  readonly source: DefinitionSource;
  readonly path: string;
  /** Pi tools that it may use; absent for Pi's own default set. */
  readonly tools?: readonly string[];
  /** Absent: it takes the Shepherd's. */
  readonly model?: string;
  /** Only when its file says so: a model may spawn it, a user by hand may not. */
  readonly userInvocable?: false;
}

export interface DefinitionsView {
  /** One a name, in order of precedence: the user's, the project's, the bundled ones. */
  readonly agents: readonly DefinitionView[];
  /** Files that were skipped, or do not mean what their author meant, and why. */
  readonly problems: readonly AgentProblem[];
}

export interface PruneResult {
  /** Ended agents and finished tasks that were forgotten. */
  readonly pruned: number;
  /** Agents and tasks that are left: live, or with something still to be told. */
  readonly remaining: number;
  /** Of the pruned ones. */
  readonly agents: number;
  readonly tasks: number;
}

/** How far a message has come: an entry of its recipient's session, read by its model, answered. */
export type Receipt = 'queued' | 'delivered' | 'seen' | 'answered' | 'dead';

export interface MessageStatus {
  readonly messageId: string;
  readonly kind: 'message' | 'reply' | 'task';
  readonly fromId: string;
  readonly toId: string;
  readonly fromName: string;
  readonly toName: string;
  readonly taskId?: string;
  readonly atMs: number;
  readonly receipt: Receipt;
  /** Why it is dead. */
  readonly error?: string;
}

export interface WatchResult {
  readonly watcherId: string;
  readonly taskIds: readonly string[];
  readonly pending: readonly string[];
  /** Tasks that had settled before: told here, and not once more by a notice. */
  readonly completed: readonly TaskResult[];
}

/** How a prompt ended. It says that a turn is over, and nothing about work being done. */
export interface PromptResult {
  readonly promptId: string;
  readonly agentId: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** What the child said last in that turn. */
  readonly text?: string;
  readonly error?: string;
  readonly settledAtMs: number;
}

export interface PromptWatchResult {
  readonly watcherId: string;
  readonly promptIds: readonly string[];
  readonly pending: readonly string[];
  readonly completed: readonly PromptResult[];
}

export interface TaskResult {
  readonly taskId: string;
  readonly agentId: string;
  readonly status: TerminalState;
  readonly ok: boolean;
  /** completed 0, failed 1, blocked 2, timed_out 124, cancelled 130. */
  readonly returnCode: 0 | 1 | 2 | 124 | 130;
  readonly summary?: string;
  /** The child's last assistant text since the task began, else its summary. */
  readonly text?: string;
  /** `code: message` of what ended the task, when it was not the owner's own word. */
  readonly error?: string;
  /** Why the task is completed although a required reply was outstanding. */
  readonly override?: string;
  readonly lateEvents: readonly LateEvent[];
  readonly evidence: Evidence;
  readonly attempts: readonly { readonly launch: number; readonly startedAtMs: number }[];
  readonly settledAtMs: number;
}

/** Something that arrived for a task after it had settled; it changed nothing. */
export interface LateEvent {
  readonly kind: 'task_done' | 'reply';
  readonly atMs: number;
  readonly fromId: string;
  readonly text: string;
}

export interface RequestView {
  readonly requestId: string;
  readonly askerId: string;
  readonly recipientId: string;
  readonly recipientName: string;
  readonly question: string;
  readonly openedAtMs: number;
  readonly deadlineAtMs: number;
  readonly state: 'open' | 'answered' | 'expired' | 'recipient_gone' | 'cancelled';
}

export interface TaskStatus {
  readonly id: string;
  readonly agentId: string;
  readonly state: TaskState;
  readonly description: string;
  /** Its fieldnote, a path within the session's directory: `notes/scout-01.md`. */
  readonly note?: string;
  /** Every state the task was in, in order, with the epoch ms of its beginning. */
  readonly states: readonly { readonly state: TaskState; readonly atMs: number }[];
  /** Place in the agent's queue, from 1, while the task is held. */
  readonly queuePosition?: number;
  readonly waitingMs?: number;
  /** The oldest open request, and the name of who is to answer it. */
  readonly pendingRequest?: string;
  readonly waitingOn?: string;
  readonly stale?: boolean;
  readonly requests: readonly RequestView[];
  readonly result?: TaskResult;
}

export interface AgentStatus {
  readonly id: string;
  readonly agent: string;
  readonly label: string;
  readonly state: AgentState;
  readonly model: string | null;
  readonly createdAtMs: number;
  readonly task?: TaskStatus;
  /** Ids of the tasks that wait for this agent, in order. */
  readonly queue?: readonly string[];
  /** It has stalled: something is expected of it, and it has shown nothing for so long, in ms. */
  readonly stalledMs?: number;
  /** Where it runs: `process`, `tmux`, or what a program brings; absent until it was opened. */
  readonly host?: string;
  /** Number of its launch, once a fresh child has taken over: from 2. */
  readonly launch?: number;
  readonly error?: string;
}

/** Something the parent's model or user is told; `id` makes a repeated delivery harmless. */
export interface Notice {
  readonly id: string;
  readonly kind:
    | 'shepherd.task.completion'
    | 'shepherd.prompt.completion'
    | 'shepherd.message.incoming'
    | 'shepherd.message.reply'
    | 'shepherd.stale.wait'
    | 'shepherd.stall'
    | 'shepherd.notice';
  /** What the model reads. */
  readonly text: string;
  /** Whether it may start a turn; a passive notice waits for the next one. */
  readonly wake: boolean;
  readonly deliverAs: Delivery;
  readonly details: Readonly<Record<string, unknown>>;
  readonly atMs: number;
}

/** One committed change, in order; what the story of a session is told from. */
export type Change =
  | { readonly type: 'agent'; readonly atMs: number; readonly agent: AgentStatus }
  | { readonly type: 'task'; readonly atMs: number; readonly task: TaskStatus }
  | { readonly type: 'request'; readonly atMs: number; readonly request: RequestView }
  | { readonly type: 'notice'; readonly atMs: number; readonly notice: Notice };

/**
 * A session: agents, their tasks, and the messages between all of them.
 *
 * Every call may throw a `ShepherdError`; a refused call has changed nothing. An argument of the wrong
 * type is refused with `invalid_argument`, which names it.
 */
export interface Shepherd {
  readonly sessionId: string;
  /** Everything this session writes lies below it. */
  readonly sessionDir: string;
  /**
   * Starts a child agent and resolves once its own `hello` arrived.
   *
   * @throws ConfigError `unknown_agent`, `invalid_label`, `duplicate_label`; HostError
   * `launch_failed`, `spawn_deadline` with what the child printed.
   */
  spawn(options: SpawnOptions, signal?: AbortSignal): Promise<SpawnResult>;
  /**
   * Hands a task to an agent and resolves once the task lies durably in its inbox, or in its queue.
   *
   * @throws TaskError `active_task`, `invalid_task`, `invalid_timeout`; MailboxError
   * `invalid_target`, `ambiguous_target`, `message_too_large`, `queue_full`, `duplicate_conflict` for
   * another task under the same key; HostError `agent_closed`.
   */
  delegate(options: DelegateOptions): Promise<DelegateResult>;
  /**
   * Sends a message as the Shepherd; with `replyTo` it answers, with `expectsReply` it asks.
   *
   * @throws MailboxError as for `delegate`, and `rate_limited`; TaskError `unknown_request`, `unknown_task`,
   * `task_agent_mismatch`, `wait_cycle`.
   */
  message(options: MessageOptions): Promise<MessageResult>;
  /**
   * Has one notice sent for each task when it settles; returns at once.
   *
   * @throws TaskError `unknown_task`; ConfigError `invalid_argument` for none or a repeated id.
   */
  watch(ids: string | readonly string[]): WatchResult;
  /**
   * Withdraws a task or a single question; its child, or its asker, is told. Once more is harmless.
   *
   * @throws TaskError `unknown_task`; `task_settled`, `request_settled` when it has ended otherwise.
   */
  cancel(id: string, reason?: string): CancelResult;
  /**
   * How far the latest messages have come, newest first: of an agent (id or name), of a task, a single
   * one by its id, or of all.
   *
   * @throws MailboxError `invalid_target`.
   */
  messages(of?: string, options?: { readonly limit?: number }): readonly MessageStatus[];
  /** Notes that the parent's model has read these notices. Unknown ids are nothing. */
  seen(noticeIds: readonly string[]): void;
  /** Status of an agent (id or name). @throws MailboxError `invalid_target`. */
  status(target: string): AgentStatus;
  /** Status of a task, settled ones too. @throws TaskError `unknown_task`. */
  task(taskId: string): TaskStatus;
  /** All agents of the session, ended ones too, in order of their creation. */
  agents(): readonly AgentStatus[];
  tasks(): readonly TaskStatus[];
  /** The agent definitions that count now, and what could not be used of them. */
  definitions(): DefinitionsView;
  /**
   * Forgets every ended agent and finished task of which nothing is left to be told. What lives stays,
   * and the last task of an agent that lives; notes stay on the disk.
   */
  prune(): PruneResult;
  /**
   * Starts one turn of an agent that is at rest; its end is the prompt's, and completes nothing. For work
   * that somebody has to finish use `delegate`.
   *
   * @deprecated
   * @throws TaskError `active_task`, `active_prompt`; as `message` for the target and the text.
   */
  prompt(options: { readonly target: string; readonly message: string }): {
    readonly promptId: string;
    readonly agentId: string;
  };
  /** As `watch`, for prompts. @throws TaskError `unknown_prompt`; ConfigError `invalid_argument`. */
  watchPrompts(promptIds: string | readonly string[]): PromptWatchResult;
  /** Changes what counts from now on. @throws ConfigError `session_closed`. */
  configure(changes: LiveOptions): void;
  /** Resolves when the task has settled; at once if it has. @throws TaskError `unknown_task`. */
  settled(taskId: string, signal?: AbortSignal): Promise<TaskResult>;
  /**
   * Ends an agent: its task is cancelled, its process group ended and verified.
   *
   * @throws HostError `close_unconfirmed` when a process may be left.
   */
  close(target: string): Promise<{ readonly id: string }>;
  /** Stops the running turn of an agent and keeps the agent. */
  interrupt(target: string): Promise<void>;
  /**
   * The last lines that the child printed or showed, 40 by default; of an ended one while it is known.
   *
   * @throws MailboxError `invalid_target`; HostError `agent_closed` for the name of an ended agent,
   * `not_found` when it never had a process, or its output is gone.
   */
  read(target: string, options?: { readonly lines?: number }): Promise<string>;
  /** Calls `listener` after each commit; returns the stop. A throwing listener is cut off. */
  on(listener: (change: Change) => void): () => void;
  /** Changes from now on, until the session is disposed. */
  changes(): AsyncIterable<Change>;
  /**
   * Lets go of the session and keeps its children: whoever opens it with the same key goes on with
   * it. Idempotent; nothing after `dispose`.
   *
   * @param options `stayOpen`: the children live on although this process ends, beyond the grace that
   * children of a dead owner have.
   */
  release(options?: { readonly stayOpen?: boolean }): Promise<void>;
  /** Closes every agent and ends the session. Idempotent. */
  dispose(): Promise<void>;
}
