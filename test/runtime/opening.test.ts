import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MailboxError } from '../../src/errors.ts';
import { createMemoryHost } from '../../src/hosts/memory.ts';
import { createShepherd, type ShepherdOptions } from '../../src/runtime/create-shepherd.ts';
import { adoptSession, findSession } from '../../src/runtime/session-dir.ts';
import { stateDirOf } from '../../src/settings/places.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Store } from '../../src/runtime/store.ts';
import { openHerd, type TestHerd } from '../support/herd.ts';

const diskError = { code: 'disk_error', retryable: true };

/** A herd that its parent has let go of. */
async function openLeft() {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  herd.abandon();
  const { sessionDir } = herd.shepherd;
  return { herd, one, stateDir: stateDirOf(herd.pasture.dir), name: basename(sessionDir) };
}

/** Opens a herd's session once more; one call of its store fails while the disk `isIll`. */
function openIll(herd: TestHerd, call: keyof Store, options: ShepherdOptions = {}, isIll = true) {
  const disk = { isIll, failures: 0 };
  const letGo = new AbortController();
  onTestFinished(() => letGo.abort());
  const fail = (): never => {
    disk.failures += 1;
    throw new MailboxError('disk_error', 'The test has no disk.', { retryable: true });
  };
  const opened = createShepherd({
    cwd: herd.pasture.dir,
    sessionKey: 'the test',
    host: createMemoryHost({ world: herd.pasture.world }),
    wall: () => herd.pasture.nowMs,
    signal: letGo.signal,
    ...options,
    openStore(path, opening) {
      const store = openSessionStore(path, opening);
      const well = store[call] as (...said: unknown[]) => unknown;
      return { ...store, [call]: (...said: unknown[]) => (disk.isIll ? fail() : well(...said)) };
    },
  });
  return { opened, disk, letGo: () => letGo.abort() };
}

describe('a session that could not be opened', () => {
  it('is free at once', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    herd.abandon();

    await expect(openIll(herd, 'snapshots').opened).rejects.toMatchObject(diskError);

    const next = await herd.reopen();
    await expect(next.hatch('two')).resolves.toBeDefined();
  });

  it('is not what a key means that was to adopt it', async () => {
    const { herd, stateDir, name } = await openLeft();

    const { opened } = openIll(herd, 'snapshots', { sessionKey: 'another', adopt: name });

    await expect(opened).rejects.toMatchObject(diskError);
    expect(findSession(stateDir, 'another')).toBeUndefined();
    expect(findSession(stateDir, 'the test')).toBe(name);
  });
});

describe('a session that the disk kept from being let go of', () => {
  it('is let go of when the disk is mended, for whoever opens it next in this process', async () => {
    const herd = await openHerd();
    herd.abandon();
    const { opened, disk, letGo } = openIll(herd, 'swapOwner', {}, false);
    await opened;
    disk.isIll = true;
    letGo();
    const next = herd.reopen();
    expect(disk.failures).toBeGreaterThan(0);

    disk.isIll = false;

    await expect((await next).hatch('one')).resolves.toBeDefined();
  });
});

describe('a herd that was left behind', () => {
  it('is what the key of its adopter means from then on', async () => {
    const { herd, one, stateDir, name } = await openLeft();

    const adopter = await herd.reopen({ sessionKey: 'another', adopt: name });

    expect(adopter.shepherd.sessionId).toBe(herd.shepherd.sessionId);
    expect(await one.roster()).toMatchObject({ ok: true });
    expect(findSession(stateDir, 'another')).toBe(name);
    adopter.abandon();
    const again = await herd.reopen({ sessionKey: 'another' });
    expect(again.shepherd.sessionId).toBe(herd.shepherd.sessionId);
  });

  it('has one adopter of two that see it at once; the other keeps a herd of its own', async () => {
    const { herd, stateDir, name } = await openLeft();
    const keys = ['another', 'a third'];

    const adopted = await Promise.allSettled(
      keys.map((sessionKey) => herd.reopen({ sessionKey, adopt: name })),
    );

    const losers = keys.filter((_key, at) => adopted[at]?.status === 'rejected');
    expect(adopted.filter(({ status }) => status === 'rejected')).toMatchObject([
      { reason: { code: 'session_owned' } },
    ]);
    expect(keys.map((key) => findSession(stateDir, key))).toEqual(
      keys.map((key) => (losers.includes(key) ? undefined : name)),
    );
    const own = await herd.reopen({ sessionKey: losers[0] });
    expect(own.shepherd.sessionId).not.toBe(herd.shepherd.sessionId);
  });

  it('is not adopted when that cannot be kept, and stays free', async () => {
    const { herd, stateDir, name } = await openLeft();
    const alias = adoptSession(stateDir, 'another', name);
    const [aliasName = ''] = readdirSync(stateDir).filter((entry) => entry.startsWith('.adopted-'));
    alias();
    mkdirSync(join(stateDir, aliasName));

    await expect(herd.reopen({ sessionKey: 'another', adopt: name })).rejects.toMatchObject(
      diskError,
    );

    expect(() => findSession(stateDir, 'another')).toThrow(expect.objectContaining(diskError));
    await expect(herd.reopen()).resolves.toBeDefined();
  });
});
