/**
 * The parent's end of all mail of one session: a port.
 *
 * Owns what a transport promises the runtime. Implementations: files (`filesystem-mailbox.ts`); the
 * model checker's own, in memory. Does not route, rate or interpret.
 *
 * M1. An accepted envelope reaches its recipient at least once; what is taken comes again, from the
 *     next process too, until it is acked or buried.
 * M2. `take` returns each sender's envelopes in the order in which they were sent, and all of them
 *     oldest first.
 * M3. What is taken was sent by the incarnation it is said to be from; anything else is quarantined.
 * M4. A fenced incarnation is neither read nor written, whatever it still does.
 */
import type { UnsealedEnvelope } from './capability.ts';
import type { Attachment, Envelope } from './envelope.ts';
import type { Incarnation } from './layout.ts';
import type { Durability } from './publish.ts';

interface OpenOptions {
  /** Key of the MAC in both directions; an incarnation keeps its own. */
  readonly secret: string;
  readonly label: string;
  /** Name of the agent's definition. */
  readonly agent: string;
  /** Where the identity file is written. Default: beside the boxes. */
  readonly identityPath?: string | undefined;
}

export interface SendOptions {
  /** Default `fsync`. */
  readonly durability?: Durability | undefined;
}

/** One envelope from an outbox. */
export interface Claimed {
  readonly from: Incarnation;
  readonly envelope: Envelope;
  /** Epoch ms at which this process took it; deadlines are decided by `createdAt`. */
  readonly claimedAtMs: number;
  /** It had been taken before, and never acked: what it asks for may have been done. */
  readonly isAgain: boolean;
}

/** Names a claimed envelope, also one that an earlier process claimed. */
interface ClaimRef {
  readonly from: Incarnation;
  readonly envelope: Pick<Envelope, 'messageId'>;
}

export interface Mailbox {
  /**
   * Makes the boxes and the identity file of an incarnation and begins to read its outbox; returns
   * the identity file's path. Idempotent; a restarted parent opens with the same secret.
   *
   * @throws MailboxError `disk_error`, `superseded` once fenced, `invalid_capability` for another
   * secret than before.
   */
  open(incarnation: Incarnation, options: OpenOptions): string;
  /**
   * Seals an envelope for its recipient and publishes it into its inbox; returns when it is safe.
   *
   * Idempotent by message id; a repeat is `duplicate` also when the inbox is full. `task_done`,
   * `verdict`, `task_closed` and the runtime kinds are taken by a full inbox.
   *
   * @throws MailboxError `invalid_target` when the incarnation is not open or not the envelope's
   * target, `superseded` once fenced, `foreign_session`, `invalid_envelope`, `queue_full`,
   * `message_too_large`, `duplicate_conflict`, `disk_error`, `broker_unavailable` once disposed; the
   * inbox is then unchanged.
   */
  send(
    to: Incarnation,
    envelope: UnsealedEnvelope,
    options?: SendOptions,
  ): 'accepted' | 'duplicate';
  /**
   * Puts a text where its recipient finds it; before the envelope that names it. Idempotent.
   *
   * @throws MailboxError `invalid_target` when the incarnation is not open, `superseded` once fenced,
   * `disk_error`.
   */
  attach(to: Incarnation, attachment: Attachment, text: string): void;
  /** Removes an attached text; none there is fine. @throws MailboxError `disk_error`. */
  detach(to: Incarnation, attachment: Pick<Attachment, 'file'>): void;
  /**
   * Takes what lies in the outboxes: those with a hint of mail, or with `all` every one.
   *
   * Never throws for bad files or the disk; those are reported.
   */
  take(options?: { readonly all?: boolean }): readonly Claimed[];
  /**
   * Whether the last `take` of some outbox had to leave what may be mail, for a few seconds at most:
   * nothing that depends on what was sent in time should be decided.
   */
  isBehind(): boolean;
  /**
   * Marks as handled, once its effect is durable. Idempotent; ignored when not open.
   *
   * @throws MailboxError `disk_error`; it then comes again.
   */
  ack(claimed: ClaimRef): void;
  /** Makes it a dead letter with this reason; otherwise like `ack`. */
  bury(claimed: ClaimRef, reason: string): void;
  /**
   * Puts it back in line: the next `take` returns it again, before newer ones of its sender. Retry
   * also what was taken after it from the same sender, or the order is lost.
   */
  retry(claimed: ClaimRef): void;
  /** Counts what an incarnation has not acked. Throws like `unacked`. */
  depth(to: Incarnation): number;
  /**
   * Reads what an incarnation has not acked, in order: what a fresh dispatch takes over. Also for a
   * fenced one.
   *
   * @throws MailboxError `invalid_target` when it was never opened or is removed, `disk_error`.
   */
  unacked(to: Incarnation): readonly Envelope[];
  /**
   * Makes dead letters of what an incarnation has not acked: what a fresh one has been given, the
   * replaced one is not to read. None there is fine.
   *
   * @throws MailboxError `disk_error`; some of it may be left then.
   */
  empty(to: Incarnation): void;
  /** Calls `listener` when there may be mail, at least each second; returns the stop. */
  onMail(listener: () => void): () => void;
  /** Reads its outbox no more and refuses sends to it; the boxes stay. Idempotent. */
  fence(incarnation: Incarnation): void;
  /**
   * Deletes boxes and identity file; only once the child is proven gone. Idempotent.
   *
   * @throws MailboxError `disk_error`; the incarnation is then fenced.
   */
  remove(incarnation: Incarnation): void;
  /** Ends watches and timers; boxes stay. Idempotent. */
  dispose(): void;
}

/** Merges what senders sent, each in its own order, oldest `createdAt` first. */
export function mergeOldestFirst(senders: readonly (readonly Claimed[])[]): Claimed[] {
  return senders
    .flatMap((sent) => {
      // A sender whose clock stepped back keeps its order.
      let latest = 0;
      return sent.map((claimed) => {
        latest = Math.max(latest, claimed.envelope.createdAt);
        return { claimed, atMs: latest };
      });
    })
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ claimed }) => claimed);
}
