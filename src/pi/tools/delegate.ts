/** `shepherd_delegate`: hands a task to an agent and returns at once. */
import { z } from 'zod';
import { TaskError } from '../../errors.ts';
import type { DelegateResult } from '../../runtime/shepherd.ts';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { blankIsNone } from './text-parameters.ts';

const parameters = z.object({
  target: z.string().describe('Agent id, or a label or name that means one live agent.'),
  task: z
    .string()
    .describe(
      'The whole task. The agent sees nothing of your session: name files, goal and limits.',
    ),
  timeout: z
    .number()
    .optional()
    .describe('Minutes after which the task ends as timed_out, from its start. Default: none.'),
  queue: z
    .boolean()
    .optional()
    .describe('True: a busy agent does it later, in order. Default: a busy agent refuses.'),
  idempotencyKey: blankIsNone.describe(
    'A name of your own for this task: asked for again under it, it is the same task.',
  ),
});

/** Creates the tool. */
export function createDelegateTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_delegate',
    label: 'Delegate task',
    description:
      'Give an agent a task. Returns at once with a task id; the task ends only by the agent’s own shepherd_done, by a failure, or by a deadline. One task per agent at a time; more wait in line with queue. Follow it with shepherd_watch.',
    promptSnippet: 'Give a child agent a tracked task',
    promptGuidelines: [
      'After shepherd_delegate call shepherd_watch with the task id, then end your turn. Never wait by polling shepherd_status, sleeping or reading files: the completion wakes you.',
      'A turn of an agent that ends completes nothing: a task of shepherd_delegate is completed only by the agent’s own shepherd_done. An idle agent whose task is running or waiting is not finished; do not do its work yourself.',
    ],
    parameters,
    legacy: { address: 'target' },
    result: {
      taskId: 'Id of the task; for shepherd_watch, shepherd_status and shepherd_cancel.',
      agentId: 'The agent that has it.',
      state: '`running`, or `created` while it is held in the queue.',
      position: 'Place in the agent’s queue, from 1, while it is held.',
    },
    errors: [
      'invalid_target',
      'ambiguous_target',
      'agent_closed',
      'active_task',
      'invalid_task',
      'invalid_timeout',
      'message_too_large',
      'queue_full',
      'duplicate_conflict',
    ],
    async run({ timeout, ...asked }, { runtime }) {
      const timeoutMs = timeout === undefined ? undefined : toMs(timeout);
      const delegated = await runtime.delegate({ ...asked, timeoutMs });
      return { text: describe(delegated), details: delegated };
    },
  });
}

function describe({ taskId, agentId, state, position }: DelegateResult): string {
  const where =
    position === undefined
      ? `is ${state} at ${agentId}`
      : `is held, number ${position} in the queue of ${agentId}, and starts by itself`;
  return `Task ${taskId} ${where}. Call shepherd_watch with this task id and end your turn; its completion wakes you.`;
}

function toMs(minutes: number): number {
  if (Number.isFinite(minutes) && minutes > 0) return minutes * 60_000;
  throw new TaskError(
    'invalid_timeout',
    `timeout is ${minutes}; it takes minutes greater than 0, or is left out for none.`,
  );
}
