/** `shepherd_close`: ends an agent for good. */
import { z } from 'zod';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { notBlank } from './text-parameters.ts';

const parameters = z.object({ id: notBlank.describe('Agent id or name.') });

/** Creates the tool. */
export function createCloseTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_close',
    label: 'Close agent',
    description:
      'End a child agent and its process, for good. A task that it still has, or that waits in its queue, is cancelled.',
    promptSnippet: 'End a child agent that is not needed any more',
    promptGuidelines: [
      'Call shepherd_close only for an agent whose task has settled or is not wanted any more. An agent that is merely idle may still have a task that waits for a reply, and shepherd_close would cancel it.',
    ],
    parameters,
    legacy: { address: 'id' },
    result: { id: 'The agent’s id.' },
    errors: ['invalid_target', 'ambiguous_target', 'agent_closed', 'close_unconfirmed'],
    async run({ id }, { runtime }) {
      const closed = await runtime.close(id);
      return { text: `Agent ${closed.id} is closed.`, details: { id: closed.id } };
    },
  });
}
