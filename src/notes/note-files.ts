/**
 * The files of a session's fieldnotes: `notes/<agent-slug>-<NN>.md`, one for each task.
 *
 * Owns names and writes; what a note says is in `note.ts`. Agents and people write into the same
 * files, at any time and without asking.
 *
 * NF1. A name is taken by an exclusive create, and with all of its first text: no lock, so nothing that a
 *      crash could leave behind keeps anybody out.
 * NF2. A note is replaced whole (temp file, fsync, rename) by a text made from what was read right before.
 * NF3. Nothing is read or written outside of the directory: names are checked, links are not followed.
 *
 * What NF2 cannot prevent, since no call replaces a file only if it is unchanged: what somebody writes
 * between the last read and the rename (some 10 µs) is lost, and so is what goes into a file that was
 * opened before the rename and is still being written to. There are few such moments: a wait that begins or
 * ends, and the task's end.
 */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { MailboxError, ShepherdError } from '../errors.ts';
import { diskError, errnoOf, noHardLinks, onDisk } from '../mailbox/mail-fs.ts';
import { isNoteFileName, isNoteOf, noteFileName, ordinalOf } from './note.ts';

/** The calls of `node:fs` that notes need; a test passes one whose calls fail. */
export type NoteFs = Pick<
  typeof nodeFs,
  | 'closeSync'
  | 'fstatSync'
  | 'linkSync'
  | 'lstatSync'
  | 'mkdirSync'
  | 'openSync'
  | 'readFileSync'
  | 'readdirSync'
  | 'renameSync'
  | 'rmSync'
  | 'writeFileSync'
>;

export interface NoteFiles {
  /**
   * Takes the next free name for a task and returns it.
   *
   * @param reservation `mayHave`: a process that ended may have done it; then the task's own is found.
   * @throws MailboxError `disk_error`.
   */
  reserve(reservation: {
    readonly slug: string;
    readonly taskId: string;
    readonly text: string;
    readonly mayHave: boolean;
  }): string;
  /**
   * Replaces a note by what `write` makes of it; makes one that is gone. Idempotent as `write` is.
   *
   * @throws MailboxError `disk_error`, not retryable for a file that is none of ours to write to.
   */
  update(fileName: string, write: (text: string | undefined) => string): void;
}

/** Beyond it a note is left as it is: the parent would be busy with it for too long. */
const maxNoteBytes = 4 * 1024 * 1024;
/** Beyond it a temp file is not being written any more, whoever began it. */
const longestWriteMs = 60_000;
/** How often a note that changes under our hands is read again before its writer goes first. */
const maxReads = 5;

// Where a system lacks one of them it counts as 0.
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = nodeFs.constants;

/** Creates the files' keeper; makes the directory with the first note, 0700. */
export function createNoteFiles(options: {
  readonly dir: string;
  readonly fs?: NoteFs | undefined;
}): NoteFiles {
  const { dir, fs = nodeFs } = options;
  /** The last ordinal of each slug, as far as this process knows. */
  const lastOrdinals = new Map<string, number>();
  let isSwept = false;

  /** Makes sure that `dir` is a directory itself, and removes what a crash left in it. */
  function openDir(): void {
    onDisk('make directory', dir, () => {
      if (fs.lstatSync(dir, { throwIfNoEntry: false }) === undefined) {
        fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
      }
    });
    const found = onDisk('look at', dir, () => fs.lstatSync(dir));
    if (found.isSymbolicLink()) throw refused(dir, 'is a link');
    if (isSwept) return;
    for (const name of namesIn()) {
      if (!/^\.[0-9a-f]{12}\.tmp$/.test(name)) continue;
      const temp = join(dir, name);
      onDisk('remove', temp, () => {
        const stat = fs.lstatSync(temp, { throwIfNoEntry: false });
        if ((stat?.mtimeMs ?? Infinity) < Date.now() - longestWriteMs)
          fs.rmSync(temp, { force: true });
      });
    }
    isSwept = true;
  }

  const namesIn = (): readonly string[] => onDisk('list', dir, () => fs.readdirSync(dir));

  function pathOf(fileName: string): string {
    if (!isNoteFileName(fileName)) throw refused(fileName, 'is no name of a note');
    return join(dir, fileName);
  }

  function findOwn(slug: string, taskId: string): string | undefined {
    return namesIn().find(
      (name) => ordinalOf(name, slug) !== undefined && isNoteOf(readIfNote(name) ?? '', taskId),
    );
  }

  /** What is no note of ours is somebody else's affair. */
  function readIfNote(fileName: string): string | undefined {
    try {
      return read(pathOf(fileName))?.text;
    } catch (error) {
      if (ShepherdError.is(error) && !error.retryable) return undefined;
      throw error;
    }
  }

  function lastOrdinal(slug: string): number {
    const known = lastOrdinals.get(slug);
    return known ?? Math.max(0, ...namesIn().map((name) => ordinalOf(name, slug) ?? 0));
  }

  /** @throws MailboxError `disk_error`, not retryable for a link, no file, no text or too much of it. */
  function read(path: string): { readonly text: string; readonly mode: number } | undefined {
    const found = onDisk('look at', path, () => fs.lstatSync(path, { throwIfNoEntry: false }));
    if (found === undefined) return undefined;
    if (!found.isFile()) throw refused(path, 'is no plain file');
    const fd = onDisk('open', path, () => fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    try {
      const stat = onDisk('look at', path, () => fs.fstatSync(fd));
      if (!stat.isFile()) throw refused(path, 'is no plain file');
      if (stat.size > maxNoteBytes) throw refused(path, `has more than ${maxNoteBytes} bytes`);
      const bytes = onDisk('read', path, () => fs.readFileSync(fd));
      if (!isUtf8(bytes)) throw refused(path, 'is no UTF-8 text');
      return { text: bytes.toString('utf8'), mode: stat.mode & 0o777 };
    } finally {
      fs.closeSync(fd);
    }
  }

  function writeTemp(text: string, { mode, flush }: { mode: number; flush: boolean }): string {
    const temp = join(dir, `.${randomBytes(6).toString('hex')}.tmp`);
    try {
      onDisk('write', temp, () => {
        fs.writeFileSync(temp, text, { flag: 'wx', mode, flush });
      });
    } catch (error) {
      discard(temp);
      throw error;
    }
    return temp;
  }

  /** A leftover is swept later. */
  function discard(temp: string): void {
    try {
      fs.rmSync(temp, { force: true });
    } catch {
      isSwept = false;
    }
  }

  /** Gives a temp file a name that nobody has; false when somebody has it (NF1). */
  function appear(temp: string, text: string, path: string): boolean {
    try {
      fs.linkSync(temp, path);
      return true;
    } catch (cause) {
      if (errnoOf(cause) === 'EEXIST') return false;
      if (!noHardLinks.has(errnoOf(cause) ?? '')) throw diskError('link', path, cause);
    }
    try {
      fs.writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
      return true;
    } catch (cause) {
      if (errnoOf(cause) === 'EEXIST') return false;
      discard(path);
      throw diskError('write', path, cause);
    }
  }

  /** Without a sync: there is nothing in it yet that cannot be written again. */
  function create(text: string, nextPath: () => string | undefined): void {
    const temp = writeTemp(text, { mode: 0o600, flush: false });
    try {
      for (let path = nextPath(); path !== undefined; path = nextPath()) {
        if (appear(temp, text, path)) return;
      }
    } finally {
      discard(temp);
    }
  }

  return {
    reserve({ slug, taskId, text, mayHave }) {
      openDir();
      const own = mayHave ? findOwn(slug, taskId) : undefined;
      if (own !== undefined) return own;
      let ordinal = lastOrdinal(slug);
      create(text, () => pathOf(noteFileName(slug, (ordinal += 1))));
      lastOrdinals.set(slug, ordinal);
      return noteFileName(slug, ordinal);
    },
    update(fileName, write) {
      const path = pathOf(fileName);
      openDir();
      for (let reads = 1; ; reads += 1) {
        const before = read(path);
        const text = write(before?.text);
        if (text === before?.text) return;
        const temp = writeTemp(text, { mode: before?.mode ?? 0o600, flush: true });
        try {
          const now = read(path);
          if (now?.text === before?.text) {
            onDisk('rename to', path, () => {
              fs.renameSync(temp, path);
            });
            return;
          }
        } finally {
          discard(temp);
        }
        if (reads === maxReads) throw busy(path);
      }
    },
  };
}

function busy(path: string): MailboxError {
  return new MailboxError('disk_error', `${path} is being written to; it is tried again.`, {
    retryable: true,
    data: { path, errno: 'EBUSY' },
  });
}

function refused(path: string, why: string): MailboxError {
  return new MailboxError('disk_error', `${path} ${why}: it is left as it is.`, {
    data: { path },
  });
}
