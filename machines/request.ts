/**
 * One question that expects a reply.
 *
 * Owns: whether the question is still open, and how it ended. Never: who may answer (the runtime
 * checks sender and `replyTo` and the guard holds it), what the reply says, what it means for a task.
 *
 * R1. Only a reply from the recipient it was sent to, naming this question, answers it.
 * R2. The first end wins; an ended request takes no further event.
 * R3. The reply deadline is an instant, decided once, and holds across restarts.
 * R4. Only the recipient agent's own end is `recipient_gone`, never the end of its task or turn.
 */
import { assign, sendParent, setup, type ActorRefFrom } from 'xstate';

export interface RequestInput {
  /** The question's message id. */
  readonly requestId: string;
  readonly askerId: string;
  readonly recipientId: string;
  /** The task that requires the answer, or `null`. */
  readonly taskId: string | null;
  readonly openedAtMs: number;
  /** Epoch ms after which a reply is late. */
  readonly deadlineAtMs: number;
}

export type RequestOutcome = 'answered' | 'expired' | 'recipient_gone' | 'cancelled';

export interface RequestContext extends RequestInput {
  readonly outcome: RequestOutcome | null;
  readonly settledAtMs: number | null;
}

export type RequestEvent =
  | {
      readonly type: 'reply.received';
      readonly replyTo: string;
      readonly fromId: string;
      readonly messageId: string;
      readonly atMs: number;
    }
  | { readonly type: 'recipient.gone'; readonly agentId: string; readonly atMs: number }
  | { readonly type: 'request.cancel'; readonly atMs: number }
  | { readonly type: 'session.resumed' };

/** What the owner of a request hears when it has ended. */
export interface RequestSettledEvent {
  readonly type: 'request.settled';
  readonly requestId: string;
  readonly outcome: RequestOutcome;
  readonly atMs: number;
}

export const requestMachine = setup({
  types: {
    context: {} as RequestContext,
    events: {} as RequestEvent,
    input: {} as RequestInput,
    output: {} as { readonly requestId: string; readonly outcome: RequestOutcome | null },
  },
  guards: {
    answersThis: ({ context, event }) =>
      event.type === 'reply.received' &&
      event.fromId === context.recipientId &&
      event.replyTo === context.requestId,
    isRecipient: ({ context, event }) =>
      event.type === 'recipient.gone' && event.agentId === context.recipientId,
  },
  actions: {
    keepOutcome: assign(({ context, event }, params: { readonly outcome: RequestOutcome }) => ({
      outcome: params.outcome,
      settledAtMs: 'atMs' in event ? event.atMs : context.deadlineAtMs,
    })),
    /** Runtime: the request's public record. */
    recordRequestSettled: () => {},
    tellOwner: sendParent(({ context }): RequestSettledEvent => ({
      type: 'request.settled',
      requestId: context.requestId,
      outcome: context.outcome ?? 'cancelled',
      atMs: context.settledAtMs ?? context.deadlineAtMs,
    })),
  },
  delays: {
    /** The bare instant; the runtime turns it into `instant − now`. */
    replyDeadline: ({ context }) => context.deadlineAtMs,
  },
}).createMachine({
  id: 'request',
  description:
    'One question that expects a reply: open until answered, expired, gone or cancelled.',
  context: ({ input }) => ({ ...input, outcome: null, settledAtMs: null }),
  initial: 'open',
  output: ({ context }) => ({ requestId: context.requestId, outcome: context.outcome }),
  states: {
    open: {
      description: 'The recipient has been asked and has not answered.',
      after: {
        replyDeadline: {
          target: 'expired',
          actions: [
            { type: 'keepOutcome', params: { outcome: 'expired' } },
            'recordRequestSettled',
            'tellOwner',
          ],
        },
      },
      on: {
        'reply.received': {
          guard: 'answersThis',
          target: 'answered',
          actions: [
            { type: 'keepOutcome', params: { outcome: 'answered' } },
            'recordRequestSettled',
            'tellOwner',
          ],
        },
        'recipient.gone': {
          guard: 'isRecipient',
          target: 'recipient_gone',
          actions: [
            { type: 'keepOutcome', params: { outcome: 'recipient_gone' } },
            'recordRequestSettled',
            'tellOwner',
          ],
        },
        'request.cancel': {
          target: 'cancelled',
          actions: [
            { type: 'keepOutcome', params: { outcome: 'cancelled' } },
            'recordRequestSettled',
            'tellOwner',
          ],
        },
        'session.resumed': { target: 'open', reenter: true },
      },
    },
    answered: { type: 'final', tags: 'settled', description: 'The recipient replied in time.' },
    expired: { type: 'final', tags: 'settled', description: 'The reply deadline passed.' },
    recipient_gone: {
      type: 'final',
      tags: 'settled',
      description: 'The recipient agent closed, failed or was lost.',
    },
    cancelled: {
      type: 'final',
      tags: 'settled',
      description: 'Withdrawn: by cancellation, by an override, or with its task.',
    },
  },
});

export type RequestActor = ActorRefFrom<typeof requestMachine>;
