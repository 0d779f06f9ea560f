/**
 * Follows a session's journal for every page that looks, by asking the store now and then.
 *
 * FO1. A page hears of every step once, in order, also when it comes late or comes back.
 * FO2. Nobody looks: nothing is asked. A page that takes nothing in does not hold up the others.
 */
import { ShepherdError } from '../errors.ts';

export interface Follower<Row> {
  /** Steps after a number, oldest first, at most so many. */
  readonly read: (after: number, limit: number) => readonly Row[];
  /** Takes steps; returns false while it can take no more. */
  readonly take: (rows: readonly Row[]) => boolean;
  /** Resolves when it can take more. */
  readonly ready: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Time between two looks. */
const lookEveryMs = 200;
/** Steps that are read and sent at once. */
const atOnce = 500;

/**
 * Sends the steps after `after`, and then each new one, until the follower's signal; resolves then.
 *
 * @throws what reading the store throws, but for what may pass.
 */
export async function follow<Row extends { readonly seq: number }>(
  follower: Follower<Row>,
  after: number,
): Promise<void> {
  const { read, take, ready, signal } = follower;
  let seen = after;
  while (!signal.aborted) {
    const rows = readRows(read, seen);
    const last = rows.at(-1);
    if (last === undefined) {
      await pause(lookEveryMs, signal);
      continue;
    }
    seen = last.seq;
    if (!take(rows)) await ready();
    // Between two pieces of a long journal everybody else has their turn.
    else await pause(0, signal);
  }
}

/** What the disk does not give now is asked for again. */
function readRows<Row>(read: Follower<Row>['read'], after: number): readonly Row[] {
  try {
    return read(after, atOnce);
  } catch (error) {
    if (ShepherdError.is(error) && error.retryable) return [];
    throw error;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
