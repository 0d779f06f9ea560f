/**
 * The limits of the mailbox: their defaults (CONTRACT §7) and the schema that options are read with.
 *
 * Owns numbers only. Bytes and unread are enforced by this folder; characters, rate and hops by those
 * who know what an envelope is for (tools and router).
 */
import { z } from 'zod';
import type { EnvelopeKind } from './envelope.ts';

/** Reads limits; a missing one has its default, an unknown one is refused. */
export const limitsSchema = z.strictObject({
  /** Bytes of one envelope file, encoded. */
  maxEnvelopeBytes: z.int().positive().default(65_536),
  /** Characters of `content`; a larger task text travels as an attachment file. */
  maxContentCharacters: z.int().positive().default(50_000),
  /** Envelopes that lie published and not acked in one inbox. */
  maxUnread: z.int().positive().default(1_000),
  /** Characters of the `summary` of a `task_done`. */
  maxSummaryCharacters: z.int().positive().default(8_000),
  /** Envelopes of kind `message` (plain ones and questions) from one sender to one recipient a minute. */
  messagesPerMinute: z.int().positive().default(60),
  /** Envelopes that may lead to one another before the chain is cut. */
  maxHops: z.int().positive().default(8),
});
export type Limits = Readonly<z.infer<typeof limitsSchema>>;
export type LimitsInput = Readonly<z.input<typeof limitsSchema>>;

export const defaultLimits: Limits = Object.freeze(limitsSchema.parse({}));

/** Kinds that a full inbox still takes: each is owed to someone, and few are ever outstanding. */
export const exemptFromMaxUnread: ReadonlySet<EnvelopeKind> = new Set<EnvelopeKind>([
  'task_done',
  'verdict',
  'task_closed',
  'runtime',
  'hello',
  'heartbeat',
  'receipt',
]);
