/** One envelope of an outbox, within a step: its sender is heard, refused as replaced, or too late. */
import type { Claimed } from '../mailbox/mailbox.ts';
import { describeMove } from './describe-move.ts';
import { handleEnvelope, handleLateEnvelope, refuseSuperseded } from './envelopes.ts';
import type { Frame } from './herd.ts';
import type { AgentRecord } from './records.ts';

/** Whether it is the living incarnation that wrote it. */
export function isHeard(
  { herd }: Pick<Frame, 'herd'>,
  agent: AgentRecord,
  from: Claimed['from'],
): boolean {
  return herd.agent(agent.id) !== undefined && agent.launch === from.launch;
}

/** @param agent the record of its sender. */
export function receiveEnvelope(
  frame: Frame,
  agent: AgentRecord,
  { from, envelope, isAgain }: Pick<Claimed, 'from' | 'envelope' | 'isAgain'>,
): void {
  const heard = isHeard(frame, agent, from);
  frame.move({
    messageId: envelope.messageId,
    ...describeMove(envelope),
    from: agent.id,
    to: envelope.targetId,
    ...(heard ? {} : { isLate: true }),
  });
  if (heard) handleEnvelope(frame, agent, { envelope, isAgain });
  else if (agent.launch !== from.launch) refuseSuperseded(frame, agent, { from, envelope });
  else handleLateEnvelope(frame, agent, envelope);
}
