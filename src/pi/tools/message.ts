/** `shepherd_message` of the Shepherd: writes to an agent, asks it, or answers it. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import { defineTool } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { messageParameters } from './message-parameters.ts';
import { replyNote } from './reply-deadline.ts';

/** Creates the tool. */
export function createMessageTool(shepherd: GetShepherd): ToolDefinition {
  return defineTool({
    name: 'shepherd_message',
    label: 'Message agent',
    description:
      'Send a message to an agent. Answer its question with replyTo set to the question’s message id; ask with expectsReply: true. The reply arrives as a message and wakes you.',
    promptSnippet: 'Message a child agent, ask it, or answer its question',
    promptGuidelines: [
      'When a message from an agent says that a reply is expected, answer it with shepherd_message and replyTo: its task waits for you. Plain text in your turn reaches no agent.',
    ],
    parameters: messageParameters,
    async run(parameters, { ctx }) {
      const runtime = await shepherd(ctx);
      const sent = await runtime.message(parameters);
      const state =
        sent.targetTaskState === undefined ? '' : `; its task is ${sent.targetTaskState}`;
      const next =
        sent.requestId === undefined ? '' : ` ${replyNote({ ...sent })}. Do not wait for it.`;
      return {
        text: `Message ${sent.messageId} is ${sent.delivery} for ${sent.targetId}${state}.${next}`,
        details: { ...sent },
      };
    },
  });
}
