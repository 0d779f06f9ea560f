/**
 * Who sent this: the identity file of a child and the proof that its envelopes carry.
 *
 * Owns the identity file's format and the MAC. Does not decide who may send what to whom (the
 * router). Children run as the same user: the MAC stops mistakes, forged text and a confused model,
 * not hostile code under the same uid.
 *
 * C1. The identity file is complete whenever it exists (temp file, rename) and 0600.
 * C2. A sealed envelope satisfies the schema: what its reader would quarantine is never published.
 * C3. Sender identity is whose box it lay in and a valid MAC; a field alone proves nothing.
 * C4. The secret appears in no error.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { MailboxError, type MailboxErrorCode } from '../errors.ts';
import { agentIdSchema } from '../ids.ts';
import { canonicalJson, envelopeSchema, toWellFormed, type Envelope } from './envelope.ts';
import { limitsSchema } from './limits.ts';
import { errnoOf, onDisk, realFs, type MailFs } from './mail-fs.ts';

/** Reads the identity file: all that a child needs to act as itself. */
const identitySchema = z.strictObject({
  v: z.literal(1),
  sessionId: z.string().min(1),
  brokerId: z.string().min(1),
  agentId: agentIdSchema,
  launch: z.int().nonnegative(),
  /** Key of the MAC in both directions. */
  secret: z.string().min(32),
  /** Holds the incarnation's `inbox` and `outbox`; absolute. */
  boxesDir: z.string().refine((path) => isAbsolute(path), 'expected an absolute path'),
  label: z.string().min(1),
  /** Name of the agent's definition. */
  agent: z.string().min(1),
  limits: limitsSchema.prefault({}),
});
export type Identity = Readonly<z.infer<typeof identitySchema>>;
export type IdentityInput = Readonly<z.input<typeof identitySchema>>;

/**
 * Writes an identity file, 0600, in place of an earlier one.
 *
 * @throws MailboxError `invalid_capability` for an identity that breaks the schema, `disk_error`.
 */
export function writeIdentity(path: string, input: IdentityInput, fs: MailFs = realFs): Identity {
  const identity = parseIdentity(input, path);
  const temp = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    onDisk('write', temp, () => {
      fs.writeFileSync(temp, `${JSON.stringify(identity, null, 2)}\n`, {
        flag: 'wx',
        mode: 0o600,
        flush: true,
      });
    });
    onDisk('rename to', path, () => {
      fs.renameSync(temp, path);
    });
  } finally {
    onDisk('remove', temp, () => {
      fs.rmSync(temp, { force: true });
    });
  }
  return identity;
}

/**
 * Reads the identity file that a child was started with.
 *
 * @throws MailboxError `broker_unavailable` when it cannot be read, `invalid_capability` when what it
 * says is not an identity; the message names the field.
 */
export function readIdentity(path: string, fs: MailFs = realFs): Identity {
  let source: string;
  try {
    source = fs.readFileSync(path, 'utf8');
  } catch (cause) {
    throw new MailboxError(
      'broker_unavailable',
      `The identity file ${path} cannot be read (${errnoOf(cause) ?? String(cause)}).`,
      { cause },
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    // No cause: a syntax error quotes its source, and the secret is in it (C4).
    throw new MailboxError('invalid_capability', `The identity file ${path} is not JSON.`);
  }
  return parseIdentity(value, path);
}

function parseIdentity(value: unknown, path: string): Identity {
  const parsed = identitySchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MailboxError(
    'invalid_capability',
    `The identity for ${path} is not valid. ${z.prettifyError(parsed.error)}`,
  );
}

/** An envelope, or one kind of it, that still lacks its proof. */
export type WithoutMac<T> = T extends unknown ? Omit<T, 'mac'> : never;

export type UnsealedEnvelope = WithoutMac<Envelope>;

/** An earlier proof is not part of what is proven: a router seals again what it passes on. */
function macOf(envelope: UnsealedEnvelope & { readonly mac?: string }, secret: string): string {
  const { mac, ...unsealed } = envelope;
  return createHmac('sha256', secret).update(canonicalJson(unsealed)).digest('hex');
}

/**
 * Adds the proof, in place of an earlier one: HMAC-SHA256, hex, over the sorted-key JSON of the other
 * fields.
 *
 * @throws MailboxError `invalid_envelope` for fields that the reader's schema would refuse.
 */
export function sealEnvelope(envelope: UnsealedEnvelope, secret: string): Envelope {
  const unsealed = toWellFormed(envelope);
  const parsed = envelopeSchema.safeParse({ ...unsealed, mac: macOf(unsealed, secret) });
  if (parsed.success) return parsed.data;
  throw new MailboxError('invalid_envelope', z.prettifyError(parsed.error), {
    cause: parsed.error,
    data: { messageId: unsealed.messageId },
  });
}

/** Whether `mac` was made with this secret over exactly these fields; compared in constant time. */
export function verifyEnvelope(envelope: Envelope, secret: string): boolean {
  const expected = Buffer.from(macOf(envelope, secret), 'hex');
  return timingSafeEqual(expected, Buffer.from(envelope.mac, 'hex'));
}

/** Why an envelope is not taken. */
export interface Refusal {
  readonly code: MailboxErrorCode;
  readonly reason: string;
}

/** What every envelope of one box has to be. */
export interface Expected {
  readonly sessionId: string;
  readonly brokerId: string;
  readonly secret: string;
  /** In an outbox: its owner. */
  readonly senderId?: string;
  /** In an inbox: its owner. */
  readonly targetId?: string;
}

/** Says why an envelope does not belong into a box with these expectations; undefined: it does. */
export function refusalOf(envelope: Envelope, expected: Expected): Refusal | undefined {
  const { sessionId, brokerId, senderId, targetId, secret } = expected;
  if (envelope.sessionId !== sessionId) {
    return wrong('foreign_session', 'sessionId', envelope.sessionId, sessionId);
  }
  if (envelope.brokerId !== brokerId) {
    return wrong('foreign_session', 'brokerId', envelope.brokerId, brokerId);
  }
  if (senderId !== undefined && envelope.senderId !== senderId) {
    return wrong('invalid_sender', 'senderId', envelope.senderId, senderId);
  }
  if (targetId !== undefined && envelope.targetId !== targetId) {
    return wrong('invalid_target', 'targetId', envelope.targetId, targetId);
  }
  if (!verifyEnvelope(envelope, secret)) {
    return {
      code: 'invalid_capability',
      reason: 'mac is not the HMAC-SHA256 of this envelope under the secret of this box.',
    };
  }
  return undefined;
}

function wrong(code: MailboxErrorCode, field: string, found: string, expected: string): Refusal {
  return { code, reason: `${field} is ${JSON.stringify(found)}; this box takes only ${expected}.` };
}
