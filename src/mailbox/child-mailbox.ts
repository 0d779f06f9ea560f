/**
 * The child's end: one outbox to write, one inbox to read. Knows nothing of Pi.
 *
 * Owns the sender's fields (ids, order, time, proof) and who gets what is received: a running ask its
 * verdict, the handler everything else. Does not decide what an envelope means to the child, nor
 * when it is handled.
 *
 * K1. Envelopes are published in the order of the calls; a refused one takes no place in it.
 * K2. The handler gets each envelope once, in order, after `receive` has returned; without a handler
 *     nothing but awaited verdicts is taken from the line.
 * K3. A verdict that a running ask waits for goes to it alone and is acked; a late one is mail.
 * K4. An ask never fails after its envelope is out: no verdict in time means queued, not refused.
 * K5. After `dispose` nothing is sent, received or called any more; acks still work.
 */
import { MailboxError } from '../errors.ts';
import type { IdMaker } from '../ids.ts';
import { attachmentPath, readAttachment } from './attachment.ts';
import { refusalOf, sealEnvelope, type Identity } from './capability.ts';
import type { Attachment, Envelope, EnvelopeDraft, EnvelopeOf } from './envelope.ts';
import { openInbox, type InboxReports } from './inbox.ts';
import { boxesAt } from './layout.ts';
import { diskError, lies, realFs, type MailFs } from './mail-fs.ts';
import { publishEnvelope, type Durability } from './publish.ts';
import { watchBoxes } from './watch.ts';

export interface ChildMailboxOptions extends InboxReports {
  /** Epoch ms. */
  readonly now: () => number;
  readonly ids: Pick<IdMaker, 'messageId'>;
  /** Between two sweeps of the inbox, in ms; at most and by default 1,000. */
  readonly sweepMs?: number | undefined;
  /** Whether waiting for mail keeps the process alive; a running ask does. Default false. */
  readonly keepAlive?: boolean | undefined;
  readonly fs?: MailFs | undefined;
}

interface ChildSendOptions {
  /** Given to repeat a send whose outcome is not known. Default: a new one. */
  readonly messageId?: string | undefined;
  /** Default: `none` for heartbeats, else `fsync`. */
  readonly durability?: Durability | undefined;
}

interface AskOptions extends ChildSendOptions {
  /** Default 2,000. */
  readonly timeoutMs?: number | undefined;
  /** Aborted before the call, nothing is sent; aborted later, the ask ends without its verdict. */
  readonly signal?: AbortSignal | undefined;
}

interface Asked {
  readonly messageId: string;
  /** Undefined: queued; the verdict comes later, as mail. */
  readonly verdict: EnvelopeOf<'verdict'> | undefined;
}

export interface ChildMailbox {
  /**
   * Publishes an envelope and returns its id.
   *
   * @throws MailboxError `invalid_envelope`, `message_too_large`, `duplicate_conflict`,
   * `disk_error`, `broker_unavailable` after `dispose`.
   */
  send(draft: EnvelopeDraft, options?: ChildSendOptions): string;
  /** Publishes, then waits for the Shepherd's verdict on it. Rejects as `send` throws. */
  ask(draft: EnvelopeDraft, options?: AskOptions): Promise<Asked>;
  /**
   * Begins to give received envelopes to `handler`, in place of an earlier one; returns the stop.
   *
   * A handler that throws has had its envelope; the error is uncaught, the next ones follow.
   */
  receive(handler: (envelope: Envelope) => void): () => void;
  /**
   * Marks a received envelope as handled. Idempotent.
   *
   * @throws MailboxError `disk_error`; it then comes again from the next process.
   */
  ack(messageId: string): void;
  /** Makes it a dead letter with this reason; otherwise like `ack`. */
  bury(messageId: string, reason: string): void;
  /** Where the text lies that an envelope names; absolute. */
  attachmentPath(attached: Attachment): string;
  /** Reads it. @throws MailboxError `disk_error`; `invalid_envelope` when it is another text. */
  readAttachment(attached: Attachment): string;
  /** Ends watches and timers; running asks end without their verdict. Idempotent. */
  dispose(): void;
}

/** While an ask runs, what fs.watch misses is found this soon. */
const askSweepMs = 50;

/**
 * Opens the child's end of its own boxes.
 *
 * @throws MailboxError `broker_unavailable` when the boxes are not there.
 */
export function createChildMailbox(identity: Identity, options: ChildMailboxOptions): ChildMailbox {
  const { now, ids, onBad, onTrouble, fs = realFs } = options;
  const { sessionId, brokerId, agentId, secret, limits } = identity;
  const { inbox: inboxBox, outbox: outboxBox } = boxesAt(identity.boxesDir);
  if (!lies(fs, inboxBox.new) || !lies(fs, outboxBox.new)) {
    throw new MailboxError('broker_unavailable', `There is no mailbox at ${identity.boxesDir}.`);
  }
  const expected = { sessionId, brokerId, secret, targetId: agentId };
  const inbox = openInbox(inboxBox, {
    now,
    maxEnvelopeBytes: limits.maxEnvelopeBytes,
    fs,
    refusalOf: (envelope) => refusalOf(envelope, expected),
    onBad,
    onTrouble,
  });
  const asks = new Map<string, (verdict?: EnvelopeOf<'verdict'>) => void>();
  const line: Envelope[] = [];
  let handler: ((envelope: Envelope) => void) | undefined;
  let delivering = false;
  let seq = 0;
  let disposed = false;

  const pathOf = (attached: Attachment): string => attachmentPath(identity.boxesDir, attached);

  const ackVerdict = (messageId: string): void => {
    try {
      inbox.ack(messageId);
    } catch (error) {
      // The ask has its answer all the same; the next process hears the verdict once more.
      onTrouble?.(diskError('ack the verdict', messageId, error));
    }
  };

  const deliver = (): void => {
    if (delivering) return;
    delivering = true;
    try {
      for (let next = line[0]; next !== undefined; next = line[0]) {
        if (handler === undefined) return;
        line.shift();
        handler(next);
      }
    } finally {
      delivering = false;
    }
  };

  const look = (): void => {
    if (disposed || (handler === undefined && asks.size === 0)) return;
    for (const { envelope } of inbox.claim()) {
      const answer = envelope.kind === 'verdict' ? asks.get(envelope.forMessageId) : undefined;
      if (envelope.kind === 'verdict' && answer !== undefined) {
        ackVerdict(envelope.messageId);
        answer(envelope);
      } else {
        line.push(envelope);
      }
    }
    deliver();
  };

  const watch = watchBoxes({
    onMail: look,
    sweepMs: options.sweepMs,
    keepAlive: options.keepAlive,
    fs,
  });

  const send: ChildMailbox['send'] = (draft, { messageId, durability } = {}) => {
    if (disposed) throw new MailboxError('broker_unavailable', 'The mailbox is disposed.');
    const createdAt = now();
    const envelope = sealEnvelope(
      {
        ...draft,
        v: 1,
        sessionId,
        brokerId,
        senderId: agentId,
        messageId: messageId ?? ids.messageId(createdAt),
        createdAt,
        seq,
        hops: 0,
      },
      secret,
    );
    publishEnvelope(outboxBox, envelope, {
      durability: durability ?? (envelope.kind === 'heartbeat' ? 'none' : 'fsync'),
      maxEnvelopeBytes: limits.maxEnvelopeBytes,
      fs,
    });
    seq += 1;
    return envelope.messageId;
  };

  const verdictOn = (
    messageId: string,
    { timeoutMs = 2_000, signal }: AskOptions,
  ): Promise<EnvelopeOf<'verdict'> | undefined> =>
    new Promise((resolve) => {
      const end = (verdict?: EnvelopeOf<'verdict'>): void => {
        clearTimeout(timeout);
        clearInterval(sweep);
        signal?.removeEventListener('abort', abandon);
        if (asks.get(messageId) === end) asks.delete(messageId);
        resolve(verdict);
      };
      const abandon = (): void => {
        end();
      };
      const timeout = setTimeout(abandon, timeoutMs);
      const sweep = setInterval(look, askSweepMs);
      signal?.addEventListener('abort', abandon);
      asks.set(messageId, end);
    });

  return {
    send,
    async ask(draft, asking = {}) {
      asking.signal?.throwIfAborted();
      const messageId = send(draft, asking);
      watch.add(inboxBox.new);
      return { messageId, verdict: await verdictOn(messageId, asking) };
    },
    receive(next) {
      handler = next;
      watch.add(inboxBox.new);
      setImmediate(look);
      return () => {
        if (handler === next) handler = undefined;
      };
    },
    ack(messageId) {
      inbox.ack(messageId);
    },
    bury(messageId, reason) {
      inbox.bury(messageId, reason);
    },
    attachmentPath: pathOf,
    readAttachment: (attached) => readAttachment(pathOf(attached), attached, fs),
    dispose() {
      disposed = true;
      handler = undefined;
      watch.close();
      for (const end of asks.values()) end();
    },
  };
}
