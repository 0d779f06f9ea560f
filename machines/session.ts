/**
 * The supervisor of one session: agents, watchers, and the Shepherd's own questions.
 *
 * Owns: whether the session takes new work, and how many agents live. Never: what an agent does.
 *
 * S1. Agents and watchers start and end by events here; each is restored alone.
 * S2. An actor that throws is contained: what it owned fails, the rest lives on.
 * S3. A closing session starts nothing and is closed when its last agent has ended.
 * S4. Whoever opens a session again, after its end too, finds it open.
 */
import { assign, setup, type ActorRefFrom, type ErrorActorEvent } from 'xstate';
import type { AgentEndedEvent, AgentInput } from './agent.ts';
import type { RequestInput, RequestSettledEvent } from './request.ts';
import type { WatcherDoneEvent, WatcherInput } from './watcher.ts';

export interface SessionContext {
  readonly sessionId: string;
  readonly liveAgents: number;
}

export type SessionEvent =
  | { readonly type: 'agent.spawn'; readonly agent: AgentInput }
  | AgentEndedEvent
  | { readonly type: 'watcher.open'; readonly watcher: WatcherInput }
  | WatcherDoneEvent
  | { readonly type: 'request.open'; readonly request: RequestInput }
  | RequestSettledEvent
  | { readonly type: 'actor.reap'; readonly actorId: string }
  | { readonly type: 'session.close'; readonly atMs: number }
  | { readonly type: 'session.reopened' }
  | ErrorActorEvent;

export const sessionMachine = setup({
  types: {
    context: {} as SessionContext,
    events: {} as SessionEvent,
    input: {} as { readonly sessionId: string },
  },
  guards: {
    hasAgents: ({ context }) => context.liveAgents > 0,
    isLastAgent: ({ context }) => context.liveAgents <= 1,
  },
  actions: {
    countUp: assign({ liveAgents: ({ context }) => context.liveAgents + 1 }),
    countDown: assign({ liveAgents: ({ context }) => context.liveAgents - 1 }),
    /** Runtime: creates the actor under this session. */
    startAgent: () => {},
    startWatcher: () => {},
    startRequest: () => {},
    /** Runtime: marks the finished actor, to be stopped once this is committed. */
    reapAgent: () => {},
    reapWatcher: () => {},
    reapRequest: () => {},
    /** Runtime: stops the actor; only its parent can. Its record stays readable. */
    stopActor: () => {},
    /** Runtime: asks every live agent to close. */
    closeAgents: () => {},
    /** Runtime: rolls the throwing actor back and fails what it owned. */
    containCrash: () => {},
  },
}).createMachine({
  id: 'session',
  description: 'Supervises the agents, watchers and Shepherd questions of one session.',
  context: ({ input }) => ({ sessionId: input.sessionId, liveAgents: 0 }),
  initial: 'open',
  on: {
    'xstate.error.actor.*': { actions: 'containCrash' },
    'actor.reap': { actions: 'stopActor' },
    'watcher.done': { actions: 'reapWatcher' },
    'request.settled': { actions: 'reapRequest' },
  },
  states: {
    open: {
      description: 'Takes new agents, watchers and questions.',
      on: {
        'agent.spawn': { actions: ['startAgent', 'countUp'] },
        'agent.ended': { actions: ['countDown', 'reapAgent'] },
        'watcher.open': { actions: 'startWatcher' },
        'request.open': { actions: 'startRequest' },
        'session.close': [
          { guard: 'hasAgents', target: 'closing', actions: 'closeAgents' },
          { target: 'closed' },
        ],
      },
    },
    closing: {
      description: 'Its agents are being ended; nothing new starts.',
      on: {
        'agent.ended': [
          { guard: 'isLastAgent', target: 'closed', actions: ['countDown', 'reapAgent'] },
          { actions: ['countDown', 'reapAgent'] },
        ],
        'session.reopened': { target: 'open' },
      },
    },
    closed: {
      description: 'Every agent has ended.',
      tags: 'ended',
      on: { 'session.reopened': { target: 'open' } },
    },
  },
});

export type SessionActor = ActorRefFrom<typeof sessionMachine>;
