/**
 * Who has a session: one owner at a time, named so that a later process can tell whether it lives.
 *
 * SL1. Taking a session is one compare-and-swap in its store: of two that try, one has it.
 * SL2. An owner that cannot be seen (another host, another pid namespace) is not dead.
 * SL3. A released or parked session, or one whose owner is proven dead, can be taken.
 * SL4. One that this very process has is waited for, for a moment: it may be about to be let go of.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../errors.ts';
import { describeSelf, judgeOwner, type OwnerIdentity } from '../hosts/owner.ts';
import type { OwnerState, SessionOwner } from './session-owner.ts';
import type { Store } from './store.ts';

export interface SessionLock {
  readonly identity: OwnerIdentity;
  /** Who had the session before; undefined for a new one. */
  readonly previous: SessionOwner | undefined;
  /**
   * Lets go; nothing if somebody else has it by now. Idempotent.
   *
   * @throws MailboxError `disk_error`; then it is still held, and may be let go of later.
   */
  release(state: Exclude<OwnerState, 'held'>): void;
}

/** Between two tries to let go of a session, in ms; who wants to have it waits for some of them. */
export const releaseAgainMs = 250;
const handOverMs = 4 * releaseAgainMs;
const lookAgainMs = 50;

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
  readonly isCommand?: true;
  readonly makeToken: () => string;
  /** Epoch ms. */
  readonly wall: () => number;
}): Promise<SessionLock> {
  const { store, key, canReturn, isCommand, makeToken, wall } = options;
  const identity = await describeSelf();
  let looksLeft = handOverMs / lookAgainMs;
  for (;;) {
    const previous = store.owner();
    if (previous?.state === 'held') {
      if (isDeepStrictEqual(previous.identity, identity) && looksLeft > 0) {
        looksLeft -= 1;
        // oxlint-disable-next-line no-await-in-loop -- one look after the other
        await wait(lookAgainMs);
        continue;
      }
      await refuseUnlessDead(previous);
    }
    const token = makeToken();
    const mine: SessionOwner = {
      token,
      state: 'held',
      identity,
      key,
      canReturn,
      ...(isCommand === true ? { isCommand } : {}),
      atMs: wall(),
    };
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

async function refuseUnlessDead(owner: SessionOwner): Promise<void> {
  const { identity } = owner;
  const verdict = await judgeOwner(identity);
  if (verdict === 'dead') return;
  throw new ConfigError('session_owned', describeRefusal(owner, verdict), {
    retryable: true,
    data: { ...identity, verdict },
  });
}

function describeRefusal(
  { identity, isCommand }: SessionOwner,
  verdict: 'alive' | 'unknown',
): string {
  const who = `process ${identity.pid} on ${identity.hostName ?? 'an unknown host'}`;
  if (verdict === 'unknown') {
    return `The session was left open by ${who}, which cannot be seen from here; close it there first.`;
  }
  return isCommand === true
    ? `Another sheepfold command has the session for a moment (${who}); try again.`
    : `The session is open in ${who}; close it there first.`;
}
