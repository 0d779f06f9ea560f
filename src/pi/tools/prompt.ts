/** `shepherd_prompt`, deprecated: one turn of a child, and nothing that says that work is done. */
import { z } from 'zod';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { notBlank } from './text-parameters.ts';

const parameters = z.object({
  id: notBlank.describe('Agent id or name of an agent that is at rest.'),
  message: notBlank.describe('What the turn is for.'),
});

/** Creates the tool. */
export function createPromptTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_prompt',
    label: 'Prompt agent (deprecated)',
    description:
      'Deprecated; use shepherd_delegate for work and shepherd_message for questions. Starts one turn of an idle agent; the end of that turn is the prompt’s end and does not mean that anything is done. The returned id can be watched with shepherd_watch.',
    promptSnippet: 'Deprecated: start one turn of an idle agent; use shepherd_delegate instead',
    parameters,
    legacy: { address: 'id', aliases: ['target'], ignored: ['timeout'] },
    result: { id: 'The prompt’s id, for shepherd_watch; it is no task id.' },
    errors: [
      'invalid_target',
      'ambiguous_target',
      'agent_closed',
      'active_task',
      'active_prompt',
      'message_too_large',
    ],
    async run({ id, message }, { runtime }) {
      const { promptId, agentId } = runtime.prompt({ target: id, message });
      return {
        text: `Prompt ${promptId} is on its way to ${agentId}. shepherd_prompt is deprecated: its end says only that a turn is over. Use shepherd_delegate for work that has to be finished; to be woken when this turn is over call shepherd_watch with this id.`,
        details: { id: promptId },
      };
    },
  });
}
