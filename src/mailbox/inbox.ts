/**
 * The reading end of a box: claim, ack, bury, quarantine.
 *
 * Owns when a file moves from `new` to `cur` and on to `done`, `dead` or `bad`. Does not publish, does
 * not watch, and does not know what an envelope means; whether it belongs here it is told.
 *
 * I1. What is returned lies in `cur`; it is returned once by this object, and again by the next one
 *     that opens the box, until it is acked: at least once, never lost.
 * I2. Order is name order, first what an earlier reader left in `cur`. A file that cannot be read yet
 *     holds those behind it, for a limited time.
 * I3. A bad file never throws and never holds others: it goes to `bad` with a `.reason` beside it.
 * I4. A repeat of what lies in `cur`, `done` or `dead` is dropped.
 * I5. A failed call of the disk is retried at the next claim and never makes a file bad.
 */
import { join } from 'node:path';
import type { MailboxError, MailboxErrorCode } from '../errors.ts';
import type { Refusal } from './capability.ts';
import type { Envelope } from './envelope.ts';
import { judgeEnvelopeFile } from './envelope-file.ts';
import { fileNameOf, messageIdOf, type Box } from './layout.ts';
import { defaultLimits } from './limits.ts';
import { diskError, lies, mailNames, onDisk, realFs, type MailFs } from './mail-fs.ts';
import { moveFile, noteReason, pruneDone, setAside, sweepTmp } from './moves.ts';

/** How long handled envelopes are kept, so that a repeat of one is recognised. */
const doneKeptMs = 24 * 60 * 60_000;
/** And how many of them: a repeat is a thing of seconds, whatever the day has brought. */
const doneKept = 2_000;
/** A day of a busy child is a few thousand files; listing `done` costs 0.1 ms a thousand. */
const acksBetweenPrunes = 500;

interface ClaimedFile {
  readonly envelope: Envelope;
  /** Epoch ms at which this reader took it. */
  readonly claimedAtMs: number;
  /** It had been claimed before, and never acked: what it asks for may have been done. */
  readonly isAgain: boolean;
}

/** A file that was quarantined. */
export interface BadFile {
  readonly code: MailboxErrorCode;
  readonly reason: string;
  /** Its name in `new`. */
  readonly name: string;
  /** Where it lies now. */
  readonly path: string;
  /** The id that its name carries, whoever wrote it. */
  readonly messageId?: string;
}

/** What a reading end tells besides mail, each in a microtask of its own: no mail waits for it. */
export interface InboxReports {
  readonly onBad?: ((bad: BadFile) => void) | undefined;
  /** Hears of a failed call of the disk that is retried: once for each path, until it works again. */
  readonly onTrouble?: ((error: MailboxError) => void) | undefined;
}

export interface InboxOptions extends InboxReports {
  /** Epoch ms. */
  readonly now: () => number;
  /** Says why a valid envelope does not belong here; undefined: it does. */
  readonly refusalOf: (envelope: Envelope) => Refusal | undefined;
  /** Default 65,536. */
  readonly maxEnvelopeBytes?: number | undefined;
  /** How long text that may be incomplete is waited for, in ms. Default 2,000. */
  readonly settleMs?: number | undefined;
  /** How long a file that the disk does not give holds those behind it, in ms. Default 10,000. */
  readonly holdMs?: number | undefined;
  /** Age from which files in `tmp` are leftovers, in ms. Default 10 minutes. */
  readonly staleTmpMs?: number | undefined;
  readonly fs?: MailFs | undefined;
}

export interface Inbox {
  /** Takes all there is, in order. Never throws for a file or the disk. */
  claim(): readonly ClaimedFile[];
  /** Whether the last claim had to leave what may be mail, and waits for it. */
  readonly isBehind: boolean;
  /**
   * Marks an envelope as handled. Idempotent, also for one that an earlier reader claimed.
   *
   * @throws MailboxError `disk_error`; the envelope then comes again from the next reader.
   */
  ack(messageId: string): void;
  /** Makes it a dead letter with this reason; otherwise like `ack`. */
  bury(messageId: string, reason: string): void;
  /** Has the next claim return it once more, before newer ones. */
  retry(messageId: string): void;
  /**
   * Deletes what was acked longer ago than `olderThanMs`, looking at the `limit` (default 1,000)
   * oldest; returns how many. Happens by itself with a day, at opening and at each 500th ack.
   *
   * @throws MailboxError `disk_error`
   */
  pruneDone(olderThanMs: number, limit?: number): number;
}

/** Opens a box for reading and sweeps its stale `tmp` files. One reader a box. */
export function openInbox(box: Box, options: InboxOptions): Inbox {
  const {
    now,
    refusalOf,
    maxEnvelopeBytes = defaultLimits.maxEnvelopeBytes,
    settleMs = 2_000,
    holdMs = 10_000,
    staleTmpMs = 10 * 60_000,
    onBad,
    onTrouble,
    fs = realFs,
  } = options;
  /** Names in `cur` that are to be returned; undefined until `cur` could be listed. */
  let line: readonly string[] | undefined;
  /** Since when a file cannot be read, by this reader's clock: a file's own times may be foreign. */
  const unreadSinceMs = new Map<string, number>();
  /** Failed calls that were reported and have not worked since. */
  const troubled = new Set<string>();
  let acks = 0;
  let isBehind = false;

  const report = (call: string, error: MailboxError): void => {
    if (troubled.has(call)) return;
    troubled.add(call);
    queueMicrotask(() => onTrouble?.(error));
  };

  /** Makes a call that is retried when it fails; undefined: it failed. */
  const attempt = <T>(operation: string, path: string, call: () => T): T | undefined => {
    let result: T;
    try {
      result = call();
    } catch (cause) {
      report(`${operation} ${path}`, diskError(operation, path, cause));
      return undefined;
    }
    troubled.delete(`${operation} ${path}`);
    return result;
  };

  const list = (dir: string): string[] | undefined =>
    attempt('list', dir, () => mailNames(fs, dir));

  const waitedMs = (path: string): number => {
    const sinceMs = unreadSinceMs.get(path) ?? now();
    unreadSinceMs.set(path, sinceMs);
    return now() - sinceMs;
  };

  /** A directory that cannot be listed is waited for no longer than a file that cannot be read. */
  const listSoon = (dir: string): string[] | undefined => {
    const names = list(dir);
    if (names !== undefined) unreadSinceMs.delete(dir);
    else if (waitedMs(dir) >= holdMs) isBehind = false;
    return names;
  };

  const quarantine = (path: string, name: string, { code, reason }: Refusal): void => {
    const at = attempt('quarantine', path, () => setAside(fs, path, { dir: box.bad, name }));
    if (at === undefined) return;
    attempt('write the reason beside', at, () => {
      noteReason(fs, at, `${code}: ${reason}`);
    });
    const messageId = messageIdOf(name);
    const file = {
      code,
      reason,
      name,
      path: at,
      ...(messageId === undefined ? {} : { messageId }),
    };
    queueMicrotask(() => onBad?.(file));
  };

  /** Takes one file. `hold`: nothing behind it either. `later`: it stays, those behind it flow. */
  const take = (dir: string, name: string): ClaimedFile | 'none' | 'hold' | 'later' => {
    const path = join(dir, name);
    const file = judgeEnvelopeFile(path, { box, fs, maxEnvelopeBytes, refusalOf });
    if (file.is === 'unreadable') {
      report(`read ${path}`, file.error);
      return waitedMs(path) < holdMs ? 'hold' : 'later';
    }
    if (file.is === 'partial' && waitedMs(path) < settleMs) return 'hold';
    unreadSinceMs.delete(path);
    troubled.delete(`read ${path}`);
    switch (file.is) {
      case 'missing':
        return 'none';
      case 'partial':
      case 'bad':
        quarantine(path, name, file.refusal);
        return 'none';
      case 'repeat':
        attempt('drop the repeat', path, () => {
          fs.rmSync(path, { force: true });
        });
        return 'none';
      case 'valid': {
        if (dir === box.new) {
          const moved = attempt('claim', path, () => moveFile(fs, path, join(box.cur, name)));
          if (moved !== true) return moved === undefined ? 'hold' : 'none';
        }
        return { envelope: file.envelope, claimedAtMs: now(), isAgain: dir === box.cur };
      }
    }
  };

  /** Takes files in order into `claimed`; what stays, and whether newer ones have to wait for it. */
  const takeAll = (dir: string, names: readonly string[], claimed: ClaimedFile[]) => {
    const left: string[] = [];
    for (const [index, name] of names.entries()) {
      const taken = take(dir, name);
      if (taken === 'hold') return { left: [...left, ...names.slice(index)], held: true };
      if (taken === 'later') left.push(name);
      else if (taken !== 'none') claimed.push(taken);
    }
    return { left, held: false };
  };

  const prune = (olderThanMs: number, limit = 1_000): number =>
    pruneDone(fs, box, { beforeMs: now() - olderThanMs, keep: doneKept, limit });

  attempt('sweep', box.tmp, () => {
    sweepTmp(fs, box, now() - staleTmpMs);
  });
  attempt('prune', box.done, () => prune(doneKeptMs));
  return {
    get isBehind() {
      return isBehind;
    },
    claim() {
      isBehind = true;
      line ??= listSoon(box.cur);
      if (line === undefined) return [];
      const claimed: ClaimedFile[] = [];
      const { left, held } = takeAll(box.cur, line, claimed);
      line = left;
      if (held) return claimed;
      const names = listSoon(box.new);
      if (names !== undefined) isBehind = takeAll(box.new, names, claimed).held;
      return claimed;
    },
    ack(messageId) {
      const name = fileNameOf(messageId);
      const path = join(box.cur, name);
      onDisk('ack', path, () => moveFile(fs, path, join(box.done, name)));
      acks += 1;
      if (acks % acksBetweenPrunes === 0) attempt('prune', box.done, () => prune(doneKeptMs));
    },
    bury(messageId, reason) {
      const name = fileNameOf(messageId);
      const path = join(box.cur, name);
      onDisk('bury', path, () => {
        if (!lies(fs, path)) return;
        noteReason(fs, setAside(fs, path, { dir: box.dead, name }), reason);
      });
    },
    retry(messageId) {
      const name = fileNameOf(messageId);
      if (line !== undefined && !line.includes(name)) line = [...line, name].toSorted();
    },
    pruneDone: (olderThanMs, limit) => onDisk('prune', box.done, () => prune(olderThanMs, limit)),
  };
}
