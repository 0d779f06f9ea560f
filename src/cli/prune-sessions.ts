/**
 * Removes the files of sessions that are provably over, and nothing else.
 *
 * PS1. Over is a session that its owner has ended, or whose owner is dead and cannot come back; of which no
 *      agent may still run, no task is open, and nothing is left to be told.
 * PS2. It is taken first: whoever opens it at the same time is refused, or it is left alone.
 * PS3. Notes are never removed.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, ShepherdError } from '../errors.ts';
import { judgeOwner } from '../hosts/owner.ts';
import { countRunning } from '../runtime/sessions.ts';
import type { Store } from '../runtime/store.ts';
import { readSession, withOwnedSession, type SessionPlace } from './sessions.ts';

export interface PrunedSession {
  readonly name: string;
  readonly sessionDir: string;
  /** Why it is left; `null` for one that was removed. */
  readonly kept: string | null;
}

/** Removes a session, or says why it is left. */
export async function pruneSession(place: SessionPlace, now: () => number): Promise<PrunedSession> {
  const { name, dir } = place;
  const found = (kept: string | null): PrunedSession => ({ name, sessionDir: dir, kept });
  try {
    const reason = await readSession(place, (store) => whyKept(store, dir));
    if (reason !== undefined) return found(reason);
    const second = await withOwnedSession(place, {
      now,
      work: (store) => {
        const left = whatIsLeft(store);
        if (left === undefined) removeFiles(dir);
        return left;
      },
    });
    return found(second ?? null);
  } catch (error) {
    if (!ShepherdError.is(error)) throw error;
    return found(describeError(error));
  }
}

async function whyKept(store: Store, dir: string): Promise<string | undefined> {
  const owner = store.owner();
  if (owner?.state === 'parked') return 'its Pi session may come back';
  if (owner?.state === 'held') {
    const verdict = await judgeOwner(owner.identity);
    if (verdict !== 'dead') return `its owner is ${verdict}`;
    if (owner.canReturn) return 'its Pi session may come back';
  }
  if ((await countRunning(store, dir)) > 0) return 'an agent of it may still run';
  return whatIsLeft(store);
}

function whatIsLeft(store: Store): string | undefined {
  if (store.all('task').some(({ result }) => result === undefined)) return 'a task of it is open';
  const untold = store.all('notice').some(({ delivered, isDead }) => !delivered && isDead !== true);
  return untold ? 'something of it is still to be told' : undefined;
}

const ofStore = (name: string): boolean => name.startsWith('session.db');

/** The store last: until then it can still be seen what this was. */
function removeFiles(dir: string): void {
  const names = readdirSync(dir).filter((name) => name !== 'notes');
  for (const name of [...names.filter((one) => !ofStore(one)), ...names.filter(ofStore)]) {
    rmSync(join(dir, name), { recursive: true, force: true });
  }
  const notes = join(dir, 'notes');
  const isEmpty = !readdirSync(dir).includes('notes') || readdirSync(notes).length === 0;
  if (isEmpty) rmSync(dir, { recursive: true, force: true });
}
