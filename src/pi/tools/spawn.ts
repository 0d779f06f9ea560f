/** `shepherd_spawn`: starts a child agent, idle. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';

const parameters = z.object({
  agent: z.string().describe('Name of the agent definition, exact; for instance "scout".'),
  label: z
    .string()
    .describe('What you call this one: 1 to 64 letters, digits, spaces, "_", "-", ".".'),
  placement: z
    .enum(['pane_right', 'pane_down', 'tab', 'workspace'])
    .optional()
    .describe('Where it appears, on a host that has places. Default: tab.'),
  cwd: z.string().optional().describe('Its working directory. Default: yours.'),
});

/** Creates the tool. */
export function createSpawnTool(shepherd: GetShepherd): ToolDefinition {
  return defineTool({
    name: 'shepherd_spawn',
    label: 'Spawn agent',
    description:
      'Start a child agent. It is ready and idle when this returns; give it work with shepherd_delegate.',
    promptSnippet: 'Start a child agent that works beside you',
    parameters,
    async run({ agent, label, placement, cwd }, { ctx, signal, progress }) {
      progress(`Spawning ${agent}: ${label}…`);
      const runtime = await shepherd(ctx);
      const spawned = await runtime.spawn({ agent, label, placement, cwd }, signal);
      const model = spawned.model === null ? '' : `, model ${spawned.model}`;
      return {
        text: [
          `Agent ${spawned.agent}: ${spawned.label} is ready and idle (${spawned.id}${model}).`,
          ...(spawned.warnings ?? []).map((warning) => `Skipped: ${warning}`),
        ].join('\n'),
        details: { ...spawned },
      };
    },
  });
}
