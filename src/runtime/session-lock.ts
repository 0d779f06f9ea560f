/**
 * Who has a session: one owner at a time, named so that a later process can tell whether it lives.
 *
 * SL1. Taking a session is one compare-and-swap in its store: of two that try, one has it.
 * SL2. An owner that cannot be seen (another host, another pid namespace) is not dead.
 * SL3. A released or parked session, or one whose owner is proven dead, can be taken.
 */
import { ConfigError } from '../errors.ts';
import { describeSelf, judgeOwner, type OwnerIdentity } from '../hosts/owner.ts';
import type { Store } from './store.ts';

/** `parked`: let go of with its children running, for whoever opens it with the same key. */
export type OwnerState = 'held' | 'parked' | 'released';

export interface SessionOwner {
  /** Changes with every take and release; what a swap compares. */
  readonly token: string;
  readonly state: OwnerState;
  readonly identity: OwnerIdentity;
  /** Finds the session again: Pi's session id, or a name. */
  readonly key: string;
  /** Its Pi session has a file: it can be opened again, and this session with it. */
  readonly canReturn: boolean;
  readonly atMs: number;
}

export interface SessionLock {
  readonly identity: OwnerIdentity;
  /** Who had the session before; undefined for a new one. */
  readonly previous: SessionOwner | undefined;
  /** Lets go; nothing if somebody else has it by now. Idempotent. */
  release(state: Exclude<OwnerState, 'held'>): void;
}

/**
 * Takes a session for this process.
 *
 * @throws ConfigError `session_owned` while its owner lives, or cannot be seen; MailboxError
 * `disk_error`.
 */
export async function takeSession(options: {
  readonly store: Store;
  readonly key: string;
  readonly canReturn: boolean;
  readonly makeToken: () => string;
  /** Epoch ms. */
  readonly wall: () => number;
}): Promise<SessionLock> {
  const { store, key, canReturn, makeToken, wall } = options;
  const identity = await describeSelf();
  for (;;) {
    const previous = store.owner();
    if (previous?.state === 'held') await refuseUnlessDead(previous);
    const token = makeToken();
    const mine: SessionOwner = { token, state: 'held', identity, key, canReturn, atMs: wall() };
    if (!store.swapOwner(previous?.token, mine)) continue;
    return {
      identity,
      previous,
      release(state) {
        store.swapOwner(token, { ...mine, token: makeToken(), state, atMs: wall() });
      },
    };
  }
}

async function refuseUnlessDead({ identity }: SessionOwner): Promise<void> {
  const verdict = await judgeOwner(identity);
  if (verdict === 'dead') return;
  const who = `process ${identity.pid} on ${identity.hostName ?? 'an unknown host'}`;
  throw new ConfigError(
    'session_owned',
    verdict === 'alive'
      ? `The session is open in ${who}; close it there first.`
      : `The session was left open by ${who}, which cannot be seen from here; close it there first.`,
    { retryable: true, data: { ...identity, verdict } },
  );
}
