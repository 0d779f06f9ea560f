/** What the runtime itself tells a child: news about its questions, its mail, its task. */
import { SHEPHERD_ID } from '../ids.ts';
import { passiveNoticeCodes, type EnvelopeOf } from '../mailbox/envelope.ts';
import type { Frame } from './herd.ts';

/** Causes a notice into an agent's inbox; one that is not there to read it gets none. */
export function tellChild(
  frame: Frame,
  agentId: string,
  notice: Pick<EnvelopeOf<'notice'>, 'content' | 'code' | 'requestId' | 'taskId'>,
): void {
  const { herd, nowMs } = frame;
  if (herd.agent(agentId)?.getSnapshot().hasTag('ready') !== true) return;
  const messageId = herd.ids.messageId(nowMs);
  if (notice.code !== undefined && !passiveNoticeCodes.has(notice.code)) {
    frame.draft.change('agent', agentId, { call: { id: messageId, atMs: nowMs } });
  }
  frame.effect({
    type: 'publish',
    agentId,
    messageId,
    senderId: SHEPHERD_ID,
    createdAtMs: nowMs,
    hops: 0,
    draft: { kind: 'notice', targetId: agentId, ...notice },
  });
}
