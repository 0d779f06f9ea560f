/** The numbers that a session's step decides by: durations in ms, counts, sizes in characters. */
export interface Policy {
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
  readonly maxContentCharacters: number;
  readonly maxSummaryCharacters: number;
  readonly maxEnvelopeBytes: number;
  readonly maxUnread: number;
}

/** Defaults, each from the contract of the product (docs/design.md). */
export const defaultPolicy: Policy = {
  replyTimeoutMs: 10 * 60_000,
  taskTimeoutMs: null,
  staleAfterMs: 5 * 60_000,
  spawnTimeoutMs: 20_000,
  drainAfterMs: 10_000,
  coalesceMs: 25,
  maxContentCharacters: 50_000,
  maxSummaryCharacters: 8_000,
  maxEnvelopeBytes: 65_536,
  maxUnread: 1_000,
};
