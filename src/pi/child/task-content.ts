/** The text of a task, also of one that was too long for its envelope. */
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import type { EnvelopeOf } from '../../mailbox/envelope.ts';

/** Pi's `read` shows no line that is longer. */
const maxLineBytes = 50 * 1024;

export interface TaskContentOptions {
  readonly mailbox: Pick<ChildMailbox, 'attachmentPath' | 'readAttachment'>;
  /** Whether the model can read files. */
  readonly canRead: boolean;
}

/**
 * What the model gets to read of a task: all of it, or its beginning and where to read the rest.
 *
 * @throws MailboxError `disk_error`, `invalid_envelope` when the attached text is not there or is not
 * what was sent.
 */
export function taskContent(envelope: EnvelopeOf<'task'>, options: TaskContentOptions): string {
  const { content, attachment } = envelope;
  if (attachment === undefined) return content;
  const { mailbox, canRead } = options;
  const whole = mailbox.readAttachment(attachment);
  if (!canRead || whole.split('\n').some((line) => Buffer.byteLength(line) > maxLineBytes)) {
    return whole;
  }
  return [
    `${content}…`,
    '',
    `This is only the beginning. The whole task (${attachment.bytes} bytes) is in the file ${mailbox.attachmentPath(attachment)}.`,
    'Read that file to its end, in several calls where it is long, before you start.',
  ].join('\n');
}
