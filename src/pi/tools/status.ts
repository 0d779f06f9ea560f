/** `shepherd_status`: how an agent and its task stand, or a task alone. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { taskIdSchema } from '../../ids.ts';
import type { TaskStatus } from '../../runtime/shepherd.ts';
import { defineTool, type ToolOutcome } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';

const parameters = z.object({
  id: z.string().describe('An agent id or name, or a task id.'),
});

/** Creates the tool. */
export function createStatusTool(shepherd: GetShepherd): ToolDefinition {
  return defineTool({
    name: 'shepherd_status',
    label: 'Status',
    description:
      'How an agent and its task stand: two independent states. For a look, not for waiting: shepherd_watch wakes you.',
    promptSnippet: 'Look at the state of a child agent or task',
    parameters,
    async run({ id }, { ctx }): Promise<ToolOutcome> {
      const runtime = await shepherd(ctx);
      if (taskIdSchema.safeParse(id).success) {
        const task = runtime.task(id);
        const { agentId, result } = task;
        return {
          text: `${describeTask(task)}.${result === undefined ? '' : ` ${result.error ?? result.text ?? ''}`}`,
          details: { ...taskDetails(task), agentId, ...(result === undefined ? {} : { result }) },
        };
      }
      const { id: agentId, agent, label, state, task, error } = runtime.status(id);
      const parts = [`Agent ${agent}: ${label} (${agentId}) is ${state}`];
      if (task !== undefined) parts.push(describeTask(task));
      if (error !== undefined) parts.push(error);
      return {
        text: `${parts.join('; ')}.`,
        details: {
          id: agentId,
          state,
          ...(task === undefined ? {} : { task: taskDetails(task) }),
          ...(error === undefined ? {} : { error }),
        },
      };
    },
  });
}

function taskDetails(task: TaskStatus): Readonly<Record<string, unknown>> {
  const { id, state, waitingMs, pendingRequest, waitingOn, stale } = task;
  return {
    id,
    state,
    ...(waitingMs === undefined ? {} : { waitingMs }),
    ...(pendingRequest === undefined ? {} : { pendingRequest }),
    ...(waitingOn === undefined ? {} : { waitingOn }),
    ...(stale === undefined ? {} : { stale }),
  };
}

function describeTask({ id, state, waitingMs, waitingOn, stale }: TaskStatus): string {
  if (state !== 'waiting') return `task ${id} is ${state}`;
  const minutes = Math.floor((waitingMs ?? 0) / 60_000);
  const on = waitingOn === undefined ? '' : ` on ${waitingOn}`;
  return `task ${id} is waiting${on} for ${minutes} min${stale === true ? ' (stale)' : ''}`;
}
