/** What the runtime itself tells a child: news about its questions, its mail, its task. */
import { SHEPHERD_ID } from '../ids.ts';
import { passiveNoticeCodes, type EnvelopeDraft, type EnvelopeOf } from '../mailbox/envelope.ts';
import type { Frame } from './herd.ts';

/** Notes that an envelope is on its way which wakes this agent: what it says next may be about that. */
export function callChild(frame: Frame, agentId: string, messageId: string): void {
  frame.draft.change('agent', agentId, { wakeId: messageId });
  const agent = frame.herd.agent(agentId);
  if (agent !== undefined)
    frame.send(agent, { type: 'child.called', messageId, atMs: frame.nowMs });
}

/** The envelope has reached the agent's session, or never will. */
export function settleCall(frame: Frame, agentId: string, messageId: string): void {
  const agent = frame.herd.agent(agentId);
  if (agent !== undefined) frame.send(agent, { type: 'call.settled', messageId });
}

/** Causes a notice into an agent's inbox; one that is not there to read it gets none. */
export function tellChild(
  frame: Frame,
  agentId: string,
  notice: Pick<EnvelopeOf<'notice'>, 'content' | 'code' | 'requestId' | 'taskId'>,
): void {
  const { herd, nowMs } = frame;
  if (herd.agent(agentId)?.getSnapshot().hasTag('ready') !== true) return;
  const messageId = herd.ids.messageId(nowMs);
  if (!passiveNoticeCodes.has(notice.code ?? '')) callChild(frame, agentId, messageId);
  publishToChild(frame, { kind: 'notice', targetId: agentId, ...notice }, { messageId });
}

/**
 * Causes an envelope of the Shepherd's own into an agent's inbox, and returns its id.
 *
 * @param to `launch`: a replaced incarnation; by default the living one.
 */
export function publishToChild(
  frame: Frame,
  draft: EnvelopeDraft,
  to: { readonly messageId?: string | undefined; readonly launch?: number | undefined } = {},
): string {
  const { herd, nowMs } = frame;
  const { messageId = herd.ids.messageId(nowMs), launch } = to;
  frame.effect({
    type: 'publish',
    agentId: draft.targetId,
    ...(launch === undefined ? {} : { launch }),
    messageId,
    senderId: SHEPHERD_ID,
    createdAtMs: nowMs,
    hops: 0,
    draft,
  });
  return messageId;
}
