/** `shepherd`: what the herd is made of: definitions to spawn from, live agents, and what is over. */
import { dirname } from 'node:path';
import { z } from 'zod';
import type {
  AgentState,
  DefinitionsView,
  DefinitionView,
  PruneResult,
  Shepherd,
} from '../../runtime/shepherd.ts';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { ToolOutcome } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { agentText, taskDetails, type TaskDetails } from './task-text.ts';

const parameters = z.object({
  action: z
    .enum(['agents', 'herd', 'prune'])
    .describe(
      'agents: the definitions that shepherd_spawn takes. herd: the live agents and their tasks. prune: forget ended agents and finished tasks.',
    ),
  agentScope: z
    .enum(['user', 'project', 'both'])
    .optional()
    .describe('With agents: whose definitions to list besides the bundled ones. Default: both.'),
});

interface HerdAgent {
  readonly id: string;
  /** `agent: label`. */
  readonly name: string;
  readonly state: AgentState;
  readonly model: string | null;
  readonly task?: TaskDetails;
  /** Ids of held tasks. */
  readonly queue?: readonly string[];
}

interface ShepherdDetails extends Partial<Pick<PruneResult, 'pruned' | 'remaining'>> {
  readonly action: 'agents' | 'herd' | 'prune';
  readonly agents?: readonly DefinitionView[] | readonly HerdAgent[];
  readonly problems?: DefinitionsView['problems'];
  readonly projectDirs?: readonly string[];
  readonly scope?: 'user' | 'project' | 'both';
}
type ShepherdOutcome = ToolOutcome<ShepherdDetails>;

const endStates: ReadonlySet<AgentState> = new Set(['closed', 'failed', 'lost']);

/** Creates the tool. */
export function createShepherdTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd',
    label: 'Shepherd',
    description:
      'List the agent definitions that can be spawned (agents), list the live child agents with the state of each and of its task (herd), or forget ended agents and finished tasks that have been reported (prune).',
    promptSnippet: 'List agent definitions, list the live herd, or forget what is over',
    promptGuidelines: [
      'Before shepherd_spawn call shepherd with action "agents" unless you know the exact name of a definition; spawn agents only for work that gains from them.',
      'shepherd with action "herd" is for a look. It is not for waiting: shepherd_watch wakes you when a task settles.',
    ],
    parameters,
    legacy: { ignored: ['confirmProjectAgents'] },
    result: {
      action: 'What was asked for.',
      agents:
        'agents: `name`, `description`, `source`, `path`, `tools`, `model` of each definition. herd: `id`, `name`, `state`, `model`, `task`, `queue` of each live agent.',
      problems: 'agents: files that were skipped or misread, `path` and `message` of each.',
      projectDirs: 'agents: directories of the project that definitions came from.',
      scope: 'agents: whose definitions were listed.',
      pruned: 'prune: how many ended agents and finished tasks were forgotten.',
      remaining: 'prune: how many of both are left, live or with something still to be told.',
    },
    errors: [],
    async run({ action, agentScope = 'both' }, { runtime }) {
      switch (action) {
        case 'agents':
          return listDefinitions(runtime, agentScope);
        case 'herd':
          return listHerd(runtime);
        case 'prune':
          return prune(runtime);
      }
    },
  });
}

/** Narrows what counts; a definition that `shepherd_spawn` would not take is never listed. */
export function listDefinitions(
  runtime: Pick<Shepherd, 'definitions'>,
  scope: 'user' | 'project' | 'both' = 'both',
): ShepherdOutcome {
  const { agents: known, problems } = runtime.definitions();
  const agents = known.filter(
    ({ source }) => scope === 'both' || source === scope || source === 'bundled',
  );
  const projectDirs = new Set(
    agents.flatMap(({ source, path }) => (source === 'project' ? [dirname(path)] : [])),
  );
  return {
    text: [
      agents.length === 0 ? 'There are no agent definitions.' : 'Agent definitions:',
      ...agents.map(({ name, source, description }) => `- ${name} (${source}): ${description}`),
      ...(problems.length === 0 ? [] : ['Skipped or misread:']),
      ...problems.map(({ message }) => `- ${message}`),
    ].join('\n'),
    details: { action: 'agents', agents, problems, projectDirs: [...projectDirs], scope },
  };
}

export function listHerd(runtime: Shepherd): ShepherdOutcome {
  const live = runtime.agents().filter(({ state }) => !endStates.has(state));
  return {
    text: [
      live.length === 0 ? 'No agent is live.' : `Live agents: ${live.length}`,
      ...live.map((agent) => {
        const held = agent.queue?.length ?? 0;
        return `- ${agentText(agent)}${held === 0 ? '' : ` In its queue: ${held}.`}`;
      }),
    ].join('\n'),
    details: {
      action: 'herd',
      agents: live.map(({ id, agent, label, state, model, task, queue }) => ({
        id,
        name: `${agent}: ${label}`,
        state,
        model,
        ...(task === undefined ? {} : { task: taskDetails(task) }),
        ...(queue === undefined ? {} : { queue }),
      })),
    },
  };
}

export function prune(runtime: Shepherd): ShepherdOutcome {
  const { pruned, remaining, agents, tasks } = runtime.prune();
  return {
    text: `Forgot ${count(agents, 'ended agent')} and ${count(tasks, 'finished task')}; ${remaining} of both are left.`,
    details: { action: 'prune', pruned, remaining },
  };
}

const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? '' : 's'}`;
