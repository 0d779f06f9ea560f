/** What `shepherd_message` takes, in the parent and in a child alike. */
import { z } from 'zod';
import { blankIsNone, notBlank } from './text-parameters.ts';

export const messageParameters = z.object({
  target: notBlank.describe(
    'Whom to send it to: an agent id, a label or name, or "parent" for the Shepherd.',
  ),
  message: notBlank.describe('The text. The recipient sees nothing else of your session.'),
  taskId: blankIsNone.describe('The task that it is about. Usually left out.'),
  threadId: blankIsNone.describe('A name that keeps messages of one topic together.'),
  replyTo: blankIsNone.describe('The message id of the question that this answers.'),
  expectsReply: z
    .boolean()
    .optional()
    .describe('True for a question: the answer arrives later as a message and wakes you.'),
  delivery: z
    .enum(['followUp', 'steer'])
    .optional()
    .describe(
      'When a busy recipient reads it: followUp (default) once it would stop, steer after the turn that it is in.',
    ),
});
