/** `shepherd_delegate`: hands a task to an agent and returns at once. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { TaskError } from '../../errors.ts';
import type { DelegateResult } from '../../runtime/shepherd.ts';
import { defineTool } from './define-tool.ts';
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
export function createDelegateTool(shepherd: GetShepherd): ToolDefinition {
  return defineTool({
    name: 'shepherd_delegate',
    label: 'Delegate task',
    description:
      'Give an agent a task. Returns at once with a task id; the task ends only by the agent’s own shepherd_done, by a failure, or by a deadline. One task per agent at a time; more wait in line with queue. Follow it with shepherd_watch.',
    promptSnippet: 'Give a child agent a tracked task',
    promptGuidelines: [
      'After shepherd_delegate call shepherd_watch with the task id, then end your turn. Never wait by polling shepherd_status, sleeping or reading files: the completion wakes you.',
      'An idle agent whose task is running or waiting is not finished: it may wait for a reply. Do not do its work yourself.',
    ],
    parameters,
    async run({ timeout, ...asked }, { ctx }) {
      const timeoutMs = timeout === undefined ? undefined : toMs(timeout);
      const runtime = await shepherd(ctx);
      const delegated = await runtime.delegate({ ...asked, timeoutMs });
      return { text: describe(delegated), details: { ...delegated } };
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
