/**
 * Says when there may be mail in a directory.
 *
 * Owns watches and timers. Reads no mail and lists no directory: a hint is only a reason to look.
 *
 * W1. The sweep is the truth: every directory is hinted at least each second, whatever fs.watch does.
 *     It drops events silently beyond 16,384, is mute on network mounts and dies with its directory.
 * W2. Hints of one tick come as one call.
 * W3. A directory that cannot be watched (ENOSPC, EMFILE, missing) is swept each 50 ms until it can.
 * W4. A watch whose directory was replaced is armed anew at the next sweep.
 *
 * Measured (reference/transport.md B2, B3): fs.watch has the reader look within 0.6 to 0.9 ms, a
 * 50 ms sweep within 25 ms; chokidar takes twice the time and five times the CPU.
 */
import type { FSWatcher } from 'node:fs';
import { realFs, type MailFs } from './mail-fs.ts';

export interface WatchOptions {
  /** Called with the directories to look into. */
  readonly onMail: (dirs: readonly string[]) => void;
  /** Between two sweeps, in ms; at most and by default 1,000. */
  readonly sweepMs?: number | undefined;
  /** Whether watches and timers keep the process alive. Default false. */
  readonly keepAlive?: boolean | undefined;
  readonly fs?: MailFs | undefined;
}

export interface BoxWatch {
  /** Watches a directory and hints it once, for what lies there already. Idempotent. */
  add(dir: string): void;
  remove(dir: string): void;
  /** Ends all watches and timers; no call follows. Idempotent. */
  close(): void;
}

interface Armed {
  readonly watcher: FSWatcher;
  readonly inode: number;
}

const fallbackMs = 50;

/** Starts to watch directories, none at first. */
export function watchBoxes(options: WatchOptions): BoxWatch {
  const { onMail, sweepMs = 1_000, keepAlive = false, fs = realFs } = options;
  /** Undefined: not watched for now. */
  const armed = new Map<string, Armed | undefined>();
  const hinted = new Set<string>();
  let flush: NodeJS.Immediate | undefined;
  let fallback: NodeJS.Timeout | undefined;

  const every = (ms: number, call: () => void): NodeJS.Timeout => {
    const timer = setInterval(call, ms);
    return keepAlive ? timer : timer.unref();
  };

  const hint = (dir: string): void => {
    if (!armed.has(dir)) return;
    hinted.add(dir);
    flush ??= setImmediate(() => {
      flush = undefined;
      const dirs = [...hinted];
      hinted.clear();
      if (dirs.length > 0) onMail(dirs);
    });
  };

  const disarm = (dir: string): void => {
    armed.get(dir)?.watcher.close();
    armed.set(dir, undefined);
    fallback ??= every(fallbackMs, sweepUnwatched);
  };

  const arm = (dir: string): void => {
    try {
      const { ino: inode } = fs.lstatSync(dir);
      const watcher = fs.watch(dir, { persistent: keepAlive }, () => {
        hint(dir);
      });
      watcher.on('error', () => {
        if (armed.get(dir)?.watcher === watcher) disarm(dir);
      });
      armed.set(dir, { watcher, inode });
    } catch {
      // Whatever forbids the watch, the sweep stands in for it (W3).
      disarm(dir);
    }
  };

  const sweepUnwatched = (): void => {
    const unwatched = [...armed].filter(([, state]) => state === undefined);
    for (const [dir] of unwatched) hint(dir);
    if (unwatched.length > 0) return;
    clearInterval(fallback);
    fallback = undefined;
  };

  const isDead = (dir: string, { inode }: Armed): boolean => {
    try {
      return fs.lstatSync(dir).ino !== inode;
    } catch {
      return true;
    }
  };

  const sweep = every(Math.min(sweepMs, 1_000), () => {
    for (const [dir, state] of armed) {
      if (state !== undefined && isDead(dir, state)) disarm(dir);
      if (armed.get(dir) === undefined) arm(dir);
      hint(dir);
    }
  });

  return {
    add(dir) {
      if (armed.has(dir)) return;
      arm(dir);
      hint(dir);
    },
    remove(dir) {
      armed.get(dir)?.watcher.close();
      armed.delete(dir);
      hinted.delete(dir);
    },
    close() {
      for (const state of armed.values()) state?.watcher.close();
      armed.clear();
      hinted.clear();
      clearInterval(sweep);
      clearInterval(fallback);
      if (flush !== undefined) clearImmediate(flush);
    },
  };
}
