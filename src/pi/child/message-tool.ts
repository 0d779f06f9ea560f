/** `shepherd_message` of a child: writes to the Shepherd or to another agent. */
import { TaskError } from '../../errors.ts';
import { messageIdSchema, taskIdSchema } from '../../ids.ts';
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import type { EnvelopeDraft } from '../../mailbox/envelope.ts';
import { defineTool, type DocumentedTool } from '../tools/define-tool.ts';
import { messageParameters } from '../tools/message-parameters.ts';
import { replyNote } from '../tools/reply-deadline.ts';
import { askShepherd } from './ask-shepherd.ts';
import type { Work } from './work.ts';

export interface MessageToolOptions {
  readonly mailbox: () => ChildMailbox | undefined;
  readonly work: Work;
}

/** Creates the tool; the names of targets are resolved by the parent. */
export function createMessageTool(options: MessageToolOptions): DocumentedTool {
  const { mailbox, work } = options;
  return defineTool({
    name: 'shepherd_message',
    label: 'Message',
    description:
      'Send a message to the Shepherd ("parent") or to another agent. Ask with expectsReply: true, then end your turn; the reply wakes you. Answer a question with replyTo set to its message id.',
    promptSnippet: 'Message or ask the Shepherd or another agent, or answer a question',
    promptGuidelines: [
      'To ask somebody, call shepherd_message with expectsReply: true and then end your turn. The reply arrives as a new message and wakes you; never wait or poll for it.',
      'To answer a message that says "Reply expected: yes", call shepherd_message with its sender as target and its message id as replyTo. Plain text in your turn reaches nobody.',
    ],
    parameters: messageParameters,
    documentation: {
      result: {
        accepted: 'Always true: a message that is refused is an error.',
        messageId: 'Id of the message.',
        delivery: 'How far it has come, `queued` at first.',
        target: 'What the recipient is called.',
        targetId: 'The recipient’s id.',
        requestId: 'With `expectsReply`: id of the question, which is `messageId`.',
        deadlineAtMs: 'With `expectsReply`: epoch ms until which an answer counts.',
        isClipped: 'With `expectsReply`: the deadline is that of the task, which ends sooner.',
      },
      errors: [
        'invalid_target',
        'ambiguous_target',
        'agent_closed',
        'message_too_large',
        'queue_full',
        'rate_limited',
        'hop_limit',
        'wait_cycle',
        'unknown_task',
        'task_agent_mismatch',
        'reply_task_mismatch',
        'unknown_request',
        'request_settled',
        'not_the_recipient',
        'superseded',
        'broker_unavailable',
      ],
    },
    async run({ target, message, replyTo, ...parameters }, { signal }) {
      refuseInventedIds({ taskId: parameters.taskId, replyTo });
      const { threadId, expectsReply, delivery = 'followUp' } = parameters;
      // An answer is about the asker's task, which the router knows by `replyTo`.
      const taskId = parameters.taskId ?? (replyTo === undefined ? work.taskId : undefined);
      const { causeId } = work;
      const conversation = {
        targetId: target,
        content: message,
        delivery,
        ...(taskId === undefined ? {} : { taskId }),
        ...(threadId === undefined ? {} : { threadId }),
        ...(expectsReply === undefined ? {} : { expectsReply }),
        ...(causeId === undefined ? {} : { causeId }),
      };
      const draft: EnvelopeDraft =
        replyTo === undefined
          ? { kind: 'message', ...conversation }
          : { kind: 'reply', ...conversation, replyTo };

      const { messageId, data } = await askShepherd(mailbox(), draft, signal);
      const next =
        expectsReply === true
          ? ` ${replyNote(data)}. End your turn now unless you can go on without it.`
          : '';
      return {
        text:
          data === undefined
            ? `Message ${messageId} is on its way; the Shepherd has not confirmed it yet and will tell you if it is refused.${next}`
            : `Message ${messageId} is accepted.${next}`,
        details: { accepted: true, messageId, delivery: 'queued', ...data },
      };
    },
  });
}

/** Ids that no envelope can carry; those that merely name nothing are the router's to refuse. */
function refuseInventedIds(ids: {
  readonly taskId: string | undefined;
  readonly replyTo: string | undefined;
}): void {
  if (!taskIdSchema.optional().safeParse(ids.taskId).success) {
    throw new TaskError('unknown_task', `There is no task ${ids.taskId}; leave taskId out.`);
  }
  if (!messageIdSchema.optional().safeParse(ids.replyTo).success) {
    throw new TaskError(
      'unknown_request',
      `There is no message ${ids.replyTo}; replyTo takes the "Message ID" of what you answer.`,
    );
  }
}
