/**
 * What is refused because it is too much: too long, too often, too far, too late.
 *
 * Counted by the parent, before anything is sent; `task_done` and verdicts are never touched.
 *
 * LI1. A minute is the last minute: no more than so many messages of one sender to one recipient lie
 *      within any sixty seconds of the sender's own time.
 * LI2. A chain of envelopes ends at the hop limit, whoever is in it; the Shepherd hears of it once.
 */
import { ConfigError, MailboxError } from '../errors.ts';
import { SHEPHERD_ID } from '../ids.ts';
import { characterCount, isLongerThan } from '../text.ts';
import type { Frame } from './herd.ts';
import { sendPassiveNotice } from './notices.ts';
import type { Policy } from './policy.ts';
import { nameOf } from './router.ts';

type TextLimits = Pick<Policy, 'maxContentCharacters' | 'maxEnvelopeBytes'>;

/** @throws ConfigError `session_closed` when the session takes nothing new. */
export function refuseClosedSession(frame: Frame): void {
  if (frame.herd.session.getSnapshot().matches('open')) return;
  throw new ConfigError('session_closed', 'This session is closing; it takes nothing new.');
}

/** What an envelope may need besides its text. */
const envelopeOverheadBytes = 2_048;

/** Whether a text can travel in an envelope's own `content`. */
export function fitsEnvelope(text: string, policy: TextLimits): boolean {
  return (
    !isLongerThan(text, policy.maxContentCharacters) &&
    encodedBytes(text) <= policy.maxEnvelopeBytes - envelopeOverheadBytes
  );
}

/**
 * @throws MailboxError `message_too_large` for more characters (code points) than are taken, or for a
 * text that does not fit an envelope when it is encoded.
 */
export function refuseTooLong(text: string, policy: TextLimits): void {
  refuseTooManyCharacters(text, policy.maxContentCharacters);
  const bytes = encodedBytes(text);
  const maxBytes = policy.maxEnvelopeBytes - envelopeOverheadBytes;
  if (bytes <= maxBytes) return;
  throw new MailboxError(
    'message_too_large',
    `The text has ${bytes} bytes; at most ${maxBytes} fit into an envelope. Write it to a file and name the file.`,
    { data: { bytes, maxBytes } },
  );
}

const encodedBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));

/** @throws MailboxError `message_too_large`; lengths are counted in characters (code points). */
export function refuseTooManyCharacters(text: string, maxCharacters: number): void {
  if (!isLongerThan(text, maxCharacters)) return;
  const length = characterCount(text);
  throw new MailboxError(
    'message_too_large',
    `The text has ${length} characters; at most ${maxCharacters} are taken. Write it to a file and name the file.`,
    { data: { length, maxCharacters } },
  );
}

/** @throws MailboxError `queue_full` when the recipient has too much unread. */
export function refuseFullInbox(frame: Frame, targetId: string): void {
  const { herd, draft } = frame;
  if (targetId === SHEPHERD_ID || herd.unread(targetId) < herd.policy.maxUnread) return;
  throw new MailboxError(
    'queue_full',
    `${nameOf(draft, targetId)} has ${herd.policy.maxUnread} unread envelopes; wait until it has read some.`,
    { retryable: true, data: { agentId: targetId } },
  );
}

/** What a rate is counted over, in ms. */
export const minuteMs = 60_000;

/** One plain message or question on its way. */
interface Sent {
  readonly senderId: string;
  readonly targetId: string;
  readonly atMs: number;
}

/**
 * Counts a message of this pair (LI1); the Shepherd is told once that a pair goes too fast.
 *
 * @throws MailboxError `rate_limited` with the instant from which it is taken again.
 */
export function refuseTooOften(frame: Frame, { senderId, targetId, atMs }: Sent): void {
  const { draft, herd } = frame;
  const { messagesPerMinute } = herd.policy;
  const id = `${senderId}>${targetId}`;
  const known = draft.get('rate', id);
  const recent = known?.sentAtMs.filter((sentAtMs) => sentAtMs > atMs - minuteMs) ?? [];
  if (recent.length < messagesPerMinute) {
    const isTold = known?.isTold === true && recent.length > 0;
    draft.put('rate', { id, sentAtMs: [...recent, atMs], isTold });
    return;
  }
  const againAtMs = (recent.at(-messagesPerMinute) ?? atMs) + minuteMs;
  const to = nameOf(draft, targetId);
  if (known !== undefined && !known.isTold && senderId !== SHEPHERD_ID) {
    draft.put('rate', { ...known, isTold: true });
    sendPassiveNotice(
      frame,
      `${nameOf(draft, senderId)} writes too often to ${to}: more than ${messagesPerMinute} messages a minute are refused.`,
      { code: 'rate_limited', agentId: senderId, targetId },
    );
  }
  const seconds = Math.max(1, Math.ceil((againAtMs - atMs) / 1000));
  throw new MailboxError(
    'rate_limited',
    `${messagesPerMinute} messages a minute to ${to} are the most; wait ${seconds} s, and say more in one message.`,
    { retryable: true, data: { targetId, againAtMs, messagesPerMinute } },
  );
}

/** How far an envelope is from the first one of its chain. */
export interface Chain {
  readonly chainId: string;
  readonly hops: number;
}

/**
 * The chain that a message belongs to: that of the envelope which started its sender's turn. What the
 * Shepherd says, and what a task leads to, begins one.
 *
 * @param causeId that envelope, as the sender says; without it the last one that woke the sender.
 */
export function chainOf(
  frame: Frame,
  said: {
    readonly messageId: string;
    readonly senderId: string;
    readonly causeId: string | undefined;
  },
): Chain {
  const { messageId, senderId, causeId } = said;
  if (senderId === SHEPHERD_ID) return { chainId: messageId, hops: 0 };
  const { draft } = frame;
  const named = draft.get('message', causeId ?? '');
  const cause =
    named?.targetId === senderId
      ? named
      : draft.get('message', draft.get('agent', senderId)?.wakeId ?? '');
  if (cause === undefined || cause.hops === 0) return { chainId: messageId, hops: 1 };
  return { chainId: cause.chainId, hops: cause.hops + 1 };
}

/**
 * Ends a chain (LI2). The Shepherd may always be written to: what it says begins a new one.
 *
 * @throws MailboxError `hop_limit`.
 */
export function refuseTooFar(
  frame: Frame,
  { senderId, targetId }: Omit<Sent, 'atMs'>,
  { chainId, hops }: Chain,
): void {
  const { draft, herd } = frame;
  const { maxHops } = herd.policy;
  if (targetId === SHEPHERD_ID || hops <= maxHops) return;
  if (draft.get('message', chainId)?.isCut !== true) {
    draft.change('message', chainId, { isCut: true });
    sendPassiveNotice(
      frame,
      `${nameOf(draft, senderId)}, ${nameOf(draft, targetId)} and perhaps others answered each other ${maxHops} times in a row, since ${chainId}; that was ended.`,
      { code: 'hop_limit', agentId: senderId, targetId, chainId, hops },
    );
  }
  throw new MailboxError(
    'hop_limit',
    `${maxHops} messages in a row led to this one, and that is the most. Do not go on with it: do your task, or ask the Shepherd.`,
    { data: { chainId, hops, maxHops } },
  );
}
