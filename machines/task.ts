/**
 * One tracked task, from its creation to the one outcome that ends it.
 *
 * Owns: the task's state, its open required requests, its stale and task deadlines, its outcome.
 * Never: the process it runs in (`agent.ts`), the texts (the store), what the Shepherd is told.
 *
 * T1. Only the owner's `task.done` settles as completed; a turn's end is not an event here at all.
 * T2. `completed` never with a required request open, unless an override says why.
 * T3. The first outcome wins; a settled task takes no further event.
 * T4. A required request's reply deadline settles the task as blocked; its answer, cancellation or
 *     lost recipient only ends the wait.
 * T5. One stale reminder an episode; it settles nothing. An episode belongs to the oldest open request.
 * T6. The task deadline holds in every open state and starts at dispatch; a held task has none yet.
 * T7. `session.resumed` re-arms every timer at its original instant and repeats no reminder.
 * T8. A wait is counted from the host's return when it was away; no deadline moves for that.
 */
import {
  and,
  assign,
  enqueueActions,
  not,
  raise,
  sendParent,
  setup,
  spawnChild,
  stopChild,
  type ActorRefFrom,
  type DoneActorEvent,
} from 'xstate';
import { requestMachine, type RequestInput, type RequestSettledEvent } from './request.ts';

export interface TaskInput {
  readonly taskId: string;
  readonly agentId: string;
  /** How long the task may take from its dispatch, in ms; `null` for no deadline. */
  readonly timeoutMs: number | null;
  /** How long a wait may last before one reminder, in ms; `null` for no reminders. */
  readonly staleAfterMs: number | null;
}

export type TaskStatus = 'completed' | 'blocked' | 'failed' | 'cancelled' | 'timed_out';

/** What ended a task. Everything but `owner` is the outside: the child has to be told. */
export type TaskCause =
  | 'owner'
  | 'reply_deadline'
  | 'task_deadline'
  | 'cancelled'
  | 'agent_closed'
  | 'agent_lost'
  | 'publish_failed'
  | 'delivery_failed'
  | 'provider_gave_up'
  | 'actor_crashed';

export interface TaskOutcome {
  readonly status: TaskStatus;
  readonly cause: TaskCause;
  readonly atMs: number;
  /** The request that expired, or the oldest one that an override closed. */
  readonly requestId: string | null;
}

export interface OpenRequest {
  readonly requestId: string;
  readonly recipientId: string;
  readonly openedAtMs: number;
}

export interface TaskContext extends TaskInput {
  /** Epoch ms at which it was handed to its agent; `null` while it is held for a busy one. */
  readonly dispatchedAtMs: number | null;
  /** Epoch ms at which the task times out; `null` for never. */
  readonly deadlineAtMs: number | null;
  /** Open required requests, oldest first. */
  readonly requests: readonly OpenRequest[];
  /** Epoch ms of the reminder of this episode; `null` for never. */
  readonly staleAtMs: number | null;
  /** Epoch ms at which the host was last found to have been away: nobody waited before. */
  readonly awayAtMs: number | null;
  readonly outcome: TaskOutcome | null;
}

export type TaskEvent =
  | { readonly type: 'task.dispatched'; readonly atMs: number }
  | { readonly type: 'task.started'; readonly atMs: number }
  | { readonly type: 'request.open'; readonly request: RequestInput }
  | RequestSettledEvent
  | {
      readonly type: 'task.done';
      readonly status: 'completed' | 'blocked' | 'failed';
      readonly override: boolean;
      readonly atMs: number;
    }
  | { readonly type: 'task.cancel'; readonly atMs: number }
  | { readonly type: 'publish.failed'; readonly atMs: number }
  | { readonly type: 'delivery.failed'; readonly atMs: number }
  | { readonly type: 'provider.gave_up'; readonly atMs: number }
  | { readonly type: 'agent.closed'; readonly atMs: number }
  | { readonly type: 'agent.lost'; readonly atMs: number }
  | { readonly type: 'actor.crashed'; readonly atMs: number }
  /** The host slept, lagged, or its clock jumped: a wait counts from here. */
  | { readonly type: 'host.away'; readonly atMs: number }
  /** Another threshold is set; `null` for no reminders. */
  | { readonly type: 'stale.threshold'; readonly staleAfterMs: number | null }
  | { readonly type: 'session.resumed' }
  /** Raised by the chart itself. */
  | { readonly type: 'requests.resume' }
  | DoneActorEvent;

/** What the owning agent hears when its task has settled. */
export interface TaskSettledEvent {
  readonly type: 'task.settled';
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly cause: TaskCause;
  readonly atMs: number;
}

/** What the owning agent hears when its task begins, or ceases, to wait for a reply. */
export interface TaskWaitEvent {
  readonly type: 'task.waiting' | 'task.resumed';
  readonly taskId: string;
  readonly atMs: number;
}

/** The episode's reminder instant: counted from the oldest request that is still open (T5, T8). */
function staleAt(
  requests: readonly OpenRequest[],
  { staleAfterMs, awayAtMs }: Pick<TaskContext, 'staleAfterMs' | 'awayAtMs'>,
): number | null {
  const oldest = requests[0];
  if (oldest === undefined || staleAfterMs === null) return null;
  return Math.max(oldest.openedAtMs, awayAtMs ?? 0) + staleAfterMs;
}

const instantOf = (event: TaskEvent): number => ('atMs' in event ? event.atMs : 0);

const base = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    input: {} as TaskInput,
    output: {} as TaskOutcome | null,
  },
  actors: { request: requestMachine },
  guards: {
    isHeld: ({ context }) => context.dispatchedAtMs === null,
    isCompleted: ({ event }) => event.type === 'task.done' && event.status === 'completed',
    isBlocked: ({ event }) => event.type === 'task.done' && event.status === 'blocked',
    isFailed: ({ event }) => event.type === 'task.done' && event.status === 'failed',
    isOverridden: ({ event }) => event.type === 'task.done' && event.override,
    isExpired: ({ event }) => event.type === 'request.settled' && event.outcome === 'expired',
    isLastOpen: ({ context, event }) =>
      event.type === 'request.settled' &&
      context.requests.every((request) => request.requestId === event.requestId),
    isOldestOpen: ({ context, event }) =>
      event.type === 'request.settled' && context.requests[0]?.requestId === event.requestId,
  },
  actions: {
    startDeadline: assign(({ context, event }) =>
      event.type === 'task.dispatched'
        ? {
            dispatchedAtMs: event.atMs,
            deadlineAtMs: context.timeoutMs === null ? null : event.atMs + context.timeoutMs,
          }
        : {},
    ),
    keepRequest: assign(({ context, event }) => {
      if (event.type !== 'request.open') return {};
      const requests = [...context.requests, event.request].map(
        ({ requestId, recipientId, openedAtMs }) => ({ requestId, recipientId, openedAtMs }),
      );
      return { requests, staleAtMs: staleAt(requests, context) };
    }),
    dropRequest: assign(({ context, event }) => {
      if (event.type !== 'request.settled') return {};
      const requests = context.requests.filter((request) => request.requestId !== event.requestId);
      return { requests, staleAtMs: staleAt(requests, context) };
    }),
    countFromNow: assign(({ context, event }) => {
      if (event.type !== 'host.away') return {};
      const awayAtMs = event.atMs;
      return { awayAtMs, staleAtMs: staleAt(context.requests, { ...context, awayAtMs }) };
    }),
    setThreshold: assign(({ context, event }) => {
      if (event.type !== 'stale.threshold') return {};
      const { staleAfterMs } = event;
      return { staleAfterMs, staleAtMs: staleAt(context.requests, { ...context, staleAfterMs }) };
    }),
    reapRequest: stopChild(({ event }) => ('actorId' in event ? event.actorId : '')),
    keepOutcome: assign(
      ({ context, event }, params: { readonly status: TaskStatus; readonly cause: TaskCause }) => ({
        outcome: {
          ...params,
          atMs: 'atMs' in event ? event.atMs : (context.deadlineAtMs ?? 0),
          requestId:
            event.type === 'request.settled'
              ? event.requestId
              : (context.requests[0]?.requestId ?? null),
        },
      }),
    ),
    tellOwner: sendParent(({ context }): TaskSettledEvent => ({
      type: 'task.settled',
      taskId: context.taskId,
      status: context.outcome?.status ?? 'failed',
      cause: context.outcome?.cause ?? 'actor_crashed',
      atMs: context.outcome?.atMs ?? 0,
    })),
    tellWait: sendParent(
      ({ context, event }, params: Pick<TaskWaitEvent, 'type'>): TaskWaitEvent => ({
        type: params.type,
        taskId: context.taskId,
        atMs: event.type === 'request.open' ? event.request.openedAtMs : instantOf(event),
      }),
    ),
    /** Runtime: the task is put into its agent's inbox. */
    recordDispatched: () => {},
    /** Runtime: the task's public record enters this state. */
    recordState: (_, _params: { readonly state: 'running' | 'waiting' }) => {},
    /** Runtime: the result is written, watchers hear of it, the child is told if it must be. */
    recordSettled: () => {},
    /** Runtime: requests that were open when the task settled are closed in the records (T2). */
    recordRequestsClosed: () => {},
    /** Runtime: one reminder of this wait. */
    recordStale: () => {},
    /** Runtime: the reminded wait is over, another one goes on. */
    recordFresh: () => {},
    /** Runtime: the owner's verdict names what is still open. */
    refuseCompletion: () => {},
  },
  delays: {
    /** Bare instants; the runtime turns them into `instant − now`. Infinity is never. */
    taskDeadline: ({ context }) => context.deadlineAtMs ?? Infinity,
    staleWait: ({ context }) => context.staleAtMs ?? Infinity,
  },
}).extend({
  actions: {
    /**
     * Timers are armed in the order in which they first were, the task's deadline, then its requests',
     * then the reminder: equal instants (a reply deadline clipped to the task's) end as they would
     * have without a restart.
     */
    resumeRequestsNext: raise({ type: 'requests.resume' as const }),
    resumeRequests: enqueueActions(({ enqueue, context }) => {
      for (const { requestId } of context.requests) {
        enqueue.sendTo(requestId, { type: 'session.resumed' });
      }
    }),
    openRequest: spawnChild('request', {
      id: ({ event }) => (event.type === 'request.open' ? event.request.requestId : ''),
      input: ({ event }) => {
        if (event.type !== 'request.open') throw new Error('request.open expected');
        return event.request;
      },
    }),
  },
});

/** The actions of each way to settle, in the order in which they must happen. */
function settle(status: TaskStatus, cause: TaskCause) {
  return [
    { type: 'keepOutcome', params: { status, cause } },
    'recordRequestsClosed',
    'recordSettled',
    'tellOwner',
  ] as const;
}

/** How the owner's word ends a task that it did not complete, waiting or not. */
const givenUp = [
  { guard: 'isBlocked', target: '#task.blocked', actions: [...settle('blocked', 'owner')] },
  { guard: 'isFailed', target: '#task.failed', actions: [...settle('failed', 'owner')] },
] as const;

export const taskMachine = base.createMachine({
  id: 'task',
  description: 'One tracked task. A turn that ends is not a task that is done.',
  context: ({ input }) => ({
    ...input,
    dispatchedAtMs: null,
    deadlineAtMs: null,
    requests: [],
    staleAtMs: null,
    awayAtMs: null,
    outcome: null,
  }),
  initial: 'open',
  output: ({ context }) => context.outcome,
  states: {
    open: {
      description: 'Not settled. The task deadline runs here, whatever the task is doing.',
      tags: 'active',
      initial: 'created',
      after: {
        taskDeadline: { target: 'timed_out', actions: [...settle('timed_out', 'task_deadline')] },
      },
      on: {
        'task.cancel': { target: 'cancelled', actions: [...settle('cancelled', 'cancelled')] },
        'agent.closed': { target: 'cancelled', actions: [...settle('cancelled', 'agent_closed')] },
        'agent.lost': { target: 'failed', actions: [...settle('failed', 'agent_lost')] },
        'actor.crashed': { target: 'failed', actions: [...settle('failed', 'actor_crashed')] },
        // It lay in the inbox, but its child’s Pi session would not take it.
        'delivery.failed': { target: 'failed', actions: [...settle('failed', 'delivery_failed')] },
        'xstate.done.actor.*': { actions: 'reapRequest' },
        'session.resumed': { target: '.resumed', reenter: true, actions: 'resumeRequestsNext' },
        'stale.threshold': { actions: 'setThreshold' },
      },
      states: {
        created: {
          description:
            'Held for a busy agent, or handed over but not yet known to lie durably in its inbox.',
          on: {
            'task.dispatched': {
              guard: 'isHeld',
              target: '#task.open',
              reenter: true,
              actions: ['startDeadline', 'recordDispatched'],
            },
            'task.started': {
              guard: not('isHeld'),
              target: 'running',
              actions: { type: 'recordState', params: { state: 'running' } },
            },
            'publish.failed': {
              target: '#task.failed',
              actions: [...settle('failed', 'publish_failed')],
            },
          },
        },
        running: {
          description: 'The agent has the task. Idle or working makes no difference.',
          on: {
            'request.open': {
              target: 'waiting',
              actions: [
                'openRequest',
                'keepRequest',
                { type: 'recordState', params: { state: 'waiting' } },
                { type: 'tellWait', params: { type: 'task.waiting' } },
              ],
            },
            'task.done': [
              {
                guard: 'isCompleted',
                target: '#task.completed',
                actions: [...settle('completed', 'owner')],
              },
              ...givenUp,
            ],
            'provider.gave_up': {
              target: '#task.failed',
              actions: [...settle('failed', 'provider_gave_up')],
            },
          },
        },
        waiting: {
          description: 'At least one required request is open.',
          initial: 'fresh',
          on: {
            'request.open': { actions: ['openRequest', 'keepRequest'] },
            'request.settled': [
              {
                guard: 'isExpired',
                target: '#task.blocked',
                actions: ['dropRequest', ...settle('blocked', 'reply_deadline')],
              },
              {
                guard: 'isLastOpen',
                target: 'running',
                actions: [
                  'dropRequest',
                  { type: 'recordState', params: { state: 'running' } },
                  { type: 'tellWait', params: { type: 'task.resumed' } },
                ],
              },
              {
                guard: 'isOldestOpen',
                target: '.fresh',
                reenter: true,
                actions: ['dropRequest', 'recordFresh'],
              },
              { actions: 'dropRequest' },
            ],
            'task.done': [
              {
                guard: and(['isCompleted', not('isOverridden')]),
                actions: 'refuseCompletion',
              },
              {
                guard: 'isCompleted',
                target: '#task.completed',
                actions: [...settle('completed', 'owner')],
              },
              ...givenUp,
            ],
            'provider.gave_up': {
              target: '#task.failed',
              actions: [...settle('failed', 'provider_gave_up')],
            },
          },
          states: {
            fresh: {
              description: 'Waiting, and nobody has been reminded of it in this episode.',
              after: { staleWait: { target: 'stale', actions: 'recordStale' } },
              on: {
                'requests.resume': { target: 'fresh', reenter: true, actions: 'resumeRequests' },
                'host.away': { target: 'fresh', reenter: true, actions: 'countFromNow' },
                'stale.threshold': { target: 'fresh', reenter: true, actions: 'setThreshold' },
              },
            },
            stale: {
              description: 'Waiting for long; the one reminder of this episode is out.',
              on: {
                'requests.resume': { actions: 'resumeRequests' },
                'host.away': { actions: 'countFromNow' },
              },
            },
          },
        },
        resumed: {
          type: 'history',
          history: 'deep',
          description: 'After a restart: back to where the task was, with its timers re-armed.',
        },
      },
    },
    completed: { type: 'final', tags: 'terminal', description: 'The owner said it is done.' },
    blocked: {
      type: 'final',
      tags: 'terminal',
      description: 'The owner cannot go on, or a required reply did not come in time.',
    },
    failed: {
      type: 'final',
      tags: 'terminal',
      description: 'The owner failed, was lost, or could not be given the task.',
    },
    cancelled: {
      type: 'final',
      tags: 'terminal',
      description: 'Withdrawn, or its agent was closed.',
    },
    timed_out: { type: 'final', tags: 'terminal', description: 'The task deadline passed.' },
  },
});

export type TaskActor = ActorRefFrom<typeof taskMachine>;
