/**
 * What an agent wrote last, found in its outbox once it had ended.
 *
 * LW1. Words for the Shepherd are handed on, and nobody waits for an answer to them.
 * LW2. Words for another agent are dead: the Shepherd is told once, and may pass them on.
 */
import { ShepherdError } from '../errors.ts';
import { SHEPHERD_ID } from '../ids.ts';
import type { EnvelopeOf } from '../mailbox/envelope.ts';
import { firstCharacters } from '../text.ts';
import { keepLateReply } from './conversation.ts';
import type { Frame } from './herd.ts';
import { sendIncoming, sendPassiveNotice } from './notices.ts';
import type { AgentRecord } from './records.ts';
import { excerpt, nameOf, resolveTarget } from './router.ts';

/** Hands on a message or reply of an agent that has ended, or says that it cannot be. */
export function handOnLate(
  frame: Frame,
  { id: senderId }: AgentRecord,
  envelope: EnvelopeOf<'message'> | EnvelopeOf<'reply'>,
): void {
  const { draft, herd } = frame;
  const { messageId, kind, createdAt: createdAtMs } = envelope;
  const content = firstCharacters(envelope.content, herd.policy.maxContentCharacters);
  const replyTo = kind === 'reply' ? envelope.replyTo : undefined;
  const answered = replyTo === undefined ? undefined : draft.get('request', replyTo);
  // Only who was asked can be late with an answer.
  if (answered?.recipientId === senderId) {
    keepLateReply(frame, { createdAtMs, senderId, content }, answered);
  }

  const targetId = whoIsMeant(frame, envelope.targetId);
  const isHandedOn = targetId === SHEPHERD_ID;
  const error = `agent_closed: ${nameOf(draft, senderId)} had ended before it was read.`;
  if (targetId !== undefined) {
    const fate = isHandedOn ? { receipt: 'queued' as const } : { receipt: 'dead' as const, error };
    const chain = { hops: 0, chainId: messageId };
    draft.put('message', {
      id: messageId,
      senderId,
      targetId,
      kind,
      atMs: createdAtMs,
      ...chain,
      ...fate,
    });
    frame.move({
      messageId,
      kind,
      from: senderId,
      to: targetId,
      isLate: true,
      ...(isHandedOn ? {} : { isDead: true }),
    });
  }
  if (isHandedOn) {
    const { taskId, threadId } = envelope;
    const ids = { messageId, senderId, taskId, threadId, replyTo };
    sendIncoming(frame, { ...ids, content, expectsReply: false });
    return;
  }
  const to = targetId === undefined ? `"${excerpt(envelope.targetId)}"` : nameOf(draft, targetId);
  sendPassiveNotice(
    frame,
    `${nameOf(draft, senderId)} has ended; what it had written to ${to} was not passed on (${messageId}): ${excerpt(content, 500)}`,
    { messageId, agentId: senderId, code: 'undelivered' },
  );
}

/** Nobody is left to be told that a name means nobody. */
function whoIsMeant({ herd, draft }: Frame, target: string): string | undefined {
  try {
    return resolveTarget(herd, draft, target);
  } catch (error) {
    if (ShepherdError.is(error)) return undefined;
    throw error;
  }
}
