/**
 * Publishes an envelope into a box, atomically and durably.
 *
 * Owns the writing end of a box: `tmp` and the appearance of a name in `new`. Does not seal, does not
 * count unread, never reads a directory: its cost does not grow with what lies in the box.
 *
 * P1. A name appears in `new` with its whole content or not at all: write to `tmp`, then link(2).
 * P2. `accepted` and `duplicate` are returned only for a file that the disk has confirmed (one fsync
 *     after the link: visible first). A power cut in between ends reader and writer alike.
 * P3. An id is published once: the same content again is `duplicate`, another `duplicate_conflict`.
 *     A repeat that races with the reader's claim may get through; the reader drops it.
 * P4. A failed publish leaves nothing behind, unless the reader had claimed it: then it is accepted.
 *
 * Measured (reference/transport.md B1, B4): 0.4 to 1.1 ms with the one fsync, 50 to 70 µs without;
 * the form with two (file, then directory) takes twice as long and lost no less in 21 power cuts.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { MailboxError } from '../errors.ts';
import { contentHash, type Envelope } from './envelope.ts';
import { readEnvelopeFile } from './envelope-file.ts';
import { fileNameOf, type Box } from './layout.ts';
import { defaultLimits } from './limits.ts';
import { diskError, errnoOf, lies, noHardLinks, onDisk, realFs, type MailFs } from './mail-fs.ts';

/**
 * What has reached the disk when a publish returns: the file (`fsync`), also the directory's entry
 * (`strict`; ext4, xfs and btrfs were measured to need no second sync, POSIX does not promise it), or
 * nothing (`none`; for activity, which the next heartbeat replaces).
 */
export type Durability = 'fsync' | 'strict' | 'none';

export interface PublishOptions {
  /** Default `fsync`. */
  readonly durability?: Durability | undefined;
  /** Default 65,536. */
  readonly maxEnvelopeBytes?: number | undefined;
  readonly fs?: MailFs | undefined;
}

/**
 * Publishes a sealed envelope; returns when it is safe.
 *
 * Idempotent by message id. A `disk_error` may be retried with the same envelope.
 *
 * @throws MailboxError `message_too_large`, `duplicate_conflict`, `disk_error`.
 */
export function publishEnvelope(
  box: Box,
  envelope: Envelope,
  options: PublishOptions = {},
): 'accepted' | 'duplicate' {
  const { durability = 'fsync', fs = realFs } = options;
  const bytes = encodeEnvelope(envelope, options);
  if (isPublished(box, envelope, options)) return 'duplicate';

  const temp = join(box.tmp, `${envelope.messageId}.${randomBytes(6).toString('hex')}`);
  const target = join(box.new, fileNameOf(envelope.messageId));
  const fd = onDisk('open', temp, () => fs.openSync(temp, 'wx', 0o600));
  try {
    onDisk('write', temp, () => {
      fs.writeFileSync(fd, bytes);
    });
    if (!appear({ fs, fd, temp, target })) {
      if (isPublished(box, envelope, options)) return 'duplicate';
      throw diskError('link', target, 'the name was taken and is free again');
    }
    try {
      confirm({ fs, fd, target, dir: box.new, durability });
    } catch (error) {
      if (takeBack(fs, target)) throw error;
    }
    return 'accepted';
  } finally {
    discard(fs, fd, temp);
  }
}

function encodeEnvelope(envelope: Envelope, options: PublishOptions): Buffer {
  const { maxEnvelopeBytes = defaultLimits.maxEnvelopeBytes } = options;
  const bytes = Buffer.from(JSON.stringify(envelope));
  if (bytes.length > maxEnvelopeBytes) {
    throw new MailboxError(
      'message_too_large',
      `The envelope has ${String(bytes.length)} bytes; at most ${String(maxEnvelopeBytes)} are accepted. Put long text into a file and name its path.`,
      { data: { messageId: envelope.messageId, bytes: bytes.length, maxEnvelopeBytes } },
    );
  }
  return bytes;
}

/**
 * Whether this envelope already lies in the box, unread or handled; if so, it is safe on disk (P2).
 *
 * @throws MailboxError `duplicate_conflict` when another content has its id, `disk_error`.
 */
export function isPublished(box: Box, envelope: Envelope, options: PublishOptions = {}): boolean {
  const { durability = 'fsync', fs = realFs } = options;
  // In the direction in which the reader moves a file, so that a moving one is not missed.
  for (const dir of [box.new, box.cur, box.done, box.dead]) {
    const path = join(dir, fileNameOf(envelope.messageId));
    const earlier = readEnvelopeFile(path, { fs, maxEnvelopeBytes: Number.POSITIVE_INFINITY });
    if (earlier.is === 'missing') continue;
    if (earlier.is === 'unreadable') throw earlier.error;
    // Torn or squatted: the reader quarantines it soon, and then the name is free.
    if (earlier.is !== 'valid') throw diskError('read', path, earlier.refusal.reason);
    if (contentHash(earlier.envelope) !== contentHash(envelope)) {
      throw new MailboxError(
        'duplicate_conflict',
        `${envelope.messageId} was published before with another content; a new message needs a new id.`,
        { data: { messageId: envelope.messageId } },
      );
    }
    // Its publisher may have died between link and fsync.
    if (durability !== 'none' && (dir === box.new || dir === box.cur)) syncPath(fs, path, 'r+');
    return true;
  }
  return false;
}

interface Appearance {
  readonly fs: MailFs;
  readonly fd: number;
  readonly temp: string;
  readonly target: string;
}

/** Gives the file its name in `new`; false when the name is taken. */
function appear({ fs, fd, temp, target }: Appearance): boolean {
  try {
    fs.linkSync(temp, target);
    return true;
  } catch (cause) {
    const errno = errnoOf(cause) ?? '';
    // A network file system may repeat a link that had succeeded: two names mean that it is ours.
    if (errno === 'EEXIST') return fs.fstatSync(fd).nlink > 1;
    if (!noHardLinks.has(errno)) throw diskError('link', target, cause);
  }
  return onDisk('rename to', target, () => {
    if (lies(fs, target)) return false;
    fs.renameSync(temp, target);
    return true;
  });
}

interface Confirmation {
  readonly fs: MailFs;
  readonly fd: number;
  readonly target: string;
  readonly dir: string;
  readonly durability: Durability;
}

function confirm({ fs, fd, target, dir, durability }: Confirmation): void {
  if (durability === 'none') return;
  onDisk('fsync', target, () => {
    fs.fsyncSync(fd);
  });
  if (durability === 'strict') syncPath(fs, dir, 'r');
}

function syncPath(fs: MailFs, path: string, flags: 'r' | 'r+'): void {
  try {
    const fd = fs.openSync(path, flags);
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  } catch (cause) {
    // Claimed or acked meanwhile: it was read, which is more than being safe.
    if (errnoOf(cause) !== 'ENOENT') throw diskError('fsync', path, cause);
  }
}

/** Takes an unconfirmed file out of `new`; false when the reader was faster. */
function takeBack(fs: MailFs, target: string): boolean {
  try {
    fs.unlinkSync(target);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return false;
    throw diskError('take back', target, cause);
  }
}

/** Neither failure changes what was published: the opening reader sweeps leftovers in `tmp`. */
function discard(fs: MailFs, fd: number, temp: string): void {
  for (const step of [
    () => {
      fs.closeSync(fd);
    },
    () => {
      fs.rmSync(temp, { force: true });
    },
  ]) {
    try {
      step();
    } catch {
      continue;
    }
  }
}
