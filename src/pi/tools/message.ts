/** `shepherd_message` of the Shepherd: writes to an agent, asks it, or answers it. */
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { messageParameters } from './message-parameters.ts';
import { replyNote } from './reply-deadline.ts';

/** Creates the tool. */
export function createMessageTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_message',
    label: 'Message agent',
    description:
      'Send a message to an agent. Answer its question with replyTo set to the question’s message id; ask with expectsReply: true. The reply arrives as a message and wakes you.',
    promptSnippet: 'Message a child agent, ask it, or answer its question',
    promptGuidelines: [
      'To ask a child agent something call shepherd_message with expectsReply: true, then end your turn: the reply wakes you. A question is not a task; work is given with shepherd_delegate.',
      'When a message from an agent says that a reply is expected, answer it with shepherd_message and replyTo: its task waits for you. Plain text in your turn reaches no agent.',
    ],
    parameters: messageParameters,
    legacy: { address: 'target', ids: ['taskId', 'replyTo'] },
    result: {
      messageId: 'Id of the message.',
      accepted: 'Always true: a message that is not accepted is an error.',
      delivery:
        '`queued`: it lies in the recipient’s inbox. shepherd_status tells how far it came.',
      targetId: 'The recipient’s id.',
      requestId: 'With `expectsReply`: id of the question, which is `messageId`.',
      deadlineAtMs: 'With `expectsReply`: epoch ms until which an answer counts.',
      isClipped: 'With `expectsReply`: the deadline is that of the task, which ends sooner.',
      targetTaskState: 'State of the task that the recipient has, or had last.',
    },
    errors: [
      'invalid_target',
      'ambiguous_target',
      'agent_closed',
      'message_too_large',
      'queue_full',
      'rate_limited',
      'unknown_request',
      'request_settled',
      'not_the_recipient',
      'unknown_task',
      'task_agent_mismatch',
      'reply_task_mismatch',
      'wait_cycle',
    ],
    async run(parameters, { runtime }) {
      const sent = await runtime.message(parameters);
      const state =
        sent.targetTaskState === undefined ? '' : `; its task is ${sent.targetTaskState}`;
      const next =
        sent.requestId === undefined ? '' : ` ${replyNote({ ...sent })}. Do not wait for it.`;
      return {
        text: `Message ${sent.messageId} is ${sent.delivery} for ${sent.targetId}${state}.${next}`,
        details: sent,
      };
    },
  });
}
