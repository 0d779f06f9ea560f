/**
 * How far each message has come: queued, delivered, seen, answered; or dead.
 *
 * RC1. A receipt only advances; an answer, or a death, is the end of it.
 * RC2. Both ends hear of a message that nobody could deliver, once; a question in it is withdrawn, a
 *      task in it fails.
 */
import type { TaskEvent } from '../../machines/index.ts';
import { tellChild } from './child-notices.ts';
import type { Frame } from './herd.ts';
import { sendPassiveNotice } from './notices.ts';
import { nameOf } from './router.ts';
import type { Notice, Receipt } from './shepherd.ts';

const order: readonly Receipt[] = ['queued', 'delivered', 'seen', 'answered', 'dead'];

/** Takes a receipt forward; one that is as far already stays. */
export function advanceReceipt(frame: Frame, messageId: string, receipt: Receipt): void {
  const message = frame.draft.get('message', messageId);
  if (message === undefined || order.indexOf(receipt) <= order.indexOf(message.receipt)) return;
  if (message.receipt === 'answered') return;
  frame.draft.put('message', { ...message, receipt });
  frame.noteReceipt({ messageId, receipt });
}

/** The message that a notice shows, if it shows one. */
export function messageOf({ kind, details }: Notice): string | undefined {
  if (kind !== 'shepherd.message.incoming' && kind !== 'shepherd.message.reply') return undefined;
  const { messageId } = details;
  return typeof messageId === 'string' ? messageId : undefined;
}

/** The Shepherd's model has read a notice; what message it shows is seen. */
export function noteSeen(frame: Frame, noticeId: string): void {
  const record = frame.draft.get('notice', noticeId);
  const messageId = record && messageOf(record.notice);
  if (messageId !== undefined) advanceReceipt(frame, messageId, 'seen');
}

/**
 * A message that could not be delivered (RC2).
 *
 * @param asTask what the task hears that the message carried.
 */
export function failMessage(
  frame: Frame,
  messageId: string,
  error: string,
  asTask: Extract<TaskEvent, { type: 'publish.failed' | 'delivery.failed' }> | undefined,
): void {
  const { draft, herd, nowMs } = frame;
  const message = draft.get('message', messageId);
  if (message === undefined || message.receipt === 'dead' || message.receipt === 'answered') return;
  draft.put('message', { ...message, receipt: 'dead', error });
  const { kind, senderId: from, targetId: to } = message;
  frame.move({ messageId, kind, from, to, isDead: true });
  const text = `Message ${messageId} could not be delivered to ${nameOf(draft, message.targetId)}: ${error}`;
  if (message.kind === 'task' && message.taskId !== undefined) {
    draft.change('task', message.taskId, { error });
    const task = herd.task(message.targetId, message.taskId);
    if (task !== undefined && asTask !== undefined) frame.send(task, asTask);
    return;
  }
  const request = herd.request(messageId);
  if (request !== undefined) {
    draft.change('request', messageId, { reason: error });
    frame.send(request, { type: 'request.cancel', atMs: nowMs });
  } else {
    tellChild(frame, message.senderId, { code: 'undelivered', content: text });
  }
  sendPassiveNotice(frame, text, { messageId, agentId: message.targetId });
}
