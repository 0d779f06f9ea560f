/** What an agent's chart is made from, what it knows, and what it hears. */
import type { DoneActorEvent } from 'xstate';
import type { PromptInput, PromptSettledEvent } from '../prompt.ts';
import type { RequestInput, RequestSettledEvent } from '../request.ts';
import type { TaskInput, TaskSettledEvent, TaskWaitEvent } from '../task.ts';

export interface StallRules {
  /** How long a child may show nothing, in ms; `null` = it is not watched. */
  readonly stallAfterMs: number | null;
  /** What is done about a child that has stalled: the Shepherd is told, or it is replaced. */
  readonly stallRecovery: 'notify' | 'auto';
  /** Fresh children that a task may have. */
  readonly maxFreshDispatches: number;
}

export interface AgentInput extends StallRules {
  readonly agentId: string;
  /** Number of this launch, from 1; a fresh dispatch counts on. */
  readonly launch: number;
  /** Epoch ms by which the child must have said `hello`. */
  readonly spawnDeadlineAtMs: number;
  /** How long a child may take to let go of a task that settled from outside, in ms. */
  readonly drainAfterMs: number;
  /** How often a child is reminded that its task is still open; 0 = never, and nobody is told. */
  readonly doneNudges: number;
  /** How long it is kept at rest after its task, in ms; `null` = until somebody closes it. */
  readonly closeIdleAfterMs: number | null;
}

export interface AgentContext extends AgentInput {
  readonly taskId: string | null;
  /** The prompt that holds the slot in place of a task. */
  readonly promptId: string | null;
  /** Tasks held until the slot is free, oldest first. */
  readonly queue: readonly string[];
  /** Reminders left since the task began or was last answered. */
  readonly nudgesLeft: number;
  /** The settled task that its child has still to let go of. */
  readonly releasingId: string | null;
  /** Epoch ms at which a child that will not let go is ended; `null` when none is awaited. */
  readonly drainDeadlineAtMs: number | null;
  /** Epoch ms at which it is closed if it is at rest then; `null` for never. */
  readonly idleCloseAtMs: number | null;
  /** The last envelope that wakes the child and has not reached it yet. */
  readonly call: Call | null;
  /** Open questions of this agent that no task requires. */
  readonly requestIds: readonly string[];
  /** Epoch ms of the last sign of progress; of a provider's back-off, when it ends. */
  readonly progressAtMs: number | null;
  /** Epoch ms at which silence was taken for a stall. */
  readonly suspectedAtMs: number | null;
  /** Fresh children that the task it has may still have. */
  readonly dispatchesLeft: number;
}

/** An envelope that wakes its recipient. */
export interface Call {
  readonly messageId: string;
  readonly atMs: number;
}

/** A run of the child's Pi has ended; nothing about its task follows from that. */
export interface TurnSettledEvent {
  readonly type: 'turn.settled';
  readonly atMs: number;
  readonly outcome: 'completed' | 'aborted' | 'failed';
  /** The task that the child knew itself to have, or `null`. */
  readonly taskId: string | null;
  /** Somebody owes the child an answer, under whose task soever. */
  readonly isOwed: boolean;
}

/** What a look at a silent child has shown. */
export interface StallVerifiedEvent {
  readonly type: 'stall.verified';
  readonly atMs: number;
  readonly presence: 'present' | 'dead' | 'gone' | 'unknown';
  /** Epoch ms at which its transcript moved last; `null` when that cannot be told. */
  readonly movedAtMs: number | null;
}

/** The process of a stalled child has been ended, and is proven gone. */
export interface ChildBailedEvent {
  readonly type: 'child.bailed';
  readonly atMs: number;
  /** Epoch ms by which a fresh child must have said `hello`. */
  readonly spawnDeadlineAtMs: number;
}

export type AgentEndState = 'closed' | 'failed' | 'lost';

export type AgentEvent =
  | { readonly type: 'agent.hello'; readonly atMs: number }
  | { readonly type: 'launch.failed'; readonly atMs: number }
  | { readonly type: 'process.exited'; readonly atMs: number }
  | { readonly type: 'agent.close'; readonly atMs: number }
  | { readonly type: 'agent.bail'; readonly atMs: number }
  | { readonly type: 'turn.started'; readonly atMs: number }
  | TurnSettledEvent
  /** Other rules for stalls, from now on. */
  | ({ readonly type: 'stall.rules' } & StallRules)
  /** Signs of life that came since the last event; heartbeats are gathered, not sent one by one. */
  | { readonly type: 'child.active'; readonly atMs: number }
  /** The provider refuses until then: silence is no sign of anything before. */
  | { readonly type: 'provider.throttled'; readonly untilMs: number }
  /** The host slept, lagged, or its clock jumped: silence before this instant says nothing. */
  | { readonly type: 'host.away'; readonly atMs: number }
  | StallVerifiedEvent
  | ChildBailedEvent
  /** Its process could not be proven ended: a fresh child beside it would be a second one. */
  | { readonly type: 'bail.failed' }
  /** Raised by the chart itself: silence lasted too long, or has ended. */
  | { readonly type: 'stall.suspected' }
  | { readonly type: 'stall.cleared' }
  | { readonly type: 'human.awaited'; readonly atMs: number }
  | { readonly type: 'human.answered'; readonly atMs: number }
  | {
      readonly type: 'task.assign';
      readonly task: TaskInput;
      /** Whether a busy agent takes it to be done later; else only a free one takes it. */
      readonly queue: boolean;
      readonly atMs: number;
    }
  /** One turn on purpose, by the deprecated tool; only a free agent at rest takes it. */
  | { readonly type: 'prompt.open'; readonly prompt: PromptInput }
  | PromptSettledEvent
  /** The slot is free: the oldest held task begins now. */
  | { readonly type: 'queue.advance'; readonly atMs: number }
  | TaskSettledEvent
  | TaskWaitEvent
  /** The child was told that its task is over: from here it has time to let go of it. */
  | { readonly type: 'release.told'; readonly atMs: number }
  /** The child does not work on a closed task; its turn, if one runs, is spent on something else. */
  | { readonly type: 'task.released'; readonly taskId: string }
  /** Something that wakes the child was sent to it. */
  | ({ readonly type: 'child.called' } & Call)
  /** The child's session has this envelope, or nobody could bring it there. */
  | { readonly type: 'call.settled'; readonly messageId: string }
  | { readonly type: 'request.open'; readonly request: RequestInput }
  | RequestSettledEvent
  | { readonly type: 'actor.crashed'; readonly atMs: number }
  | { readonly type: 'session.resumed' }
  /** Raised by the chart itself. */
  | { readonly type: 'children.resume' }
  | DoneActorEvent;

/** What the session hears when an agent has ended. */
export interface AgentEndedEvent {
  readonly type: 'agent.ended';
  readonly agentId: string;
  readonly state: AgentEndState;
}
