/**
 * The parent's end of one incarnation's boxes: writes its inbox, reads its outbox.
 *
 * Owns the proof and the unread count of this pair. Which incarnations are open or fenced is
 * `filesystem-mailbox.ts`.
 */
import { basename, join } from 'node:path';
import { MailboxError } from '../errors.ts';
import { refusalOf, sealEnvelope, type UnsealedEnvelope } from './capability.ts';
import { createCredit } from './credit.ts';
import type { Envelope } from './envelope.ts';
import { readEnvelopeFile } from './envelope-file.ts';
import { openInbox, type Inbox, type InboxReports } from './inbox.ts';
import type { Boxes, Incarnation } from './layout.ts';
import { exemptFromMaxUnread, type Limits } from './limits.ts';
import { mailNames, onDisk, type MailFs } from './mail-fs.ts';
import type { SendOptions } from './mailbox.ts';
import { noteReason, setAside } from './moves.ts';
import { isPublished, publishEnvelope, type PublishOptions } from './publish.ts';

export interface ParentEndOptions extends InboxReports {
  readonly incarnation: Incarnation;
  readonly boxes: Boxes;
  readonly sessionId: string;
  readonly brokerId: string;
  readonly secret: string;
  readonly limits: Limits;
  /** Epoch ms. */
  readonly now: () => number;
  readonly fs: MailFs;
}

export interface ParentEnd {
  readonly outbox: Inbox;
  /** As `Mailbox.send`, but for an incarnation that is open. */
  send(unsealed: UnsealedEnvelope, options: SendOptions): 'accepted' | 'duplicate';
  depth(): number;
  unacked(): readonly Envelope[];
  empty(): void;
}

/** Opens the parent's end of boxes that exist. */
export function openParentEnd(options: ParentEndOptions): ParentEnd {
  const { incarnation, boxes, sessionId, brokerId, secret, limits, now, fs } = options;
  const { agentId } = incarnation;
  const { maxEnvelopeBytes, maxUnread } = limits;
  const credit = createCredit({ max: maxUnread, count: () => unackedPaths(fs, boxes).length });
  const expected = { sessionId, brokerId, secret, senderId: agentId };
  const outbox = openInbox(boxes.outbox, {
    now,
    maxEnvelopeBytes,
    refusalOf: (envelope) => refusalOf(envelope, expected),
    onBad: options.onBad,
    onTrouble: options.onTrouble,
    fs,
  });

  const refuseMisaddressed = (envelope: UnsealedEnvelope): void => {
    if (envelope.sessionId !== sessionId || envelope.brokerId !== brokerId) {
      const herd = `${envelope.sessionId}/${envelope.brokerId}`;
      throw new MailboxError(
        'foreign_session',
        `The envelope is of ${herd}; this mailbox carries only ${sessionId}/${brokerId}.`,
      );
    }
    if (envelope.targetId === agentId) return;
    throw new MailboxError(
      'invalid_target',
      `The envelope is for ${envelope.targetId}; this inbox belongs to ${agentId}.`,
    );
  };

  /** False when the inbox is full and has this envelope already. */
  const admit = (envelope: Envelope, publishing: PublishOptions): boolean => {
    if (exemptFromMaxUnread.has(envelope.kind)) {
      credit.spend();
      return true;
    }
    if (credit.admit()) return true;
    if (isPublished(boxes.inbox, envelope, publishing)) return false;
    throw new MailboxError(
      'queue_full',
      `${agentId} has ${String(maxUnread)} unread envelopes, the most its inbox takes. Try again when it has read some.`,
      { retryable: true, data: { ...incarnation, maxUnread } },
    );
  };

  return {
    outbox,
    send(unsealed, { durability }) {
      refuseMisaddressed(unsealed);
      const envelope = sealEnvelope(unsealed, secret);
      const publishing = { durability, maxEnvelopeBytes, fs };
      if (!admit(envelope, publishing)) return 'duplicate';
      return publishEnvelope(boxes.inbox, envelope, publishing);
    },
    depth: () => credit.recount(),
    unacked: () =>
      unackedPaths(fs, boxes).flatMap((path) => {
        const file = readEnvelopeFile(path, { fs, maxEnvelopeBytes });
        if (file.is === 'unreadable') throw file.error;
        return file.is === 'valid' ? [file.envelope] : [];
      }),
    empty() {
      for (const path of unackedPaths(fs, boxes)) {
        onDisk('set aside', path, () => {
          const at = setAside(fs, path, { dir: boxes.inbox.dead, name: basename(path) });
          noteReason(fs, at, 'superseded: a fresh child was given it.');
        });
      }
    },
  };
}

/** The files of an inbox that its owner has not acked, in order. */
function unackedPaths(fs: MailFs, { inbox }: Boxes): string[] {
  // `new` before `cur`: a file that moves meanwhile is seen twice and not missed.
  const unread = onDisk('list', inbox.new, () => mailNames(fs, inbox.new));
  const claimed = onDisk('list', inbox.cur, () => mailNames(fs, inbox.cur));
  const moved = new Set(claimed);
  return [
    ...claimed.map((name) => join(inbox.cur, name)),
    ...unread.filter((name) => !moved.has(name)).map((name) => join(inbox.new, name)),
  ];
}
