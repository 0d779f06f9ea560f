/**
 * The machines with their meaning: time, and what the named actions record.
 *
 * A chart action does nothing but append a fact to the running step; what a fact changes is decided
 * in `facts.ts`, what happens outside only after commit (`effects.ts`).
 */
import { stopChild, type AnyActorRef, type AnyStateMachine } from 'xstate';
import {
  agentMachine,
  promptMachine,
  requestMachine,
  sessionMachine,
  taskMachine,
  watcherMachine,
  type AgentContext,
  type AgentEndState,
  type AgentEvent,
  type AgentInput,
  type OpenRequest,
  type PromptContext,
  type RequestContext,
  type RequestInput,
  type TaskEvent,
  type TaskOutcome,
  type WatcherInput,
} from '../../machines/index.ts';
import type { AgentState } from './shepherd.ts';

/** What charts decided during a step, in order. */
export type Fact =
  | { readonly type: 'agent.start'; readonly agent: AgentInput }
  | { readonly type: 'agent.state'; readonly agentId: string; readonly state: AgentState }
  | { readonly type: 'agent.end_process'; readonly agentId: string }
  | { readonly type: 'agent.release_task'; readonly agentId: string; readonly taskId: string }
  | {
      readonly type: 'agent.queue';
      readonly agentId: string;
      readonly queue: readonly string[];
    }
  | { readonly type: 'agent.slot_free'; readonly agentId: string }
  | { readonly type: 'agent.remind'; readonly agentId: string; readonly taskId: string }
  | { readonly type: 'agent.forgotten'; readonly agentId: string; readonly taskId: string }
  | { readonly type: 'agent.bailed'; readonly agentId: string; readonly taskId: string }
  | {
      readonly type: 'agent.stalled';
      readonly agentId: string;
      /** Epoch ms of the last sign of progress. */
      readonly progressAtMs: number;
    }
  | { readonly type: 'agent.stall_cleared'; readonly agentId: string }
  | { readonly type: 'agent.verify_stall'; readonly agentId: string }
  | { readonly type: 'agent.bail'; readonly agentId: string }
  | { readonly type: 'agent.launch_fresh'; readonly agentId: string; readonly launch: number }
  | { readonly type: 'agent.recovered'; readonly agentId: string }
  | {
      readonly type: 'agent.surfaced';
      readonly agentId: string;
      readonly reason: 'not_automatic' | 'no_evidence' | 'no_task' | 'cap_reached' | 'bail_failed';
    }
  | { readonly type: 'agent.ended'; readonly agentId: string; readonly state: AgentEndState }
  | { readonly type: 'agents.close' }
  | {
      readonly type: 'task.dispatched';
      readonly taskId: string;
      readonly atMs: number;
      readonly deadlineAtMs: number | null;
    }
  | {
      readonly type: 'task.state';
      readonly taskId: string;
      readonly state: 'running' | 'waiting';
      readonly atMs: number;
    }
  | {
      readonly type: 'task.settled';
      readonly taskId: string;
      readonly agentId: string;
      readonly outcome: TaskOutcome;
    }
  | {
      readonly type: 'task.requests_closed';
      readonly requests: readonly OpenRequest[];
      readonly atMs: number;
    }
  | { readonly type: 'task.stale'; readonly taskId: string; readonly requestId: string }
  | { readonly type: 'task.fresh'; readonly taskId: string }
  | {
      readonly type: 'task.completion_refused';
      readonly taskId: string;
      readonly requests: readonly OpenRequest[];
    }
  | { readonly type: 'prompt.settled'; readonly prompt: PromptContext }
  | { readonly type: 'request.start'; readonly request: RequestInput }
  | { readonly type: 'request.settled'; readonly request: RequestContext }
  | { readonly type: 'request.reap'; readonly requestId: string }
  | { readonly type: 'watcher.start'; readonly watcher: WatcherInput }
  | {
      readonly type: 'watcher.outcomes';
      readonly watcherId: string;
      readonly taskIds: readonly string[];
    }
  | { readonly type: 'watcher.reap'; readonly watcherId: string }
  | { readonly type: 'actor.crashed'; readonly actorId: string; readonly error: unknown };

export interface ChartPorts {
  /** Appends to the facts of the running step. */
  readonly record: (fact: Fact) => void;
  /** Epoch ms of the running step. */
  readonly now: () => number;
  /** A top-level actor of the session. */
  readonly find: (actorId: string) => AnyActorRef | undefined;
}

/** Turns the bare instants of a machine's named delays into what is left of them. */
function withTime<M extends AnyStateMachine>(machine: M, now: () => number): M {
  const delays = Object.fromEntries(
    Object.entries(machine.implementations.delays).map(([name, instant]) => [
      name,
      (args: never, params: never) =>
        (typeof instant === 'function' ? instant(args, params) : instant) - now(),
    ]),
  );
  return machine.provide({ delays } as Parameters<M['provide']>[0]) as M;
}

/** When what a task hears of happened. */
function instantOf(event: TaskEvent): number {
  if ('atMs' in event) return event.atMs;
  return event.type === 'request.open' ? event.request.openedAtMs : 0;
}

/** Why a stalled child is not replaced. */
function whySurfaced(
  { stallRecovery, taskId, dispatchesLeft }: AgentContext,
  event: AgentEvent,
): Extract<Fact, { type: 'agent.surfaced' }>['reason'] {
  if (event.type === 'bail.failed') return 'bail_failed';
  if (stallRecovery !== 'auto') return 'not_automatic';
  if (event.type === 'stall.verified' && event.presence !== 'present') return 'no_evidence';
  if (taskId === null) return 'no_task';
  return dispatchesLeft === 0 ? 'cap_reached' : 'no_evidence';
}

export type Charts = ReturnType<typeof createCharts>;

/** Provides every machine, children included, for one session. */
export function createCharts({ record, now, find }: ChartPorts) {
  const request = withTime(
    requestMachine.provide({
      actions: {
        recordRequestSettled: ({ context }) =>
          record({ type: 'request.settled', request: context }),
      },
    }),
    now,
  );
  const task = withTime(
    taskMachine.provide({
      actors: { request },
      actions: {
        recordDispatched: ({ context }) => {
          const { taskId, dispatchedAtMs, deadlineAtMs } = context;
          record({ type: 'task.dispatched', taskId, atMs: dispatchedAtMs ?? now(), deadlineAtMs });
        },
        recordState: ({ context, event }, { state }) =>
          record({ type: 'task.state', taskId: context.taskId, state, atMs: instantOf(event) }),
        recordSettled: ({ context }) => {
          if (context.outcome === null) return;
          const { taskId, agentId, outcome } = context;
          record({ type: 'task.settled', taskId, agentId, outcome });
        },
        recordRequestsClosed: ({ context }) => {
          if (context.requests.length === 0) return;
          const atMs = context.outcome?.atMs ?? now();
          record({ type: 'task.requests_closed', requests: context.requests, atMs });
        },
        recordStale: ({ context }) => {
          const oldest = context.requests[0];
          if (oldest === undefined) return;
          record({ type: 'task.stale', taskId: context.taskId, requestId: oldest.requestId });
        },
        recordFresh: ({ context }) => record({ type: 'task.fresh', taskId: context.taskId }),
        refuseCompletion: ({ context }) => {
          const { taskId, requests } = context;
          record({ type: 'task.completion_refused', taskId, requests });
        },
      },
    }),
    now,
  );
  const prompt = withTime(
    promptMachine.provide({
      actions: {
        recordPrompt: ({ context }) => record({ type: 'prompt.settled', prompt: context }),
      },
    }),
    now,
  );
  const agent = withTime(
    agentMachine.provide({
      actors: { task, request, prompt },
      actions: {
        recordAgentState: ({ context }, { state }) =>
          record({ type: 'agent.state', agentId: context.agentId, state: state as AgentState }),
        endProcess: ({ context }) =>
          record({ type: 'agent.end_process', agentId: context.agentId }),
        releaseTask: ({ context, event }) => {
          if (event.type !== 'task.settled') return;
          const { agentId } = context;
          record({ type: 'agent.release_task', agentId, taskId: event.taskId });
        },
        recordQueue: ({ context: { agentId, queue } }) =>
          record({ type: 'agent.queue', agentId, queue }),
        offerSlot: ({ context: { agentId, queue } }) => {
          if (queue.length > 0) record({ type: 'agent.slot_free', agentId });
        },
        remindChild: ({ context: { agentId, taskId } }) => {
          if (taskId !== null) record({ type: 'agent.remind', agentId, taskId });
        },
        reportForgotten: ({ context: { agentId, taskId } }) => {
          if (taskId !== null) record({ type: 'agent.forgotten', agentId, taskId });
        },
        reportBailed: ({ context: { agentId, releasingId } }) => {
          if (releasingId !== null) record({ type: 'agent.bailed', agentId, taskId: releasingId });
        },
        recordStalled: ({ context: { agentId, progressAtMs } }) =>
          record({ type: 'agent.stalled', agentId, progressAtMs: progressAtMs ?? 0 }),
        recordCleared: ({ context: { agentId } }) =>
          record({ type: 'agent.stall_cleared', agentId }),
        verifyStall: ({ context: { agentId } }) => record({ type: 'agent.verify_stall', agentId }),
        bailChild: ({ context: { agentId } }) => record({ type: 'agent.bail', agentId }),
        launchFresh: ({ context: { agentId, launch } }) =>
          record({ type: 'agent.launch_fresh', agentId, launch }),
        recordRecovered: ({ context: { agentId } }) => record({ type: 'agent.recovered', agentId }),
        surfaceStall: ({ context, event }) =>
          record({
            type: 'agent.surfaced',
            agentId: context.agentId,
            reason: whySurfaced(context, event),
          }),
      },
    }),
    now,
  );
  const watcher = withTime(
    watcherMachine.provide({
      actions: {
        recordOutcomes: ({ context }) => {
          const { watcherId, settled } = context;
          record({ type: 'watcher.outcomes', watcherId, taskIds: settled });
        },
      },
    }),
    now,
  );
  const session = sessionMachine.provide({
    actions: {
      startAgent: ({ event }) => {
        if (event.type === 'agent.spawn') record({ type: 'agent.start', agent: event.agent });
      },
      startWatcher: ({ event }) => {
        if (event.type === 'watcher.open') {
          record({ type: 'watcher.start', watcher: event.watcher });
        }
      },
      startRequest: ({ event }) => {
        if (event.type === 'request.open') {
          record({ type: 'request.start', request: event.request });
        }
      },
      reapAgent: ({ event }) => {
        if (event.type !== 'agent.ended') return;
        record({ type: 'agent.ended', agentId: event.agentId, state: event.state });
      },
      reapWatcher: ({ event }) => {
        if (event.type === 'watcher.done') {
          record({ type: 'watcher.reap', watcherId: event.watcherId });
        }
      },
      reapRequest: ({ event }) => {
        if (event.type === 'request.settled') {
          record({ type: 'request.reap', requestId: event.requestId });
        }
      },
      // XState leaves an actor out that is not there, though its type asks for one.
      stopActor: stopChild(({ event }) =>
        event.type === 'actor.reap' ? (find(event.actorId) as AnyActorRef) : '',
      ),
      closeAgents: () => record({ type: 'agents.close' }),
      containCrash: ({ event }) => {
        if (!('error' in event)) return;
        record({ type: 'actor.crashed', actorId: event.actorId, error: event.error });
      },
    },
  });
  return { session, agent, task, watcher, request };
}
