/**
 * The disk as the mailbox uses it: a port with the calls of `node:fs`, and how their failures are told.
 *
 * Owns no path and no file. Tests pass a port whose calls fail; everything else uses the default.
 *
 * D1. Every failed call reads as `disk_error`, retryable, and names operation, path and errno.
 */
import * as nodeFs from 'node:fs';
import { MailboxError } from '../errors.ts';

/** The calls of `node:fs` that the mailbox makes; synchronous ones are 2 to 6 times faster here. */
export type MailFs = Pick<
  typeof nodeFs,
  | 'chmodSync'
  | 'closeSync'
  | 'fsyncSync'
  | 'fstatSync'
  | 'linkSync'
  | 'lstatSync'
  | 'mkdirSync'
  | 'openSync'
  | 'readFileSync'
  | 'readdirSync'
  | 'renameSync'
  | 'rmSync'
  | 'unlinkSync'
  | 'watch'
  | 'writeFileSync'
>;

export const realFs: MailFs = nodeFs;

/** What link(2) says where there are no hard links: FAT, exFAT, some FUSE and network mounts. */
export const noHardLinks: ReadonlySet<string> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
]);

/** The errno of a failed call (`ENOSPC`), or undefined for any other error. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

/** The `disk_error` that tells of a failed call. */
export function diskError(operation: string, path: string, cause: unknown): MailboxError {
  const errno = errnoOf(cause);
  return new MailboxError(
    'disk_error',
    `Could not ${operation} ${path} (${errno ?? String(cause)}); the same call may work later.`,
    { cause, retryable: true, data: { operation, path, errno } },
  );
}

/**
 * Makes one call on the disk and returns its result.
 *
 * @throws MailboxError `disk_error` in place of the call's own error.
 */
export function onDisk<T>(operation: string, path: string, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    throw diskError(operation, path, cause);
  }
}

/** Whether anything, of whatever type, lies at `path`. */
export function lies(fs: MailFs, path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Names in a directory in their order; dot files (`.nfs…`, `.DS_Store`) are not mail. */
export function mailNames(fs: MailFs, dir: string): string[] {
  return fs
    .readdirSync(dir)
    .filter((name) => !name.startsWith('.'))
    .toSorted();
}
