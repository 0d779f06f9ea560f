/** What a child's model reads of an envelope: who wrote, about what, and what is expected now. */
import { SHEPHERD_ID } from '../../ids.ts';
import { promptCode, type EnvelopeOf } from '../../mailbox/envelope.ts';

/** The kinds of envelopes that a child's model gets to read. */
export type ReadableEnvelope = EnvelopeOf<
  'task' | 'message' | 'reply' | 'verdict' | 'task_closed' | 'notice'
>;

/** The text of an envelope; it opens with sender, message id, task id and reply-to. */
export function envelopeText(envelope: ReadableEnvelope): string {
  switch (envelope.kind) {
    case 'task':
      return compose(
        '[Task delegated to you]',
        [...origin(envelope), deadline(envelope.deadlineAt), note(envelope.notePath)],
        `${envelope.content}\n\n${taskProtocol(envelope.taskId)}`,
      );
    case 'message':
      return compose(
        envelope.expectsReply === true ? '[Question]' : '[Message]',
        [...origin(envelope), thread(envelope.threadId), replyExpected(envelope)],
        envelope.content,
      );
    case 'reply':
      return compose(
        '[Reply]',
        [
          ...origin(envelope),
          thread(envelope.threadId),
          `Reply to: ${envelope.replyTo} (sent by you earlier)`,
          replyExpected(envelope),
        ],
        envelope.content,
      );
    case 'verdict':
      return compose(
        '[Refused]',
        [...origin(envelope), `Reply to: ${envelope.forMessageId} (sent by you earlier)`],
        `It was not accepted: ${envelope.code ?? 'refused'}: ${envelope.error ?? 'no reason given'}`,
      );
    case 'task_closed':
      return compose(
        '[Task closed]',
        [...origin(envelope), `Outcome: ${envelope.status}`],
        `${envelope.error ?? 'The Shepherd closed this task.'}\nStop working on it; there is nothing to hand in.`,
      );
    case 'notice':
      return compose(
        envelope.code === promptCode ? '[Prompt]' : '[Notice]',
        origin(envelope),
        envelope.content,
      );
  }
}

function compose(title: string, lines: readonly (string | undefined)[], body: string): string {
  return `${[title, ...lines].filter((line) => line !== undefined).join('\n')}\n\n${body}`;
}

function origin(envelope: ReadableEnvelope): (string | undefined)[] {
  const { messageId } = envelope;
  const taskId = 'taskId' in envelope ? envelope.taskId : undefined;
  return [
    `From: ${sender(envelope)}`,
    `Message ID: ${messageId}`,
    taskId === undefined ? undefined : `Task ID: ${taskId}`,
  ];
}

function sender(envelope: ReadableEnvelope): string {
  const { senderId } = envelope;
  if (senderId === SHEPHERD_ID) return 'the Shepherd (shepherd)';
  const name = 'senderName' in envelope ? envelope.senderName : undefined;
  return name === undefined ? senderId : `${name} (${senderId})`;
}

function thread(threadId: string | undefined): string | undefined {
  return threadId === undefined ? undefined : `Thread ID: ${threadId}`;
}

function deadline(deadlineAt: number | undefined): string | undefined {
  return deadlineAt === undefined ? undefined : `Deadline: ${new Date(deadlineAt).toISOString()}`;
}

function note(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  return `Note: ${path} (if you can write files, put your findings there; what you write is kept)`;
}

function replyExpected(envelope: EnvelopeOf<'message' | 'reply'>): string {
  if (envelope.expectsReply !== true) return 'Reply expected: no';
  const until = envelope.deadlineAt === undefined ? '' : `, ${deadline(envelope.deadlineAt)}`;
  return `Reply expected: yes${until}. Answer with shepherd_message, target "${envelope.senderId}", replyTo "${envelope.messageId}".`;
}

function taskProtocol(taskId: string): string {
  return [
    `How this task (${taskId}) ends: only when you call shepherd_done with status completed, blocked or failed and a summary.`,
    'Ending your turn does not complete it.',
    'When you need an answer first, ask with shepherd_message and expectsReply, then end your turn: the reply wakes you.',
  ].join(' ');
}
