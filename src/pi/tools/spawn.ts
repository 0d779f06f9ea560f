/** `shepherd_spawn`: starts a child agent, idle. */
import { z } from 'zod';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';

const parameters = z.object({
  agent: z
    .string()
    .describe('Name of the agent definition, exact; shepherd with action "agents" lists them.'),
  label: z
    .string()
    .describe(
      'What you call this one: 1 to 64 letters, digits, spaces, "_", "-", "."; not "shepherd" or "parent".',
    ),
  placement: z
    .enum(['pane_right', 'pane_down', 'tab', 'workspace'])
    .optional()
    .describe('Where it appears, on a host that has places. Default: tab.'),
  cwd: z.string().optional().describe('Its working directory. Default: yours.'),
});

/** Creates the tool. */
export function createSpawnTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_spawn',
    label: 'Spawn agent',
    description:
      'Start a child agent. It is ready and idle when this returns; give it work with shepherd_delegate.',
    promptSnippet: 'Start a child agent that works beside you',
    promptGuidelines: [
      'shepherd_spawn only starts an agent; it does nothing until shepherd_delegate gives it a task. Give each a label that says what it is for.',
    ],
    parameters,
    legacy: {
      ignored: ['model', 'agentScope', 'confirmProjectAgents', 'omitSystemPrompt', 'direction'],
    },
    result: {
      id: 'The agent’s id.',
      agent: 'Name of its definition.',
      label: 'Its label.',
      model: '`provider/model`, or null for the host’s own choice.',
      warnings: 'Broken definition files of that name, which this one stood in for.',
    },
    errors: [
      'unknown_agent',
      'invalid_label',
      'duplicate_label',
      'launch_failed',
      'spawn_deadline',
      'agent_not_ready',
    ],
    async run({ agent, label, placement, cwd }, { runtime, signal, progress }) {
      progress(`Spawning ${agent}: ${label}…`);
      const spawned = await runtime.spawn({ agent, label, placement, cwd }, signal);
      const model = spawned.model === null ? '' : `, model ${spawned.model}`;
      return {
        text: [
          `Agent ${spawned.agent}: ${spawned.label} is ready and idle (${spawned.id}${model}).`,
          ...(spawned.warnings ?? []).map((warning) => `Skipped: ${warning}`),
        ].join('\n'),
        details: spawned,
      };
    },
  });
}
