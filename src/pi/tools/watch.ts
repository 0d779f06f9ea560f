/** `shepherd_watch`: has the Shepherd woken when tasks settle; returns at once. */
import { z } from 'zod';
import { ConfigError } from '../../errors.ts';
import { promptIdSchema } from '../../ids.ts';
import type { PromptResult, Shepherd, TaskResult } from '../../runtime/shepherd.ts';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { ToolOutcome } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';

const parameters = z.object({
  id: z
    .union([z.string(), z.array(z.string())])
    .describe('A task id, or several as an array; each once. Prompt ids likewise, never both.'),
});

interface WatchDetails {
  readonly watcherId: string;
  readonly taskIds?: readonly string[];
  readonly promptIds?: readonly string[];
  readonly pending: readonly string[];
  readonly completed: readonly (TaskResult | PromptResult)[];
}

/** Creates the tool. */
export function createWatchTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_watch',
    label: 'Watch tasks',
    description:
      'Be woken once when each of these tasks settles. Returns at once; tasks that have settled already come back in this result.',
    promptSnippet: 'Be woken when delegated tasks settle',
    promptGuidelines: [
      'After shepherd_watch end your turn. You are woken with the result of each task; until then there is nothing to check. shepherd_watch tells of a task that has settled, never of a turn that ended or an agent that is idle.',
    ],
    parameters,
    legacy: { address: 'id', aliases: ['taskId', 'taskIds'], several: true },
    result: {
      watcherId: 'Id of the watch; it comes back in the completion’s details.',
      taskIds: 'Every task that was asked for, in that order.',
      promptIds: 'The same for prompts, in place of `taskIds`.',
      pending: 'Those that have not settled: each wakes you once.',
      completed: 'Results of those that had settled before; they are not told again.',
    },
    errors: ['unknown_task', 'unknown_prompt'],
    async run({ id }, { runtime }): Promise<ToolOutcome<WatchDetails>> {
      const ids = typeof id === 'string' ? [id] : id;
      const prompts = ids.filter((one) => promptIdSchema.safeParse(one).success);
      if (prompts.length > 0) return watchPrompts(runtime, ids, prompts);
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

function watchPrompts(
  runtime: Shepherd,
  ids: readonly string[],
  prompts: readonly string[],
): ToolOutcome<WatchDetails> {
  if (prompts.length < ids.length) {
    throw new ConfigError('invalid_argument', 'Watch task ids or prompt ids, not both at once.');
  }
  const watched = runtime.watchPrompts(prompts);
  const { pending, completed } = watched;
  return {
    text: [
      ...completed.map(
        ({ promptId, status, error, text }) =>
          `${promptId} ${status}: ${error ?? text ?? 'no text'}`,
      ),
      pending.length === 0
        ? 'Nothing is left to wait for.'
        : `Watching ${pending.join(', ')}. End your turn; you are woken when that turn is over.`,
    ].join('\n'),
    details: watched,
  };
}

function describeResult({ taskId, status, error, text, summary }: TaskResult): string {
  return `${taskId} ${status}: ${error ?? text ?? summary ?? 'no text'}`;
}
