import { defaultLimits, limitsSchema, type Limits } from '../mailbox/limits.ts';

/** What a session's step decides by: durations in ms, counts, sizes in characters. */
export interface Policy extends Limits {
  /** How long a question may stay unanswered. */
  readonly replyTimeoutMs: number;
  /** Task deadline where `delegate` gives none; `null` for none. */
  readonly taskTimeoutMs: number | null;
  /** How long a task may wait before one reminder; `null` for no reminders. */
  readonly staleAfterMs: number | null;
  /** How long a child may take to say hello. */
  readonly spawnTimeoutMs: number;
  /** How long a child may take to let go of a task that settled from outside. */
  readonly drainAfterMs: number;
  /** How long outcomes are collected into one notice. */
  readonly coalesceMs: number;
  /** Bytes of a task's text, which travels as a file where it does not fit an envelope. */
  readonly maxTaskBytes: number;
  /** Reminder turns of a child that leaves its task open; 0 = none, and nobody is told. */
  readonly doneNudges: number;
  /** How long a child may show nothing while something is expected of it; `null` = not watched. */
  readonly stallAfterMs: number | null;
  /** Whether the Shepherd is told of a stall, or the child is replaced. */
  readonly stallRecovery: 'notify' | 'auto';
  /** Fresh children that a task may have. */
  readonly maxFreshDispatches: number;
  /** How long an agent is kept at rest after its task; `null` = until somebody closes it. */
  readonly closeIdleAfterMs: number | null;
  /** Whether a task that is dispatched gets a note. */
  readonly fieldnotes: boolean;
}

/** Defaults, each from the contract of the product (docs/design.md). */
export const defaultPolicy: Policy = {
  ...defaultLimits,
  replyTimeoutMs: 10 * 60_000,
  taskTimeoutMs: null,
  staleAfterMs: 5 * 60_000,
  spawnTimeoutMs: 20_000,
  drainAfterMs: 10_000,
  coalesceMs: 25,
  maxTaskBytes: 1_048_576,
  doneNudges: 1,
  stallAfterMs: 5 * 60_000,
  stallRecovery: 'notify',
  maxFreshDispatches: 1,
  closeIdleAfterMs: null,
  fieldnotes: true,
};

/** The part of it that the mailbox, and with it every child, goes by. */
export function limitsOf(policy: Policy): Limits {
  return limitsSchema.strip().parse(policy);
}

/** How much of what has ended is kept. */
export interface Retention {
  /** How many finished tasks, and as many of each other finished thing, are kept; 0 for none. */
  readonly keep: number;
  /** How long a finished thing is kept at most, in ms. */
  readonly keepMs: number;
}
