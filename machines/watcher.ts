/**
 * A one-shot observer of task outcomes.
 *
 * Owns: which of its tasks have not been reported yet. Never: what an outcome says.
 *
 * W1. Only a settled task is reported; waiting and idle are not events here.
 * W2. Each task is reported exactly once, in the order the caller gave.
 * W3. Outcomes that come within one coalescing window are one notice.
 */
import { assign, sendParent, setup, type ActorRefFrom } from 'xstate';

export interface WatcherInput {
  readonly watcherId: string;
  /** Tasks still open when the watch began, in the caller's order. */
  readonly taskIds: readonly string[];
  /** How long outcomes are collected before they are told together, in ms. */
  readonly coalesceMs: number;
}

export interface WatcherContext extends WatcherInput {
  readonly pending: readonly string[];
  /** Settled, but not yet told. */
  readonly settled: readonly string[];
  readonly flushAtMs: number | null;
}

export type WatcherEvent =
  | { readonly type: 'task.settled'; readonly taskId: string; readonly atMs: number }
  | { readonly type: 'session.resumed' };

export interface WatcherDoneEvent {
  readonly type: 'watcher.done';
  readonly watcherId: string;
}

export const watcherMachine = setup({
  types: {
    context: {} as WatcherContext,
    events: {} as WatcherEvent,
    input: {} as WatcherInput,
  },
  guards: {
    isWatched: ({ context, event }) =>
      event.type === 'task.settled' && context.pending.includes(event.taskId),
    allSettled: ({ context }) => context.pending.length === 0,
  },
  actions: {
    collect: assign(({ context, event }) =>
      event.type === 'task.settled'
        ? {
            pending: context.pending.filter((id) => id !== event.taskId),
            settled: context.taskIds.filter(
              (id) => id === event.taskId || context.settled.includes(id),
            ),
            flushAtMs: context.flushAtMs ?? event.atMs + context.coalesceMs,
          }
        : {},
    ),
    clear: assign({ settled: [], flushAtMs: null }),
    /** Runtime: one notice that names every settled task. */
    recordOutcomes: () => {},
    tellSession: sendParent(({ context }): WatcherDoneEvent => ({
      type: 'watcher.done',
      watcherId: context.watcherId,
    })),
  },
  delays: {
    /** The bare instant; the runtime turns it into `instant − now`. */
    coalesce: ({ context }) => context.flushAtMs ?? Infinity,
  },
}).createMachine({
  id: 'watcher',
  description: 'Tells the Shepherd once how each watched task ended.',
  context: ({ input }) => ({ ...input, pending: input.taskIds, settled: [], flushAtMs: null }),
  initial: 'watching',
  states: {
    watching: {
      description: 'No outcome is held back.',
      on: {
        'task.settled': { guard: 'isWatched', target: 'collecting', actions: 'collect' },
        'session.resumed': { target: 'watching', reenter: true },
      },
    },
    collecting: {
      description: 'At least one outcome waits for the others of its moment.',
      after: {
        coalesce: [
          {
            guard: 'allSettled',
            target: 'done',
            actions: ['recordOutcomes', 'clear', 'tellSession'],
          },
          { target: 'watching', actions: ['recordOutcomes', 'clear'] },
        ],
      },
      on: {
        'task.settled': { guard: 'isWatched', actions: 'collect' },
        'session.resumed': { target: 'collecting', reenter: true },
      },
    },
    done: { type: 'final', description: 'Every watched task has been told.' },
  },
});

export type WatcherActor = ActorRefFrom<typeof watcherMachine>;
