/** `shepherd_watch`: has the Shepherd woken when tasks settle; returns at once. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import type { TaskResult } from '../../runtime/shepherd.ts';
import { defineTool } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';

const parameters = z.object({
  id: z
    .union([z.string(), z.array(z.string())])
    .describe('A task id, or several as an array; each once.'),
});

/** Creates the tool. */
export function createWatchTool(shepherd: GetShepherd): ToolDefinition {
  return defineTool({
    name: 'shepherd_watch',
    label: 'Watch tasks',
    description:
      'Be woken once when each of these tasks settles. Returns at once; tasks that have settled already come back in this result.',
    promptSnippet: 'Be woken when delegated tasks settle',
    promptGuidelines: [
      'After shepherd_watch end your turn. You are woken with the result of each task; until then there is nothing to check.',
    ],
    parameters,
    async run({ id }, { ctx }) {
      const runtime = await shepherd(ctx);
      const { watcherId, taskIds, pending, completed } = runtime.watch(id);
      const lines = [
        ...completed.map(describeResult),
        pending.length === 0
          ? 'Nothing is left to wait for.'
          : `Watching ${pending.join(', ')}. End your turn; you are woken when it settles.`,
      ];
      return {
        text: lines.join('\n'),
        details: { watcherId, taskIds, pending, completed },
      };
    },
  });
}

function describeResult({ taskId, status, error, text, summary }: TaskResult): string {
  return `${taskId} ${status}: ${error ?? text ?? summary ?? 'no text'}`;
}
