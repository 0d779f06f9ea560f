import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeSelf, type OwnerIdentity } from '../../src/hosts/owner.ts';
import { identify } from '../../src/hosts/processes.ts';
import { createIdMaker } from '../../src/ids.ts';
import { takeSession } from '../../src/runtime/session-lock.ts';
import type { SessionOwner } from '../../src/runtime/session-owner.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Store } from '../../src/runtime/store.ts';

let dir: string;
let store: Store;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sheepfold-lock-'));
  store = openSessionStore(join(dir, 'session.db'));
});
afterEach(() => {
  store.close();
  rmSync(dir, { recursive: true });
});

const take = () =>
  takeSession({
    store,
    key: 'a key',
    canReturn: true,
    makeToken: () => createIdMaker().secret(),
    wall: () => 1,
  });

/** Puts an owner there as another process would have left it. */
function leave(identity: OwnerIdentity, more: Partial<SessionOwner> = {}): void {
  store.swapOwner(store.owner()?.token, {
    token: 'theirs',
    state: 'held',
    identity,
    key: 'a key',
    canReturn: true,
    atMs: 0,
    ...more,
  });
}

describe('a session', () => {
  it('SL1: is taken by one of two', async () => {
    const taken = await Promise.allSettled([take(), take()]);

    const refused = taken.filter((one) => one.status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'session_owned' } }]);
  });

  it('SL1: is not taken by a swap that compares an old token', () => {
    leave({ pid: 1, startTime: 1, bootId: 'b', pidNamespace: 'n', hostName: 'h' });
    const owner = store.owner();

    expect(owner && store.swapOwner('an old one', owner)).toBe(false);
    expect(owner && store.swapOwner(undefined, owner)).toBe(false);
  });

  it('SL2: is refused when its owner cannot be seen', async () => {
    leave({ ...(await describeSelf()), hostName: 'elsewhere' });

    await expect(take()).rejects.toMatchObject({
      code: 'session_owned',
      message: expect.stringContaining('elsewhere'),
    });
  });

  it.each(['released', 'parked'] as const)('SL3: is taken after it was %s', async (state) => {
    const lock = await take();
    lock.release(state);

    expect((await take()).previous).toMatchObject({ state, key: 'a key' });
  });

  it('SL3: is taken from an owner that was killed', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    leave({ ...(await describeSelf()), ...(await identify(child.pid ?? 0)) });
    await expect(take()).rejects.toMatchObject({ code: 'session_owned' });

    child.kill('SIGKILL');
    await once(child, 'exit');

    await expect(take()).resolves.toBeDefined();
  });

  it('SL2: says that a command of the CLI has it, and that it will be free soon', async () => {
    leave({ ...(await describeSelf()), ...(await identify(process.ppid)) }, { isCommand: true });

    await expect(take()).rejects.toMatchObject({
      code: 'session_owned',
      retryable: true,
      message: expect.stringMatching(/^Another sheepfold command has the session.*; try again\.$/),
    });
  });

  it('is let go of only by who has it', async () => {
    const lock = await take();
    leave(await describeSelf());

    lock.release('released');

    expect(store.owner()).toMatchObject({ token: 'theirs', state: 'held' });
  });
});
