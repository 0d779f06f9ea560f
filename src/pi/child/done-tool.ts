/** `shepherd_done`: the owner's word on how its task ended, the only one that completes it. */
import { z } from 'zod';
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import { doneStatusSchema } from '../../mailbox/envelope.ts';
import type { Limits } from '../../mailbox/limits.ts';
import { SHEPHERD_ID } from '../../ids.ts';
import { defineTool, type DocumentedTool, type ToolOutcome } from '../tools/define-tool.ts';
import { blankIsNone } from '../tools/text-parameters.ts';
import { askShepherd } from './ask-shepherd.ts';
import { cutText, roomBeside } from './cut-text.ts';
import type { Work } from './work.ts';

const parameters = z.object({
  status: doneStatusSchema.describe(
    'completed: the task is done. blocked: you cannot go on without something that nobody here can give. failed: it cannot be done.',
  ),
  summary: blankIsNone.describe(
    'What the Shepherd should know: result, files, open points. At most 8,000 characters.',
  ),
  taskId: blankIsNone.describe('Leave it out; it is the task that you have.'),
  override: blankIsNone.describe(
    'Only to complete although a reply is still outstanding: why it is not needed any more.',
  ),
});

export interface DoneToolOptions {
  readonly mailbox: () => ChildMailbox | undefined;
  readonly work: Work;
  readonly limits: Limits;
}

/** Creates the tool; it ends the run only when the Shepherd has accepted. */
export function createDoneTool({ mailbox, work, limits }: DoneToolOptions): DocumentedTool {
  return defineTool({
    name: 'shepherd_done',
    label: 'Done',
    description:
      'Hand in your delegated task: completed, blocked or failed, with a summary. Nothing else ends it; ending your turn does not. Refused while a reply that you asked for is outstanding.',
    promptSnippet: 'Hand in the delegated task as completed, blocked or failed',
    promptGuidelines: [
      'A delegated task ends only when you call shepherd_done; ending your turn, or writing that you are done, does not complete it. Call it once, as your last action, with a summary of the result.',
      'Do not call shepherd_done while you wait for a reply: end your turn, the reply wakes you.',
    ],
    parameters,
    documentation: {
      result: {
        accepted: 'False only while the Shepherd has not answered.',
        messageId: 'Id of the envelope that carries it.',
        delivery: '`queued` while the Shepherd has not answered.',
        taskId: 'The task that was settled.',
        status: 'How it was settled.',
        repeat: 'True when it had been settled so before.',
        result: 'Of a repeat: the settled result.',
      },
      errors: [
        'no_delegated_task',
        'completion_refused',
        'unknown_task',
        'task_agent_mismatch',
        'task_settled',
        'invalid_task',
        'message_too_large',
        'superseded',
        'broker_unavailable',
      ],
    },
    // After the other calls of its message: what they do belongs to the task.
    sequential: true,
    // Said twice, it is still about the task that this turn was spent on.
    async run(
      { taskId = work.taskId ?? work.lastTaskId, status, summary, override },
      { signal },
    ): Promise<ToolOutcome> {
      const { evidence, lastText } = work;
      const { messageId, data } = await askShepherd(
        mailbox(),
        {
          kind: 'task_done',
          targetId: SHEPHERD_ID,
          status,
          evidence,
          ...(taskId === undefined ? {} : { taskId }),
          ...(summary === undefined ? {} : { summary }),
          ...(override === undefined ? {} : { override }),
          ...(lastText === undefined
            ? {}
            : { content: cutText(lastText, roomBeside(limits, summary, override)) }),
        },
        signal,
      );
      if (data === undefined) {
        work.handedIn(messageId);
        return {
          text: 'Your shepherd_done is on its way; the Shepherd has not confirmed it yet. End your turn: you are told if it is refused.',
          details: { accepted: false, messageId, delivery: 'queued' },
        };
      }
      const settledId = typeof data['taskId'] === 'string' ? data['taskId'] : work.taskId;
      if (settledId !== undefined) work.forget(settledId);
      if (work.taskId !== undefined) {
        return {
          text: `${settledId} was settled before. Your task ${work.taskId} is still open.`,
          details: { accepted: true, messageId, status, ...data },
        };
      }
      return {
        text: `The task is handed in as ${status}. End your turn.`,
        details: { accepted: true, messageId, status, ...data },
        terminate: true,
      };
    },
  });
}
