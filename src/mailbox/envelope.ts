/**
 * The envelope: one JSON file that carries a message between processes.
 *
 * Owns the wire format and its checks. It does not decide who may send what to whom (the router) or
 * what an envelope means to a chart (`adapter.ts`).
 *
 * E1. Schemas are strict: an unknown field or kind is `invalid_envelope`, never ignored.
 * E2. Every text of an envelope is well-formed once it is sealed or taken, whatever came in.
 * E3. Two envelopes are the same when their content hash is: everything but `createdAt seq hops mac`.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MailboxError } from '../errors.ts';
import { agentIdSchema, messageIdSchema, SHEPHERD_ID, taskIdSchema } from '../ids.ts';
import { isLongerThan } from '../text.ts';

const instant = z.int().nonnegative();
const text = z.string();
const characters = (max: number) =>
  z.string().refine((value) => !isLongerThan(value, max), `at most ${max} characters`);
const partySchema = z.union([z.literal(SHEPHERD_ID), agentIdSchema]);

/** What a child has done since its launch; counted by the child's extension. */
const evidenceSchema = z.strictObject({
  turns: z.int().nonnegative(),
  toolCalls: z.int().nonnegative(),
  lastActivityAtMs: instant.nullable(),
});
export type Evidence = z.infer<typeof evidenceSchema>;

const head = {
  v: z.literal(1),
  sessionId: z.string().min(1),
  brokerId: z.string().min(1),
  messageId: messageIdSchema,
  /** Who wrote it; proven by the outbox it lay in and by `mac`, never by this field alone. */
  senderId: partySchema,
  /** In an outbox an id or a name, as the sender wrote it; in an inbox always the resolved id. */
  targetId: characters(200).min(1),
  /** Epoch ms at which the sender published it; decides against deadlines. */
  createdAt: instant,
  /** Rises by one with each envelope of a sender. */
  seq: z.int().nonnegative(),
  /** Set by the router: how many envelopes led to this one. */
  hops: z.int().nonnegative(),
  /** HMAC-SHA256, hex, over the sorted-key JSON without this field. */
  mac: z.string().regex(/^[0-9a-f]{64}$/),
};

const delivery = z.enum(['followUp', 'steer']);
export type Delivery = z.infer<typeof delivery>;

const conversation = {
  content: text.min(1),
  delivery,
  taskId: taskIdSchema.optional(),
  threadId: characters(200).min(1).optional(),
  expectsReply: z.boolean().optional(),
  deadlineAt: instant.optional(),
  /** What people call the sender; set by the router. */
  senderName: text.optional(),
  /** The envelope that started the sender's turn; set by the sender, not passed on. */
  causeId: messageIdSchema.optional(),
};

/** A text too long for an envelope: a file beside the recipient's boxes. */
const attachmentSchema = z.strictObject({
  /** Name of the file within the incarnation's `files` directory. */
  file: z.string().regex(/^[\w.-]+$/),
  bytes: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type Attachment = z.infer<typeof attachmentSchema>;

export const doneStatusSchema = z.enum(['completed', 'blocked', 'failed']);

/** Every kind of envelope, by its `kind`. Children send to the Shepherd, who routes. */
export const envelopeSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    ...head,
    kind: z.literal('task'),
    taskId: taskIdSchema,
    /** The whole text, or its beginning when there is an attachment. */
    content: text.min(1),
    deadlineAt: instant.optional(),
    attachment: attachmentSchema.optional(),
    /** Absolute path of the task's note, which the child may write to. */
    notePath: z.string().min(1).max(1_000).optional(),
  }),
  z.strictObject({ ...head, kind: z.literal('message'), ...conversation }),
  z.strictObject({ ...head, kind: z.literal('reply'), ...conversation, replyTo: messageIdSchema }),
  z.strictObject({
    ...head,
    kind: z.literal('task_done'),
    /** Left out: the task that the sender has now. Any text, so that an invented id is answered. */
    taskId: characters(200).optional(),
    status: doneStatusSchema,
    summary: text.optional(),
    /** Why the task is completed although a required reply is outstanding. */
    override: text.min(1).optional(),
    /** The child's last assistant text since the task began. */
    content: text.optional(),
    evidence: evidenceSchema.optional(),
  }),
  z.strictObject({
    ...head,
    kind: z.literal('runtime'),
    /** An observation of the child's own Pi; none of them settles a task as completed. */
    event: z.enum([
      'turn_started',
      'turn_settled',
      'provider_gave_up',
      'task_released',
      'blocked',
      'unblocked',
      'throttled',
      'thrashing',
    ]),
    /** The task that the child knows itself to have; of `task_released`, the one that was closed. */
    taskId: taskIdSchema.optional(),
    aborted: z.boolean().optional(),
    /** Of `throttled`: when the provider takes requests again. */
    untilMs: instant.optional(),
    error: text.optional(),
    content: text.optional(),
    evidence: evidenceSchema.optional(),
  }),
  z.strictObject({
    ...head,
    kind: z.literal('hello'),
    pid: z.int().positive(),
    tools: z.array(z.string()),
    sessionFile: z.string().optional(),
  }),
  z.strictObject({ ...head, kind: z.literal('heartbeat'), evidence: evidenceSchema }),
  z.strictObject({
    ...head,
    kind: z.literal('verdict'),
    forMessageId: messageIdSchema,
    ok: z.boolean(),
    code: z.string().optional(),
    error: text.optional(),
    data: z.record(z.string(), z.unknown()).optional(),
  }),
  z.strictObject({
    ...head,
    kind: z.literal('receipt'),
    forMessageId: messageIdSchema,
    /** `delivered`: an entry of the recipient's session; `seen`: a model call had it; `dead`: gave up. */
    receipt: z.enum(['delivered', 'seen', 'dead']),
    error: text.optional(),
  }),
  z.strictObject({ ...head, kind: z.literal('roster') }),
  z.strictObject({
    ...head,
    kind: z.literal('task_closed'),
    taskId: taskIdSchema,
    status: z.enum(['completed', 'blocked', 'failed', 'cancelled', 'timed_out']),
    error: text.optional(),
  }),
  z.strictObject({
    ...head,
    kind: z.literal('notice'),
    content: text.min(1),
    code: z.string().optional(),
    taskId: taskIdSchema.optional(),
    /** The request that the notice is about, for instance one whose recipient is gone. */
    requestId: messageIdSchema.optional(),
  }),
]);

export type Envelope = z.infer<typeof envelopeSchema>;
export type EnvelopeKind = Envelope['kind'];
export type EnvelopeOf<K extends EnvelopeKind> = Extract<Envelope, { kind: K }>;

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** The code of a notice that is a prompt: the turn that it starts is what was wanted. */
export const promptCode = 'prompt';

/** Codes of notices that a child reads with its next turn, without being woken. */
export const passiveNoticeCodes: ReadonlySet<string> = new Set(['request_withdrawn']);

/** What a sender decides; session, broker, sender, order, hops and proof are added on publishing. */
export type EnvelopeDraft = DistributiveOmit<
  Envelope,
  'v' | 'sessionId' | 'brokerId' | 'senderId' | 'createdAt' | 'seq' | 'hops' | 'mac' | 'messageId'
>;

/**
 * Parses the text of an envelope file.
 *
 * @throws MailboxError `invalid_envelope` for text that is not JSON or breaks the schema; the
 * message names the field.
 */
export function parseEnvelope(source: string): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (cause) {
    throw new MailboxError('invalid_envelope', 'The envelope is not JSON.', { cause });
  }
  const parsed = envelopeSchema.safeParse(value);
  if (!parsed.success) {
    throw new MailboxError('invalid_envelope', z.prettifyError(parsed.error), {
      cause: parsed.error,
    });
  }
  return parsed.data;
}

/** The same with every text well-formed: half a character becomes U+FFFD. */
export function toWellFormed<T>(value: T): T {
  const json = JSON.stringify(value);
  // JSON escapes half characters, and nothing else, as `\ud…`.
  if (!json.includes('\\ud')) return value;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- texts change, the shape does not
  return JSON.parse(json, (_key, inner: unknown) =>
    typeof inner === 'string' ? inner.toWellFormed() : inner,
  ) as T;
}

/** JSON with the keys of every object sorted: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Identity of an envelope's meaning, as hex: equal for a repeat, different for a conflict (E3). */
export function contentHash(envelope: Envelope): string {
  const { createdAt, seq, hops, mac, ...content } = envelope;
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}
