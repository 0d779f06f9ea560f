/** `shepherd_close`: ends an agent for good. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';

const parameters = z.object({ id: z.string().describe('Agent id or name.') });

/** Creates the tool. */
export function createCloseTool(shepherd: GetShepherd): ToolDefinition {
  return defineTool({
    name: 'shepherd_close',
    label: 'Close agent',
    description: 'End a child agent and its process. A task that it still has is cancelled.',
    promptSnippet: 'End a child agent that is not needed any more',
    parameters,
    async run({ id }, { ctx }) {
      const runtime = await shepherd(ctx);
      const closed = await runtime.close(id);
      return { text: `Agent ${closed.id} is closed.`, details: { id: closed.id } };
    },
  });
}
