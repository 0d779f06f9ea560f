/** `shepherd_cancel`: withdraws a task, held or running, or one open question. */
import { z } from 'zod';
import type { CancelResult } from '../../runtime/shepherd.ts';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { blankIsNone, notBlank } from './text-parameters.ts';

const parameters = z.object({
  id: notBlank.describe('A task id, or the message id of an open question.'),
  reason: blankIsNone.describe('Why; whoever it concerns reads it.'),
});

/** Creates the tool; cancelling the same thing once more is harmless. */
export function createCancelTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_cancel',
    label: 'Cancel',
    description:
      'Withdraw a task that is held, running or waiting, or a single question that nobody has answered. The agent stays and takes other work. Refused for what has ended otherwise.',
    promptSnippet: 'Withdraw a delegated task or an open question, and keep the agent',
    promptGuidelines: [
      'To stop work that is not needed any more, call shepherd_cancel with its task id; shepherd_close ends the agent as well.',
    ],
    parameters,
    legacy: { address: 'id', aliases: ['taskId', 'requestId'] },
    result: {
      id: 'The id that was given.',
      kind: '`task` or `request`.',
      state: '`cancelled`.',
    },
    errors: ['unknown_task', 'task_settled', 'request_settled'],
    async run({ id, reason }, { runtime }) {
      const cancelled = runtime.cancel(id, reason);
      return { text: describe(cancelled), details: cancelled };
    },
  });
}

function describe({ id, kind }: CancelResult): string {
  switch (kind) {
    case 'task':
      return `Task ${id} is cancelled; an agent that worked on it is told and stops.`;
    case 'request':
      return `Question ${id} is withdrawn; who asked and who was asked are told.`;
  }
}
