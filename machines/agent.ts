/**
 * One child agent: the process it runs in, the one task it has, and whether it is alive.
 *
 * Owns: the agent's process state, its task slot, its liveness, and the questions it asked outside of
 * a task. Never: how a task ends (`task.ts` decides, this one only says what happened to the
 * process), where the process runs (a host), what was said.
 *
 * A1. `ready` only after the child's own `hello`; without it the spawn deadline fails the agent.
 * A2. A turn that starts or ends moves the process region only; it never reaches the task.
 * A3. At most one task; the slot frees when that task has settled and its child has let go of it, by
 *     its own word or with its turn; one that does not is bailed, and the Shepherd told.
 *     Tasks queued behind it are held as they were created, and begin in order, never within the turn
 *     that ended the one before.
 * A4. An agent that is lost fails its task; one that is closed cancels it.
 * A5. An ended agent (closed, failed, lost) takes no further event.
 * A6. A turn that ends with the task open and nothing outstanding is reminded of `shepherd_done`, as
 *     often as `doneNudges` says; then it is reported, once. An aborted or failed turn never is, nor
 *     one behind which something is on its way that wakes the child.
 * A7. A child of which a turn is expected, or that is in one, and that shows nothing for the whole of
 *     `stallAfterMs` has stalled. One that has asked and waits, or for whom a person is awaited, has not.
 * A8. A stalled child is looked at before anything is done. It is replaced only where that is allowed,
 *     its process is proven ended, and its task may have one more; else the Shepherd is told, once.
 * A9. An agent that is not to be kept is closed when its last task has settled and it has been at rest
 *     for the whole of `closeIdleAfterMs`; one that never had a task is kept.
 */
import {
  and,
  assign,
  enqueueActions,
  not,
  or,
  raise,
  sendParent,
  setup,
  spawnChild,
  stateIn,
  stopChild,
  type ActorRefFrom,
  type DoneActorEvent,
} from 'xstate';
import { promptMachine, type PromptInput, type PromptSettledEvent } from './prompt.ts';
import { requestMachine, type RequestInput, type RequestSettledEvent } from './request.ts';
import { taskMachine, type TaskInput, type TaskSettledEvent, type TaskWaitEvent } from './task.ts';

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

/** The actions of an agent that ends by itself: its task fails, its questions are withdrawn (A4). */
function end(state: 'failed' | 'lost') {
  return [
    { type: 'tellTask', params: { type: 'agent.lost' } },
    'cancelRequests',
    { type: 'recordAgentState', params: { state } },
    { type: 'tellSession', params: { state } },
  ] as const;
}

/** The actions of a task that waits for the slot. */
const hold = ['openTask', 'queueTask', 'recordQueue'] as const;

/** What a turn that left its task open leads to (A6). */
const forgotten = [
  {
    guard: and(['isForgotten', 'mayRemind']),
    actions: ['remindChild', 'countReminder'],
  },
  {
    guard: 'isForgotten',
    target: '#agent.slot.occupied.reported',
    actions: 'reportForgotten',
  },
] as const;

/** A child tells of its activity at most this often: silence of that length says nothing. */
const activityEveryMs = 5_000;

/** What shows that a child goes on, or must be given its time anew (A7). */
const signs = [
  'turn.started',
  'child.active',
  'agent.hello',
  'human.answered',
  'task.resumed',
  'request.settled',
  'host.away',
  'child.called',
] as const;

/** The transitions that each sign of life leads to. */
function onSigns<T>(transition: T): Record<(typeof signs)[number], T> {
  return Object.fromEntries(signs.map((sign) => [sign, transition])) as Record<
    (typeof signs)[number],
    T
  >;
}

/** The actions when silence has lasted too long. */
const silent = ['noteSuspicion', 'recordStalled', 'suspect'] as const;

/** The actions when a stalled child shows something again. */
const goesOn = ['noteProgress', 'recordCleared', 'clear'] as const;

/** What begins the expectation of a turn: a task that the slot takes, or something that wakes. */
const expectTurn = {
  'task.assign': {
    guard: and(['isAlive', 'isFree', not('hasQueued')]),
    target: '#agent.liveness.active.called',
    actions: 'noteProgress',
  },
  'queue.advance': {
    guard: and(['isAlive', 'isFree', 'hasQueued']),
    target: '#agent.liveness.active.called',
    actions: 'noteProgress',
  },
} as const;

/** The actions of an agent whose process is ended on purpose. */
const close = [
  'cancelRequests',
  'endProcess',
  { type: 'recordAgentState', params: { state: 'closing' } },
] as const;

export const agentMachine = setup({
  types: {
    context: {} as AgentContext,
    events: {} as AgentEvent,
    input: {} as AgentInput,
  },
  actors: { task: taskMachine, request: requestMachine, prompt: promptMachine },
  guards: {
    isFree: stateIn('#agent.slot.free'),
    hasTask: stateIn('#agent.slot.occupied'),
    isWaiting: stateIn('#agent.slot.occupied.waiting'),
    isBailing: stateIn('#agent.recovery.bailing'),
    /** Nobody is ending its process. */
    isLetBe: not(stateIn('#agent.recovery.bailing')),
    /** Not ended, and not being ended. */
    isAlive: or([stateIn('#agent.process.starting'), stateIn('#agent.process.ready')]),
    /** A turn runs, also one that waits for a person. */
    isInTurn: or([
      stateIn('#agent.process.ready.working'),
      stateIn('#agent.process.ready.blocked'),
    ]),
    /** The child did not settle the task itself: it does not know yet. */
    settledFromOutside: ({ event }) => event.type === 'task.settled' && event.cause !== 'owner',
    isOwnTask: ({ context, event }) =>
      event.type === 'task.settled' && event.taskId === context.taskId,
    isQueued: ({ context, event }) =>
      event.type === 'task.settled' && context.queue.includes(event.taskId),
    mayQueue: ({ event }) => event.type === 'task.assign' && event.queue,
    hasQueued: ({ context }) => context.queue.length > 0,
    /** Its turn knew of the task and ended by itself; nobody owes it an answer, nothing is under way. */
    isForgotten: ({ context, event }) =>
      event.type === 'turn.settled' &&
      event.outcome === 'completed' &&
      !event.isOwed &&
      event.taskId === context.taskId &&
      context.requestIds.length === 0 &&
      context.doneNudges > 0,
    mayRemind: ({ context }) => context.nudgesLeft > 0,
    isCalled: ({ context }) => context.call !== null,
    isCall: ({ context, event }) =>
      event.type === 'call.settled' && event.messageId === context.call?.messageId,
    /** What was sent before a turn began is in it, also for a child that confirms nothing. */
    isAfterCall: ({ context, event }) =>
      event.type === 'turn.started' && event.atMs > (context.call?.atMs ?? Infinity),
    isToBeClosed: ({ context }) => context.idleCloseAtMs !== null,
    /** Nothing runs, nothing is held, nothing is asked. */
    isAtRest: and([
      stateIn('#agent.process.ready.idle'),
      ({ context }) => context.queue.length === 0 && context.requestIds.length === 0,
    ]),
    isReleasing: ({ context, event }) =>
      event.type === 'task.released' && event.taskId === context.releasingId,
    /** It asked somebody and waits, or a person is awaited; that somebody asked it is no excuse. */
    isExempt: or([
      'isWaiting',
      stateIn('#agent.process.ready.blocked'),
      ({ context }) => context.requestIds.length > 0,
    ]),
    /** Its transcript has moved although it said nothing. */
    hasMoved: ({ context, event }) =>
      event.type === 'stall.verified' &&
      (event.movedAtMs ?? -Infinity) > (context.progressAtMs ?? 0) + activityEveryMs,
    /** The host will tell, or has told, of its end. */
    isGone: ({ event }) =>
      event.type === 'stall.verified' && (event.presence === 'gone' || event.presence === 'dead'),
    /** It is seen to be there, and may be replaced. */
    mayReplace: ({ context, event }) =>
      event.type === 'stall.verified' &&
      event.presence === 'present' &&
      context.stallRecovery === 'auto' &&
      context.dispatchesLeft > 0,
  },
  actions: {
    takeTask: assign(({ context, event }) =>
      event.type === 'task.assign'
        ? {
            taskId: event.task.taskId,
            nudgesLeft: context.doneNudges,
            dispatchesLeft: context.maxFreshDispatches,
            call: null,
            idleCloseAtMs: null,
          }
        : {},
    ),
    takeQueued: assign(({ context: { queue, doneNudges, maxFreshDispatches } }) => ({
      taskId: queue[0] ?? null,
      queue: queue.slice(1),
      nudgesLeft: doneNudges,
      dispatchesLeft: maxFreshDispatches,
      call: null,
      idleCloseAtMs: null,
    })),
    queueTask: assign(({ context, event }) =>
      event.type === 'task.assign' ? { queue: [...context.queue, event.task.taskId] } : {},
    ),
    unqueueTask: assign(({ context, event }) =>
      event.type === 'task.settled'
        ? { queue: context.queue.filter((id) => id !== event.taskId) }
        : {},
    ),
    dropTask: assign({ taskId: null }),
    /** Kept no longer than that from here on, unless it has something to do by then. */
    countRest: assign(({ context: { closeIdleAfterMs, idleCloseAtMs }, event }) => {
      const sinceMs = 'atMs' in event ? event.atMs : (idleCloseAtMs ?? 0);
      return { idleCloseAtMs: closeIdleAfterMs === null ? null : sinceMs + closeIdleAfterMs };
    }),
    letGo: assign({ taskId: null, releasingId: ({ context }) => context.taskId }),
    released: assign({ releasingId: null, drainDeadlineAtMs: null }),
    keepCall: assign(({ event }) =>
      event.type === 'child.called'
        ? { call: { messageId: event.messageId, atMs: event.atMs } }
        : {},
    ),
    dropCall: assign({ call: null }),
    countReminder: assign({ nudgesLeft: ({ context }) => context.nudgesLeft - 1 }),
    restoreReminders: assign({ nudgesLeft: ({ context }) => context.doneNudges }),
    awaitRelease: assign(({ context, event }) =>
      event.type === 'release.told' ? { drainDeadlineAtMs: event.atMs + context.drainAfterMs } : {},
    ),
    keepRequest: assign(({ context, event }) =>
      event.type === 'request.open'
        ? { requestIds: [...context.requestIds, event.request.requestId] }
        : {},
    ),
    dropRequest: assign(({ context, event }) =>
      event.type === 'request.settled'
        ? { requestIds: context.requestIds.filter((id) => id !== event.requestId) }
        : {},
    ),
    /** Never backwards: a back-off that ends later counts, too. */
    noteProgress: assign(({ context: { progressAtMs }, event }) =>
      'atMs' in event ? { progressAtMs: Math.max(progressAtMs ?? 0, event.atMs) } : {},
    ),
    takeStallRules: assign(({ event }) => {
      if (event.type !== 'stall.rules') return {};
      const { stallAfterMs, stallRecovery, maxFreshDispatches } = event;
      return { stallAfterMs, stallRecovery, maxFreshDispatches };
    }),
    noteMove: assign(({ event }) =>
      event.type === 'stall.verified' ? { progressAtMs: event.movedAtMs } : {},
    ),
    awaitProvider: assign(({ context: { progressAtMs }, event }) =>
      event.type === 'provider.throttled'
        ? { progressAtMs: Math.max(progressAtMs ?? 0, event.untilMs) }
        : {},
    ),
    noteSuspicion: assign({
      suspectedAtMs: ({ context }) => (context.progressAtMs ?? 0) + (context.stallAfterMs ?? 0) + 1,
    }),
    /** A fresh child has all the time and every reminder that the first one had. */
    beginLaunch: assign(({ context, event }) =>
      event.type === 'child.bailed'
        ? {
            launch: context.launch + 1,
            spawnDeadlineAtMs: event.spawnDeadlineAtMs,
            nudgesLeft: context.doneNudges,
            dispatchesLeft: context.dispatchesLeft - 1,
            progressAtMs: event.atMs,
            suspectedAtMs: null,
            call: null,
          }
        : {},
    ),
    takePrompt: assign(({ event }) =>
      event.type === 'prompt.open' ? { promptId: event.prompt.promptId } : {},
    ),
    dropPrompt: assign({ promptId: null }),
    reapChild: stopChild(({ event }) => ('actorId' in event ? event.actorId : '')),
    tellSession: sendParent(
      ({ context }, params: { readonly state: AgentEndState }): AgentEndedEvent => ({
        type: 'agent.ended',
        agentId: context.agentId,
        state: params.state,
      }),
    ),
    /** Runtime: the agent's public record enters this state. */
    recordAgentState: (_, _params: { readonly state: string }) => {},
    /** Runtime: ends the child's process group, verified. */
    endProcess: () => {},
    /** Runtime: stops the child's running turn and tells it that the task is over. */
    releaseTask: () => {},
    /** Runtime: the public record shows which tasks are held, in order. */
    recordQueue: () => {},
    /** Runtime: answers with `queue.advance` when a task is held. */
    offerSlot: () => {},
    /** Runtime: tells the child that its task is still open. */
    remindChild: () => {},
    /** Runtime: tells the Shepherd that the child leaves its task open. */
    reportForgotten: () => {},
    /** Runtime: tells the Shepherd that the child is ended since it did not let go of a task. */
    reportBailed: () => {},
    /** Runtime: the public record shows that the child shows nothing, and since when. */
    recordStalled: () => {},
    /** Runtime: the child goes on. */
    recordCleared: () => {},
    /** Runtime: looks at process and transcript, answers with `stall.verified`. */
    verifyStall: () => {},
    /** Runtime: aborts the turn, ends the process group, answers with `child.bailed` or `bail.failed`. */
    bailChild: () => {},
    /** Runtime: a new incarnation takes over boxes, mail and task; the old one is fenced. */
    launchFresh: () => {},
    /** Runtime: the fresh child is there. */
    recordRecovered: () => {},
    /** Runtime: tells the Shepherd that the child has stalled, and everything that is known. */
    surfaceStall: () => {},
  },
  delays: {
    /** Bare instants; the runtime turns them into `instant − now`. Infinity is never. */
    spawnDeadline: ({ context }) => context.spawnDeadlineAtMs,
    drainDeadline: ({ context }) => context.drainDeadlineAtMs ?? Infinity,
    /** As old as the threshold is fresh; only older is stalled. */
    stallDeadline: ({ context: { progressAtMs, stallAfterMs } }) =>
      (progressAtMs ?? Infinity) + (stallAfterMs ?? Infinity) + 1,
    /** Signs of life that were on their way have come by then. */
    secondLook: ({ context }) => (context.suspectedAtMs ?? Infinity) + activityEveryMs,
    idleClose: ({ context }) => context.idleCloseAtMs ?? Infinity,
  },
})
  .extend({
    actions: {
      openTask: spawnChild('task', {
        id: ({ event }) => (event.type === 'task.assign' ? event.task.taskId : ''),
        input: ({ event }) => {
          if (event.type !== 'task.assign') throw new Error('task.assign expected');
          return event.task;
        },
      }),
      openRequest: spawnChild('request', {
        id: ({ event }) => (event.type === 'request.open' ? event.request.requestId : ''),
        input: ({ event }) => {
          if (event.type !== 'request.open') throw new Error('request.open expected');
          return event.request;
        },
      }),
      /** Tells the tasks what became of their agent (A4); a crash costs the one it has, no held one. */
      tellTask: enqueueActions(
        (
          { enqueue, context, event },
          params: { readonly type: 'agent.closed' | 'agent.lost' | 'actor.crashed' },
        ) => {
          const atMs = 'atMs' in event ? event.atMs : context.spawnDeadlineAtMs;
          const held = params.type === 'actor.crashed' ? [] : context.queue;
          for (const id of [context.taskId, context.promptId, ...held]) {
            if (id !== null) enqueue.sendTo(id, { type: params.type, atMs });
          }
        },
      ),
      openPrompt: spawnChild('prompt', {
        id: ({ event }) => (event.type === 'prompt.open' ? event.prompt.promptId : ''),
        input: ({ event }) => {
          if (event.type !== 'prompt.open') throw new Error('prompt.open expected');
          return event.prompt;
        },
      }),
      passTurnOn: enqueueActions(({ enqueue, context, event }) => {
        if (context.promptId === null) return;
        if (event.type === 'turn.started') enqueue.sendTo(context.promptId, event);
        if (event.type !== 'turn.settled') return;
        const { type, atMs, outcome } = event;
        enqueue.sendTo(context.promptId, { type, atMs, outcome });
      }),
      dispatchTask: enqueueActions(({ enqueue, context, event }) => {
        if (context.taskId === null || !('atMs' in event)) return;
        enqueue.sendTo(context.taskId, { type: 'task.dispatched', atMs: event.atMs });
      }),
      /** Questions of an agent that has ended are withdrawn: nobody is there to read the answer. */
      cancelRequests: enqueueActions(({ enqueue, context, event }) => {
        const atMs = 'atMs' in event ? event.atMs : context.spawnDeadlineAtMs;
        for (const id of context.requestIds) enqueue.sendTo(id, { type: 'request.cancel', atMs });
      }),
      /** After the agent's own timers, so that equal instants keep their order. */
      resumeChildrenNext: raise({ type: 'children.resume' as const }),
      resumeChildren: enqueueActions(({ enqueue, context }) => {
        for (const id of [context.taskId, ...context.queue, ...context.requestIds]) {
          if (id !== null) enqueue.sendTo(id, { type: 'session.resumed' });
        }
      }),
      suspect: raise({ type: 'stall.suspected' as const }),
      clear: raise({ type: 'stall.cleared' as const }),
      closeIdle: raise(({ context }) => ({
        type: 'agent.close' as const,
        atMs: context.idleCloseAtMs ?? 0,
      })),
      bail: raise(({ context }) => ({
        type: 'agent.bail' as const,
        atMs: context.drainDeadlineAtMs ?? 0,
      })),
    },
  })
  .createMachine({
    id: 'agent',
    description: 'One child agent: process, task slot, liveness and recovery, side by side.',
    context: ({ input }) => ({
      ...input,
      taskId: null,
      promptId: null,
      queue: [],
      nudgesLeft: 0,
      releasingId: null,
      drainDeadlineAtMs: null,
      idleCloseAtMs: null,
      call: null,
      requestIds: [],
      progressAtMs: null,
      suspectedAtMs: null,
      dispatchesLeft: input.maxFreshDispatches,
    }),
    type: 'parallel',
    on: {
      'session.resumed': { target: '.resumed', reenter: true, actions: 'resumeChildrenNext' },
      'children.resume': { actions: 'resumeChildren' },
      'xstate.done.actor.*': { actions: 'reapChild' },
    },
    states: {
      resumed: {
        type: 'history',
        history: 'deep',
        description: 'After a restart: every region back to where it was, timers re-armed.',
      },
      process: {
        description: 'The child’s process, as far as it has been observed.',
        initial: 'starting',
        states: {
          starting: {
            description: 'Launched; the child has not said hello yet.',
            after: {
              spawnDeadline: {
                target: 'failed',
                actions: ['endProcess', ...end('failed')],
              },
            },
            on: {
              'agent.hello': {
                target: 'ready',
                actions: { type: 'recordAgentState', params: { state: 'idle' } },
              },
              'launch.failed': {
                target: 'failed',
                actions: [...end('failed')],
              },
              'process.exited': {
                target: 'failed',
                actions: [...end('failed')],
              },
              'agent.close': {
                target: 'closing',
                actions: [{ type: 'tellTask', params: { type: 'agent.closed' } }, ...close],
              },
            },
          },
          ready: {
            description: 'The child said hello and can be given work.',
            tags: 'ready',
            initial: 'idle',
            on: {
              'process.exited': [
                // Its end is what is wanted; whether all of it is gone is for `child.bailed` to say.
                { guard: 'isBailing' },
                { target: 'lost', actions: [...end('lost')] },
              ],
              'child.bailed': [
                {
                  guard: 'hasTask',
                  target: 'starting',
                  actions: [
                    'beginLaunch',
                    { type: 'recordAgentState', params: { state: 'starting' } },
                    'launchFresh',
                  ],
                },
                // Its task ended meanwhile: nothing is left that a fresh child could do.
                {
                  target: 'closed',
                  actions: [
                    'cancelRequests',
                    { type: 'recordAgentState', params: { state: 'closed' } },
                    { type: 'tellSession', params: { state: 'closed' } },
                  ],
                },
              ],
              'agent.close': {
                target: 'closing',
                actions: [{ type: 'tellTask', params: { type: 'agent.closed' } }, ...close],
              },
              'agent.bail': {
                target: 'closing',
                actions: [{ type: 'tellTask', params: { type: 'agent.closed' } }, ...close],
              },
            },
            states: {
              idle: {
                description: 'No turn runs. Says nothing about the task.',
                on: {
                  'turn.started': {
                    target: 'working',
                    actions: { type: 'recordAgentState', params: { state: 'working' } },
                  },
                },
              },
              working: {
                description: 'A turn runs.',
                on: {
                  'turn.settled': {
                    target: 'idle',
                    actions: { type: 'recordAgentState', params: { state: 'idle' } },
                  },
                  'human.awaited': {
                    target: 'blocked',
                    actions: { type: 'recordAgentState', params: { state: 'blocked' } },
                  },
                },
              },
              blocked: {
                description: 'The turn waits for a person: a permission or a dialog.',
                on: {
                  'human.answered': {
                    target: 'working',
                    actions: { type: 'recordAgentState', params: { state: 'working' } },
                  },
                  'turn.settled': {
                    target: 'idle',
                    actions: { type: 'recordAgentState', params: { state: 'idle' } },
                  },
                },
              },
            },
          },
          closing: {
            description: 'Its process group is being ended; not closed before that is verified.',
            on: {
              // Asked once more: an end that could not be confirmed is tried again.
              'agent.close': { actions: 'endProcess' },
              'process.exited': {
                target: 'closed',
                actions: [
                  { type: 'recordAgentState', params: { state: 'closed' } },
                  { type: 'tellSession', params: { state: 'closed' } },
                ],
              },
            },
          },
          closed: { tags: 'ended', description: 'Ended on purpose, and proven gone.' },
          failed: { tags: 'ended', description: 'Never became ready.' },
          lost: { tags: 'ended', description: 'Its process ended by itself.' },
        },
      },
      slot: {
        description: 'The one task this agent may have.',
        initial: 'free',
        on: {
          // A question that no task requires belongs to the agent itself.
          'request.open': { guard: 'isAlive', actions: ['openRequest', 'keepRequest'] },
          'request.settled': { actions: 'dropRequest' },
          // A held task that ended: the child has never heard of it.
          'task.settled': { guard: 'isQueued', actions: ['unqueueTask', 'recordQueue'] },
        },
        states: {
          free: {
            description: 'Can be given a task.',
            after: {
              idleClose: [
                { guard: 'isAtRest', actions: 'closeIdle' },
                { target: 'free', reenter: true, actions: 'countRest' },
              ],
            },
            on: {
              'child.called': {
                guard: 'isToBeClosed',
                target: 'free',
                reenter: true,
                actions: 'countRest',
              },
              'task.assign': [
                {
                  guard: and(['isAlive', not('hasQueued')]),
                  target: 'occupied',
                  actions: ['openTask', 'takeTask', 'dispatchTask'],
                },
                { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
              ],
              // What the turn still says is about the task that it ended, not about the next one.
              'turn.settled': [
                {
                  guard: 'isToBeClosed',
                  target: 'free',
                  reenter: true,
                  actions: ['countRest', 'offerSlot'],
                },
                { actions: 'offerSlot' },
              ],
              'prompt.open': {
                guard: and(['isAtRest', not('hasQueued')]),
                target: 'prompted',
                actions: ['openPrompt', 'takePrompt'],
              },
              'queue.advance': {
                guard: and(['isAlive', 'hasQueued']),
                target: 'occupied',
                actions: ['takeQueued', 'recordQueue', 'dispatchTask'],
              },
            },
          },
          occupied: {
            description: 'Has a task that has not settled.',
            initial: 'expected',
            on: {
              'task.settled': [
                {
                  guard: and(['isOwnTask', 'settledFromOutside', 'isInTurn']),
                  target: 'draining',
                  actions: ['releaseTask', 'letGo', 'countRest'],
                },
                {
                  guard: and(['isOwnTask', 'settledFromOutside']),
                  target: 'free',
                  actions: ['releaseTask', 'dropTask', 'countRest', 'offerSlot'],
                },
                {
                  guard: and(['isOwnTask', 'isInTurn']),
                  target: 'free',
                  actions: ['dropTask', 'countRest'],
                },
                {
                  guard: 'isOwnTask',
                  target: 'free',
                  actions: ['dropTask', 'countRest', 'offerSlot'],
                },
              ],
              'task.assign': { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
              'task.waiting': { target: '.waiting' },
              // The fresh child is given the task itself; what its predecessor was called for is in it.
              'child.bailed': {
                guard: not('isWaiting'),
                target: '.expected',
              },
              'actor.crashed': {
                actions: { type: 'tellTask', params: { type: 'actor.crashed' } },
              },
            },
            states: {
              expected: {
                description:
                  'Its `shepherd_done` is expected. A turn that ends without it leads to a reminder.',
                on: {
                  'turn.settled': [...forgotten],
                  'child.called': { target: 'called', actions: 'keepCall' },
                },
              },
              called: {
                description:
                  'Something that wakes the child is on its way to it: an answer, a question, a reminder. ' +
                  'A turn that ends meanwhile is not the last one.',
                on: {
                  'child.called': { actions: 'keepCall' },
                  'call.settled': { guard: 'isCall', target: 'expected', actions: 'dropCall' },
                  'turn.started': { guard: 'isAfterCall', target: 'expected', actions: 'dropCall' },
                },
              },
              waiting: {
                description: 'Its task requires a reply; a turn that ends here is as it should be.',
                on: {
                  'child.called': { actions: 'keepCall' },
                  'call.settled': { guard: 'isCall', actions: 'dropCall' },
                  'turn.started': { guard: 'isAfterCall', actions: 'dropCall' },
                  'task.resumed': [
                    { guard: 'isCalled', target: 'called', actions: 'restoreReminders' },
                    { target: 'expected', actions: 'restoreReminders' },
                  ],
                },
              },
              reported: {
                description: 'Reminders did not help; the Shepherd has been told.',
              },
            },
          },
          prompted: {
            description: 'Has a prompt, which ends with the turn that it starts.',
            on: {
              'turn.started': { actions: 'passTurnOn' },
              'turn.settled': { actions: 'passTurnOn' },
              'actor.crashed': {
                actions: { type: 'tellTask', params: { type: 'actor.crashed' } },
              },
              'task.assign': { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
              'prompt.settled': {
                target: 'free',
                actions: ['dropPrompt', 'countRest', 'offerSlot'],
              },
            },
          },
          draining: {
            description: 'The task settled from outside; the child’s turn on it is being stopped.',
            after: {
              drainDeadline: { target: 'free', actions: ['reportBailed', 'bail', 'released'] },
            },
            on: {
              'release.told': { target: 'draining', reenter: true, actions: 'awaitRelease' },
              'task.released': {
                guard: 'isReleasing',
                target: 'free',
                actions: ['released', 'offerSlot'],
              },
              'turn.settled': { target: 'free', actions: ['released', 'offerSlot'] },
              'task.assign': { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
            },
          },
        },
      },
      liveness: {
        description: 'Whether a child of which something is expected shows progress.',
        initial: 'active',
        on: {
          'child.bailed': '.active.called',
          'stall.rules': { actions: 'takeStallRules' },
        },
        states: {
          active: {
            description: 'Nothing speaks against the agent being alive.',
            initial: 'resting',
            states: {
              resting: {
                description: 'No turn runs, and none is expected: silence says nothing.',
                on: {
                  ...expectTurn,
                  'child.called': { guard: 'isAlive', target: 'called', actions: 'noteProgress' },
                  'turn.started': { guard: 'isAlive', target: 'watched', actions: 'noteProgress' },
                },
              },
              called: {
                description: 'It has been given something that wakes it; its turn is expected.',
                after: {
                  stallDeadline: [
                    { guard: not('isAlive'), target: 'resting' },
                    { target: '#agent.liveness.stalled', actions: [...silent] },
                  ],
                },
                on: {
                  ...onSigns({ target: 'called', reenter: true, actions: 'noteProgress' }),
                  'stall.rules': { target: 'called', reenter: true, actions: 'takeStallRules' },
                  'turn.started': { target: 'watched', actions: 'noteProgress' },
                  'task.settled': { guard: 'isOwnTask', target: 'resting' },
                },
              },
              watched: {
                description: 'A turn runs; each sign of progress starts its time anew.',
                after: {
                  stallDeadline: [
                    { guard: not('isAlive'), target: 'resting' },
                    { guard: 'isExempt', target: 'exempt' },
                    { target: '#agent.liveness.stalled', actions: [...silent] },
                  ],
                },
                on: {
                  ...onSigns({ target: 'watched', reenter: true, actions: 'noteProgress' }),
                  'stall.rules': { target: 'watched', reenter: true, actions: 'takeStallRules' },
                  'provider.throttled': {
                    target: 'watched',
                    reenter: true,
                    actions: 'awaitProvider',
                  },
                  'turn.settled': [
                    { guard: 'isCalled', target: 'called', actions: 'noteProgress' },
                    { target: 'resting' },
                  ],
                },
              },
              exempt: {
                description:
                  'A turn runs and waits: for the answer to its question, or for a person.',
                on: {
                  ...onSigns({ target: 'watched', actions: 'noteProgress' }),
                  'turn.settled': [
                    { guard: 'isCalled', target: 'called', actions: 'noteProgress' },
                    { target: 'resting' },
                  ],
                },
              },
            },
          },
          stalled: {
            tags: 'stalled',
            description:
              'Something is expected of the child, and it has shown nothing for too long.',
            on: {
              // The end of a turn that is aborted for good is no sign that it goes on.
              ...onSigns({
                guard: 'isLetBe',
                target: 'active.watched',
                actions: [...goesOn],
              }),
              'turn.settled': {
                guard: 'isLetBe',
                target: 'active.resting',
                actions: [...goesOn],
              },
              'task.settled': {
                guard: and(['isOwnTask', not('isInTurn'), 'isLetBe']),
                target: 'active.resting',
                actions: [...goesOn],
              },
              'stall.verified': {
                guard: 'hasMoved',
                target: 'active.watched',
                actions: ['noteMove', 'recordCleared'],
              },
            },
          },
        },
      },
      recovery: {
        description: 'What is being done about a stalled child.',
        initial: 'none',
        states: {
          none: {
            description: 'Nothing to recover from.',
            on: { 'stall.suspected': 'suspected' },
          },
          suspected: {
            description: 'It may have shown something that is still on its way.',
            after: { secondLook: { target: 'verifying', actions: 'verifyStall' } },
            on: { 'stall.cleared': 'none' },
          },
          verifying: {
            description: 'Its process and its transcript are looked at.',
            on: {
              'stall.cleared': 'none',
              'stall.verified': [
                { guard: or(['hasMoved', 'isGone']), target: 'none' },
                {
                  guard: and(['mayReplace', 'hasTask']),
                  target: 'bailing',
                  actions: 'bailChild',
                },
                { target: 'surfaced', actions: 'surfaceStall' },
              ],
            },
          },
          bailing: {
            description:
              'Its turn is aborted and its process ended; that end is no loss of the agent.',
            on: {
              'child.bailed': [{ guard: 'hasTask', target: 'dispatching' }, { target: 'none' }],
              'bail.failed': { target: 'surfaced', actions: 'surfaceStall' },
              'agent.close': 'none',
            },
          },
          dispatching: {
            description: 'A fresh child is being started; it has the task and a brief.',
            on: {
              'agent.hello': { target: 'recovered', actions: 'recordRecovered' },
              'agent.close': 'none',
            },
          },
          recovered: {
            description: 'A fresh child has taken over.',
            on: { 'stall.suspected': 'suspected' },
          },
          surfaced: {
            description: 'The Shepherd has been told, and decides.',
            on: { 'stall.cleared': 'none' },
          },
        },
      },
    },
  });

export type AgentActor = ActorRefFrom<typeof agentMachine>;
