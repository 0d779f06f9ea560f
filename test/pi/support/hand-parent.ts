/** A parent by hand: the real mailbox of a session, and a test that decides what is answered. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createIdMaker, SHEPHERD_ID } from '../../../src/ids.ts';
import { readIdentity, type Identity } from '../../../src/mailbox/capability.ts';
import { describeAttachment } from '../../../src/mailbox/attachment.ts';
import type {
  Attachment,
  Envelope,
  EnvelopeDraft,
  EnvelopeOf,
} from '../../../src/mailbox/envelope.ts';
import { createFilesystemMailbox } from '../../../src/mailbox/filesystem-mailbox.ts';
import type { LimitsInput } from '../../../src/mailbox/limits.ts';

type Verdict = Pick<EnvelopeOf<'verdict'>, 'ok' | 'code' | 'error' | 'data'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

export interface HandParent {
  readonly identity: Identity;
  readonly identityPath: string;
  /** Everything that the child has sent, in order. */
  readonly received: readonly Envelope[];
  readonly ofKind: <Kind extends Envelope['kind']>(kind: Kind) => EnvelopeOf<Kind>[];
  readonly events: () => readonly string[];
  /** Sends to the child and returns the message id. */
  readonly send: (draft: DistributiveOmit<EnvelopeDraft, 'targetId'>, senderId?: string) => string;
  /** Puts a text beside the child's boxes, for an envelope to name. */
  readonly attach: (text: string) => Attachment;
  /** What the child has said of an envelope, in order. */
  readonly receiptsOf: (messageId: string) => readonly string[];
  /** How calls that can be refused are answered; undefined: not at all. */
  answer: (envelope: Envelope) => Verdict | undefined;
  /** Ids that the child has not acked. */
  readonly unacked: () => readonly string[];
}

export const peerId = 'shepherd-agent-planner00000';
export const taskId = 'shepherd-task-000000000001';

export function createHandParent(limits: LimitsInput = {}): HandParent {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-parent-'));
  const ids = createIdMaker();
  const incarnation = { agentId: ids.agentId(), launch: 1 };
  const session = { sessionId: 'test', brokerId: 'broker' };
  const mailbox = createFilesystemMailbox({ dir, ...session, now: Date.now, limits });
  const identityPath = mailbox.open(incarnation, {
    secret: ids.secret(),
    label: 'api',
    agent: 'scout',
  });
  const received: Envelope[] = [];
  let seq = 0;

  const send: HandParent['send'] = (draft, senderId = SHEPHERD_ID) => {
    const messageId = ids.messageId(Date.now());
    mailbox.send(incarnation, {
      ...draft,
      targetId: incarnation.agentId,
      v: 1,
      ...session,
      messageId,
      senderId,
      createdAt: Date.now(),
      seq: seq++,
      hops: 0,
    });
    return messageId;
  };
  const look = (): void => {
    for (const claimed of mailbox.take()) {
      const { envelope } = claimed;
      received.push(envelope);
      mailbox.ack(claimed);
      if (!['message', 'reply', 'task_done', 'roster'].includes(envelope.kind)) continue;
      const verdict = parent.answer(envelope);
      if (verdict !== undefined) {
        send({ kind: 'verdict', forMessageId: envelope.messageId, ...verdict });
      }
    }
  };
  const parent: HandParent = {
    identity: readIdentity(identityPath),
    identityPath,
    received,
    ofKind: (kind) =>
      received.filter((envelope) => envelope.kind === kind) as EnvelopeOf<typeof kind>[],
    events: () => parent.ofKind('runtime').map(({ event }) => event),
    send,
    attach(text) {
      const attachment = describeAttachment(ids.messageId(Date.now()), text);
      mailbox.attach(incarnation, attachment, text);
      return attachment;
    },
    receiptsOf: (messageId) =>
      parent
        .ofKind('receipt')
        .flatMap(({ forMessageId, receipt }) => (forMessageId === messageId ? [receipt] : [])),
    answer: () => ({ ok: true }),
    unacked: () => mailbox.unacked(incarnation).map(({ messageId }) => messageId),
  };
  mailbox.onMail(look);
  onTestFinished(() => {
    mailbox.dispose();
    rmSync(dir, { recursive: true, force: true });
  });
  return parent;
}
