/**
 * An agent without a model, for `headless.ts`: says hello, asks one question, and completes its task
 * with the answer. `docs/mailbox.md` has the same for other languages.
 */
import { createChildMailbox, createIdMaker, readIdentity } from 'sheepfold';

const identity = readIdentity(process.env['SHEEPFOLD_CHILD'] ?? '');
const mailbox = createChildMailbox(identity, {
  now: Date.now,
  ids: createIdMaker(),
  keepAlive: true,
});
const shepherd = { targetId: 'shepherd' } as const;

mailbox.receive((envelope) => {
  if (envelope.kind === 'task') {
    mailbox.send({
      ...shepherd,
      kind: 'message',
      content: 'Which gate?',
      delivery: 'followUp',
      // With the task's id: the task waits for the answer.
      taskId: envelope.taskId,
      expectsReply: true,
    });
  }
  if (envelope.kind === 'reply') {
    // The one thing that completes a task; ending a turn does not.
    const summary = `Begin at the gate. ${envelope.content}`;
    mailbox.send({ ...shepherd, kind: 'task_done', status: 'completed', summary });
  }
  // Only now has it been handled: without this it comes again after a crash.
  mailbox.ack(envelope.messageId);
});
mailbox.send({ ...shepherd, kind: 'hello', pid: process.pid, tools: [] });
