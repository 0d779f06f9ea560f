/**
 * Texts that are too long for an envelope: a file each, beside the boxes of who is to read it.
 *
 * Owns the files' place, form and proof. Who may attach, and how much, is the sender's affair.
 *
 * AT1. A file is complete whenever it exists (temp file, fsync, rename), and 0600 in a 0700 directory.
 * AT2. What is read is what was attached: the envelope, which has a proof, carries size and hash.
 */
import { createHash, randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { MailboxError } from '../errors.ts';
import type { Attachment } from './envelope.ts';
import { onDisk, realFs, type MailFs } from './mail-fs.ts';

/** Describes a text as the attachment of an envelope with this id. */
export function describeAttachment(messageId: string, text: string): Attachment {
  const bytes = Buffer.from(text);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { file: `${messageId}.txt`, bytes: bytes.length, sha256 };
}

/** Where an attachment lies; `dir` is the incarnation's own directory. */
export function attachmentPath(dir: string, { file }: Pick<Attachment, 'file'>): string {
  return join(dir, 'files', file);
}

/**
 * Writes a text to where its reader looks for it; idempotent.
 *
 * @throws MailboxError `disk_error`.
 */
export function writeAttachment(path: string, text: string, fs: MailFs = realFs): void {
  const temp = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  onDisk('make directory', dirname(path), () => {
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  });
  try {
    onDisk('write', temp, () => {
      fs.writeFileSync(temp, text, { flag: 'wx', mode: 0o600, flush: true });
    });
    onDisk('rename to', path, () => {
      fs.renameSync(temp, path);
    });
  } finally {
    onDisk('remove', temp, () => {
      fs.rmSync(temp, { force: true });
    });
  }
}

/**
 * Reads the text that an envelope names (AT2).
 *
 * @throws MailboxError `disk_error`; `invalid_envelope` for a text that is not the one attached.
 */
export function readAttachment(path: string, attached: Attachment, fs: MailFs = realFs): string {
  const text = onDisk('read', path, () => fs.readFileSync(path, 'utf8'));
  const found = describeAttachment('', text);
  if (found.sha256 === attached.sha256) return text;
  throw new MailboxError(
    'invalid_envelope',
    `The attachment ${attached.file} is not what was sent: it has ${found.bytes} bytes, not ${attached.bytes}, or other ones.`,
  );
}
