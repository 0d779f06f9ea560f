/**
 * Moves a mail file within its box, and keeps the box small.
 *
 * Owns the single steps; when to take one is the inbox's decision. All of them throw the errors of
 * `node:fs` as they are.
 *
 * V1. A file set aside replaces none that lies there, and says beside it why (`<name>.reason`).
 */
import { join } from 'node:path';
import type { Box } from './layout.ts';
import { errnoOf, lies, mailNames, type MailFs } from './mail-fs.ts';

/** Moves a file; false when it is not there: taken back by its publisher, or moved before. */
export function moveFile(fs: MailFs, from: string, to: string): boolean {
  try {
    fs.renameSync(from, to);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return false;
    throw cause;
  }
}

/** Moves whatever lies at `path` into `to.dir`, under a free name; returns its new path. */
export function setAside(
  fs: MailFs,
  path: string,
  to: { readonly dir: string; readonly name: string },
): string {
  const { dir, name } = to;
  let target = join(dir, name);
  for (let n = 2; lies(fs, target); n += 1) target = join(dir, `${name}.${String(n)}`);
  fs.renameSync(path, target);
  return target;
}

/** Writes why a file was set aside. */
export function noteReason(fs: MailFs, path: string, reason: string): void {
  fs.writeFileSync(`${path}.reason`, `${reason}\n`, { mode: 0o600 });
}

/** Deletes what a killed publisher left in `tmp` before `beforeMs` (epoch). */
export function sweepTmp(fs: MailFs, box: Box, beforeMs: number): void {
  for (const name of mailNames(fs, box.tmp)) {
    const path = join(box.tmp, name);
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined && found.mtimeMs < beforeMs) fs.rmSync(path, { force: true });
  }
}

/**
 * Deletes what was acked before `beforeMs` (epoch), and what is over the newest `keep`; of the `limit`
 * oldest. Returns how many.
 */
export function pruneDone(
  fs: MailFs,
  box: Box,
  options: { readonly beforeMs: number; readonly keep: number; readonly limit: number },
): number {
  const { beforeMs, keep, limit } = options;
  const names = mailNames(fs, box.done);
  const over = names.length - keep;
  const old = names
    .slice(0, limit)
    .map((name) => join(box.done, name))
    .filter((path, index) => {
      if (index < over) return true;
      // A rename sets ctime: this is the time of the ack, not of the writing.
      const found = fs.lstatSync(path, { throwIfNoEntry: false });
      return found !== undefined && found.ctimeMs < beforeMs;
    });
  for (const path of old) fs.rmSync(path, { force: true });
  return old.length;
}
