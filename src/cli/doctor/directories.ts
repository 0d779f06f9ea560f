/** Whether this user can write where sessions and settings lie, and whether others can read there. */
import { access, constants, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describeError } from '../../errors.ts';
import { errnoOf } from '../../hosts/processes.ts';
import type { Check } from './report.ts';

export interface DirectoryOptions {
  readonly about: 'state_dir' | 'agent_dir';
  readonly dir: string;
  /** Others have no business there: mailboxes and their secrets lie in it. */
  readonly isPrivate: boolean;
}

/** Looks at a directory, or at the one that it would be made in. */
export async function checkDirectory(options: DirectoryOptions): Promise<Check> {
  const { about, dir, isPrivate } = options;
  const found = await nearest(dir);
  if ('trouble' in found) {
    const fix = `Move ${found.path} away, or give this user its directory back.`;
    return { about, status: 'fail', message: `${dir}: ${found.trouble}`, fix };
  }
  const trouble = await cannotWrite(found.path, found.path === dir && isPrivate);
  if (trouble !== undefined) {
    const fix = trouble.isFull
      ? `Make room on the disk of ${found.path}.`
      : `chown -R "$(id -un)" '${found.path}' && chmod u+rwx '${found.path}'`;
    return { about, status: 'fail', message: `${found.path} ${trouble.text}`, fix };
  }
  if (found.path !== dir) {
    return { about, status: 'ok', message: `${dir} (will be made)`, fix: null };
  }
  if (isPrivate && (found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8);
    const message = `${dir} can be entered by other users (mode ${mode})`;
    return { about, status: 'warn', message, fix: `chmod 700 '${dir}'` };
  }
  return { about, status: 'ok', message: dir, fix: null };
}

type Found = { path: string; mode: number } | { path: string; trouble: string };

/** The directory itself or the nearest one above it that is there. */
async function nearest(dir: string): Promise<Found> {
  for (let path = dir; ; path = dirname(path)) {
    try {
      const stats = await stat(path);
      if (stats.isDirectory()) return { path, mode: stats.mode };
      return { path, trouble: `${path === dir ? 'it' : path} is not a directory` };
    } catch (error) {
      const code = errnoOf(error);
      // ENOTDIR: the file in the way is above.
      if ((code === 'ENOENT' || code === 'ENOTDIR') && dirname(path) !== path) continue;
      return { path, trouble: describeError(error) };
    }
  }
}

/** Writes and removes a file only where that is nobody else's directory: our own. */
async function cannotWrite(
  dir: string,
  tries: boolean,
): Promise<{ text: string; isFull: boolean } | undefined> {
  try {
    await access(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    if (!tries) return undefined;
    const path = join(dir, `.doctor-${process.pid}`);
    try {
      const file = await open(path, 'w', 0o600);
      try {
        await file.writeFile('can be removed\n');
        await file.sync();
      } finally {
        await file.close();
      }
    } finally {
      await rm(path, { force: true });
    }
    return undefined;
  } catch (error) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '');
    return { text: `cannot be written: ${describeError(error)}`, isFull };
  }
}
