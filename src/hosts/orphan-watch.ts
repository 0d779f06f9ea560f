/**
 * Tells a runner when its child has been without an owner for long enough (CONTRACT §10).
 *
 * O1. Only a proven death counts. An owner that lives or is unknown sets the count back to zero; so
 *     does an owner file that is missing, broken or says `stayOpen`. A session whose directory is gone
 *     has no owner any more, and can get none.
 * O2. Only time in which this process ran counts. The clock is monotonic and stands still while the
 *     machine sleeps; one gap between two looks counts as one interval at most, so that a stopped
 *     runner wakes up to the rest of the grace and not to its end.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { judgeOwner, type OwnerVerdict, readOwner } from './owner.ts';

/** How long an owner has to be dead unless a launch says otherwise; the setting's default, CONTRACT §10. */
export const DEFAULT_ORPHAN_GRACE_MS = 600_000;
const MAX_INTERVAL_MS = 5000;

export interface OrphanWatchOptions {
  /** The session's `owner.json`, read anew at each look. */
  readonly ownerFile: string;
  readonly graceMs: number;
  /** Ends the child; called again, at the next look, only after it failed. */
  readonly end: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

export interface OrphanWatch {
  /** Stops looking, lets a begun ending finish, and says whether there was one. */
  stop(): Promise<boolean>;
}

/** Watches from now on; the watch alone keeps no process alive. */
export function watchOwner(options: OrphanWatchOptions): OrphanWatch {
  const { ownerFile, graceMs, end, onError } = options;
  const intervalMs = Math.min(MAX_INTERVAL_MS, Math.ceil(graceMs / 10));
  const isOver = countDeadTime({ graceMs, intervalMs });
  let timer: NodeJS.Timeout | undefined;
  let ending: Promise<void> | undefined;
  let stopped = false;

  async function look(): Promise<void> {
    const beganAtMs = performance.now();
    const verdict = await judgeOwnerFile(ownerFile);
    const nowMs = performance.now();
    if (stopped) return;
    // Stopped half way: what it saw may be long past, and there may be an owner again.
    const isFresh = nowMs - beganAtMs <= MAX_INTERVAL_MS;
    if (isFresh && isOver(verdict, nowMs)) {
      ending = end().catch(onError);
      await ending;
    }
    lookLater();
  }

  function lookLater(): void {
    if (stopped) return;
    timer = setTimeout(() => void look(), intervalMs).unref();
  }

  void look();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await ending;
      return ending !== undefined;
    },
  };
}

/** Counts dead time over looks; the returned function takes one look and says whether the grace is over. */
export function countDeadTime({
  graceMs,
  intervalMs,
}: {
  readonly graceMs: number;
  /** What one gap between two looks counts at most. */
  readonly intervalMs: number;
}): (verdict: OwnerVerdict, nowMs: number) => boolean {
  let deadForMs = 0;
  let lastDeadAtMs: number | undefined;
  return (verdict, nowMs) => {
    if (verdict !== 'dead') {
      deadForMs = 0;
      lastDeadAtMs = undefined;
      return false;
    }
    if (lastDeadAtMs !== undefined) deadForMs += Math.min(nowMs - lastDeadAtMs, intervalMs);
    lastDeadAtMs = nowMs;
    return deadForMs >= graceMs;
  };
}

async function judgeOwnerFile(ownerFile: string): Promise<OwnerVerdict> {
  try {
    const record = await readOwner(ownerFile);
    if (record === undefined) return existsSync(dirname(ownerFile)) ? 'unknown' : 'dead';
    if (record.stayOpen === true) return 'unknown';
    return await judgeOwner(record.owner);
  } catch {
    return 'unknown';
  }
}
