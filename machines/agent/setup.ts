/** Guards, actions and delays of an agent's chart; the regions name them. */
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
} from 'xstate';
import { promptMachine } from '../prompt.ts';
import { requestMachine } from '../request.ts';
import { taskMachine } from '../task.ts';
import type {
  AgentContext,
  AgentEndedEvent,
  AgentEndState,
  AgentEvent,
  AgentInput,
} from './types.ts';

/** A child tells of its activity at most this often: silence of that length says nothing. */
const activityEveryMs = 5_000;

export const agentSetup = setup({
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
}).extend({
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
});
