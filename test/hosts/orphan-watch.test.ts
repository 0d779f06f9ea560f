import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PlaceRef } from '../../src/hosts/host.ts';
import { launchPaths, readExit, readSpec, readStarted } from '../../src/hosts/launch.ts';
import { countDeadTime, DEFAULT_ORPHAN_GRACE_MS } from '../../src/hosts/orphan-watch.ts';
import {
  describeSelf,
  type OwnerIdentity,
  type OwnerVerdict,
  writeOwner,
} from '../../src/hosts/owner.ts';
import { sendSignal } from '../../src/hosts/processes.ts';
import { defaultSettings, toDurations } from '../../src/settings/settings.ts';
import { listen } from './host-contract.ts';
import { type OwnerProcess, startOwner } from './owner-process.ts';
import { makeProcessBench, type ProcessBench, processesOf } from './process-bench.ts';
import { until } from './until.ts';

/** How many looks in a row, `stepMs` apart, it takes until the grace is over. */
function looksUntilOver(isOver: ReturnType<typeof countDeadTime>, fromMs: number, stepMs = 10) {
  for (let looks = 1; looks < 1000; looks += 1) {
    if (isOver('dead', fromMs + (looks - 1) * stepMs)) return looks;
  }
  return undefined;
}

describe('dead time', () => {
  const limits = { graceMs: 100, intervalMs: 10 };

  it('is over after the whole grace, counted from the first look that finds the owner dead', () => {
    expect(looksUntilOver(countDeadTime(limits), 5000)).toBe(11);
    expect(looksUntilOver(countDeadTime(limits), 5000, 5)).toBe(21);
  });

  it.each<OwnerVerdict>(['alive', 'unknown'])('starts again after one look at %s', (verdict) => {
    const isOver = countDeadTime(limits);
    for (let look = 0; look < 10; look += 1) expect(isOver('dead', look * 10)).toBe(false);

    expect(isOver(verdict, 100)).toBe(false);

    expect(looksUntilOver(isOver, 110)).toBe(11);
  });

  it('counts a gap as one interval at most, however long it was', () => {
    const isOver = countDeadTime(limits);
    expect(isOver('dead', 0)).toBe(false);
    expect(isOver('dead', 10)).toBe(false);

    expect(isOver('dead', 1_000_000)).toBe(false);

    expect(looksUntilOver(isOver, 1_000_010)).toBe(8);
    expect(looksUntilOver(countDeadTime(limits), 0, 1_000_000)).toBe(11);
  });

  it('has the grace of the settings by default', () => {
    expect(toDurations(defaultSettings).orphanGraceMs).toBe(DEFAULT_ORPHAN_GRACE_MS);
  });
});

function ended(ref: PlaceRef) {
  return until('the exit', () => readExit(ref.launchDir));
}

/** Waits by the clock: that nothing happens shows in no other way. */
async function pass(ms: number): Promise<void> {
  const end = performance.now() + ms;
  await until(`${ms} ms have passed`, () => performance.now() >= end);
}

describe.runIf(process.platform === 'linux')('runner', () => {
  let bench: ProcessBench;
  let ownerFile: string;
  let owners: OwnerProcess[];
  beforeEach(async () => {
    bench = await makeProcessBench();
    ownerFile = join(bench.root, 'owner.json');
    owners = [];
  });
  afterEach(async () => {
    for (const owner of owners) await owner.kill();
    await bench.cleanUp();
  });

  /** A process that owns the session from now on. */
  async function own(): Promise<OwnerProcess> {
    const owner = await startOwner();
    owners.push(owner);
    await writeAsOwner(owner.identity);
    return owner;
  }

  function writeAsOwner(owner: OwnerIdentity, stayOpen?: boolean): Promise<void> {
    return writeOwner(ownerFile, { v: 1, owner, takenAtMs: Date.now(), stayOpen });
  }

  async function openChild(behaviour: string, orphanGraceMs: number): Promise<PlaceRef> {
    const ref = await bench.host.open({ ...bench.launchOf(behaviour), ownerFile, orphanGraceMs });
    await bench.printed(ref, 'ready');
    return ref;
  }

  async function expectPresent(ref: PlaceRef): Promise<void> {
    expect(await bench.host.inspect(ref)).toMatchObject({ presence: 'present' });
  }

  it('ends its child politely when its owner was dead for the whole grace', async () => {
    const graceMs = 500;
    const owner = await own();
    const ref = await openChild('obey', graceMs);
    const heard = listen(bench.host);
    await pass(2 * graceMs);
    await expectPresent(ref);

    const killedAtMs = performance.now();
    await owner.kill();

    const [told] = await heard.exits(1);
    expect(performance.now() - killedAtMs).toBeGreaterThanOrEqual(graceMs);
    expect(told?.exit).toMatchObject({ code: 143, signal: null });
    expect(told?.exit.output).toMatch(/bye\nsheepfold: the runner ended it, as its owner had been/);
    expect(await readExit(ref.launchDir)).toMatchObject({ code: 143, reason: 'orphaned' });
    expect(await readFile(launchPaths(ref.launchDir).runnerLog, 'utf8')).toMatch(
      /the owner in .*owner\.json has been dead for 500 ms/,
    );
    await until('nothing is left', async () => (await processesOf(bench.root)).length === 0);
  });

  it('kills an orphan that ignores SIGTERM, with all that it started', async () => {
    const owner = await own();
    const ref = await openChild('stubborn', 200);
    await bench.grandchildren(ref, 2);

    await owner.kill();

    const exit = await ended(ref);
    expect(exit).toMatchObject({ code: null, signal: 'SIGKILL', reason: 'orphaned' });
    expect(await readFile(launchPaths(ref.launchDir).output, 'utf8')).toMatch(/^no$/m);
    await until('nothing is left', async () => (await processesOf(bench.root)).length === 0);
  });

  it('keeps its child for a new owner that comes within the grace, and starts again', async () => {
    const graceMs = 1500;
    const owner = await own();
    const ref = await openChild('obey', graceMs);
    await owner.kill();
    await pass(graceMs / 3);

    const next = await own();

    await pass(1.5 * graceMs);
    await expectPresent(ref);
    const killedAtMs = performance.now();
    await next.kill();
    expect(await ended(ref)).toMatchObject({ reason: 'orphaned' });
    expect(performance.now() - killedAtMs).toBeGreaterThanOrEqual(graceMs);
  });

  it('ends nothing while it cannot tell, or the owner wanted its children to stay', async () => {
    const graceMs = 200;
    const self = await describeSelf();
    const dead = { ...self, startTime: 1 };
    await writeAsOwner({ ...dead, hostName: 'another' });
    const ref = await openChild('obey', graceMs);

    const doubts: readonly (() => Promise<void>)[] = [
      () => writeAsOwner({ ...dead, hostName: 'another' }),
      () => writeAsOwner({ ...dead, pidNamespace: 'pid:[1]' }),
      () => writeAsOwner({ ...dead, bootId: null }),
      () => writeAsOwner(dead, true),
      () => writeFile(ownerFile, '{"v":1,'),
      () => rm(ownerFile),
    ];
    for (const doubt of doubts) {
      await doubt();
      await pass(2 * graceMs);
      await expectPresent(ref);
    }
    await writeAsOwner(dead);

    expect(await ended(ref)).toMatchObject({ reason: 'orphaned' });
  });

  it('ends its child when the session’s directory is gone: nobody can come back to it', async () => {
    const owner = await own();
    const sessionDir = join(bench.root, 'session');
    await mkdir(sessionDir);
    ownerFile = join(sessionDir, 'owner.json');
    await writeAsOwner(owner.identity);
    const ref = await openChild('obey', 200);

    await rm(sessionDir, { recursive: true });

    expect(await ended(ref)).toMatchObject({ reason: 'orphaned' });
  });

  it('that was stopped does not count that time', async () => {
    const graceMs = 1500;
    const owner = await own();
    const ref = await openChild('obey', graceMs);
    const runnerPid = (await readStarted(ref.launchDir))?.runnerPid ?? 0;

    const killedAtMs = performance.now();
    await owner.kill();
    await pass(graceMs / 4);
    sendSignal(runnerPid, 'SIGSTOP');
    const stoppedAtMs = performance.now();
    await pass(1.5 * graceMs);
    const continuedAtMs = performance.now();
    sendSignal(runnerPid, 'SIGCONT');

    expect(await ended(ref)).toMatchObject({ reason: 'orphaned' });
    const ranForMs = stoppedAtMs - killedAtMs + (performance.now() - continuedAtMs);
    // The gap itself counts as one interval, a tenth of the grace.
    expect(ranForMs).toBeGreaterThanOrEqual(0.9 * graceMs);
  });

  it('gives the exit of a child that ended by itself no such reason', async () => {
    const owner = await own();
    const ref = await openChild('leave', 60_000);
    await owner.kill();

    await bench.print(ref, 'go');

    expect(await ended(ref)).toEqual({ code: 0, signal: null, atMs: expect.any(Number) });
    await until('the runner has ended', async () => (await processesOf(bench.root)).length === 0);
  });

  it('refuses a path that depends on where it runs', async () => {
    const launch = { ...bench.launchOf('obey'), ownerFile: 'owner.json' };

    await expect(bench.host.open(launch)).rejects.toThrow(/expected an absolute path/);

    await expect(readSpec(launch.launchDir)).rejects.toThrow(/ownerFile/);
  });
});
