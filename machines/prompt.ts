/**
 * One prompt of the deprecated kind: it ends with the one turn of the child that it started.
 *
 * Owns: which turn that is, and how it ended. Never: a task; nothing that a prompt does settles one, and
 * what it ends with says nothing about work being done.
 *
 * PM1. Only a turn that begins after the prompt was sent is its turn.
 * PM2. The first end counts; an ended prompt takes no further event.
 */
import { assign, sendParent, setup, type ActorRefFrom } from 'xstate';

export interface PromptInput {
  readonly promptId: string;
  readonly agentId: string;
  /** Epoch ms at which it was sent. */
  readonly sentAtMs: number;
}

export type PromptStatus = 'completed' | 'failed' | 'cancelled';

export interface PromptContext extends PromptInput {
  readonly status: PromptStatus | null;
  readonly settledAtMs: number | null;
}

export type PromptEvent =
  | { readonly type: 'turn.started'; readonly atMs: number }
  | {
      readonly type: 'turn.settled';
      readonly atMs: number;
      readonly outcome: 'completed' | 'aborted' | 'failed';
    }
  | { readonly type: 'publish.failed'; readonly atMs: number }
  | { readonly type: 'agent.closed'; readonly atMs: number }
  | { readonly type: 'agent.lost'; readonly atMs: number }
  | { readonly type: 'actor.crashed'; readonly atMs: number };

/** What the agent hears when its prompt has ended. */
export interface PromptSettledEvent {
  readonly type: 'prompt.settled';
  readonly promptId: string;
  readonly atMs: number;
}

/** The actions of each end. */
function end(status: PromptStatus) {
  return [{ type: 'keepEnd', params: { status } }, 'recordPrompt', 'tellOwner'] as const;
}

export const promptMachine = setup({
  types: {
    context: {} as PromptContext,
    events: {} as PromptEvent,
    input: {} as PromptInput,
  },
  guards: {
    isAfterPrompt: ({ context, event }) =>
      event.type === 'turn.started' && event.atMs >= context.sentAtMs,
    isAborted: ({ event }) => event.type === 'turn.settled' && event.outcome === 'aborted',
    isFailed: ({ event }) => event.type === 'turn.settled' && event.outcome === 'failed',
  },
  actions: {
    keepEnd: assign(({ event }, { status }: { readonly status: PromptStatus }) => ({
      status,
      settledAtMs: event.atMs,
    })),
    tellOwner: sendParent(({ context }): PromptSettledEvent => ({
      type: 'prompt.settled',
      promptId: context.promptId,
      atMs: context.settledAtMs ?? context.sentAtMs,
    })),
    /** Runtime: the record shows how it ended, and who watches it is told. */
    recordPrompt: () => {},
  },
}).createMachine({
  id: 'prompt',
  description: 'One turn of a child, started on purpose. It completes no task.',
  context: ({ input }) => ({ ...input, status: null, settledAtMs: null }),
  initial: 'open',
  states: {
    open: {
      initial: 'sent',
      description: 'Its turn has not ended.',
      on: {
        'publish.failed': { target: 'failed', actions: [...end('failed')] },
        'agent.lost': { target: 'failed', actions: [...end('failed')] },
        'actor.crashed': { target: 'failed', actions: [...end('failed')] },
        'agent.closed': { target: 'cancelled', actions: [...end('cancelled')] },
      },
      states: {
        sent: {
          description: 'On its way; the child has not begun its turn.',
          on: { 'turn.started': { guard: 'isAfterPrompt', target: 'running' } },
        },
        running: {
          description: 'Its turn runs.',
          on: {
            'turn.settled': [
              { guard: 'isFailed', target: '#prompt.failed', actions: [...end('failed')] },
              { guard: 'isAborted', target: '#prompt.cancelled', actions: [...end('cancelled')] },
              { target: '#prompt.completed', actions: [...end('completed')] },
            ],
          },
        },
      },
    },
    completed: { type: 'final', tags: 'terminal', description: 'Its turn ended by itself.' },
    failed: { type: 'final', tags: 'terminal', description: 'Its turn, or its agent, failed.' },
    cancelled: {
      type: 'final',
      tags: 'terminal',
      description: 'Its turn was aborted, or its agent closed.',
    },
  },
});

export type PromptActor = ActorRefFrom<typeof promptMachine>;
