/** What every host promises (H1-H4 in `src/hosts/host.ts`), as one suite for all of them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ShepherdError } from '../../src/errors.ts';
import type { AgentHost, HostEvent, Launch, PlaceRef } from '../../src/hosts/host.ts';
import { until } from './until.ts';

/** One kind of host with all it needs; made anew for each test. */
export interface HostBench {
  readonly host: AgentHost;
  /** Another host object that sees the same places, as the next parent would have. */
  readonly another: () => AgentHost;
  /** A launch of a child that stays until it is ended; each call another launch. */
  readonly launch: () => Launch;
  /** A launch that cannot start. */
  readonly brokenLaunch: () => Launch;
  /** Makes the child of a place print a line. */
  readonly print: (ref: PlaceRef, line: string) => Promise<void>;
  /** Ends the child from outside: with code 3, or by SIGKILL. */
  readonly end: (ref: PlaceRef, how: 'code 3' | 'SIGKILL') => Promise<void>;
  readonly cleanUp: () => Promise<void>;
}

export function expectCode(code: string) {
  return expect.toSatisfy((error: unknown) => ShepherdError.is(error) && error.code === code, code);
}

/** Collects what a host tells; `exits` waits for that many. */
export function listen(host: AgentHost) {
  const events: HostEvent[] = [];
  host.watch((event) => events.push(event));
  return {
    events,
    exits: (count: number) =>
      until(`${count} exits`, () => {
        const exits = events.filter((event) => event.type === 'exited');
        return exits.length >= count && exits;
      }),
  };
}

export function describeHost(name: string, makeBench: () => Promise<HostBench>): void {
  describe(`${name} host`, () => {
    let bench: HostBench;
    beforeEach(async () => {
      bench = await makeBench();
    });
    afterEach(() => bench.cleanUp());

    it('opens a place that is present', async () => {
      const launch = bench.launch();

      const ref = await bench.host.open(launch);

      expect(ref).toMatchObject({ launchId: launch.launchId, launchDir: launch.launchDir });
      expect(await bench.host.inspect(ref)).toMatchObject({ presence: 'present' });
    });

    it('opens one place for one launch id, also at once and from another host object (H3)', async () => {
      const launch = bench.launch();
      const [first, second] = await Promise.all([bench.host.open(launch), bench.host.open(launch)]);
      const before = await bench.host.inspect(first);

      const third = await bench.another().open(launch);

      expect(second).toEqual(first);
      expect(third).toEqual(first);
      expect(await bench.host.inspect(third)).toEqual(before);
    });

    it('shows what the child printed, the last lines only', async () => {
      const ref = await bench.host.open(bench.launch());

      await bench.print(ref, 'one');
      await bench.print(ref, 'two');

      const read = (lines: number) => bench.host.read(ref, { lines });
      await until('the second line', async () => (await read(10)).includes('two'));
      expect(await read(10)).toContain('one');
      expect(await read(1)).not.toContain('one');
    });

    it('tells an exit once, with its code', async () => {
      const heard = listen(bench.host);
      const ref = await bench.host.open(bench.launch());

      await bench.end(ref, 'code 3');

      const [exit] = await heard.exits(1);
      expect(exit).toMatchObject({ ref, exit: { code: 3, signal: null } });
      expect(await bench.host.inspect(ref)).toMatchObject({ presence: 'dead', exit: { code: 3 } });
      await bench.host.close(ref, { graceMs: 1000 });
      expect(heard.events).toHaveLength(1);
    });

    it('tells a killed child with its signal', async () => {
      const heard = listen(bench.host);
      const ref = await bench.host.open(bench.launch());

      await bench.end(ref, 'SIGKILL');

      const [exit] = await heard.exits(1);
      expect(exit).toMatchObject({ ref, exit: { code: null, signal: 'SIGKILL' } });
    });

    it('keeps an exit for a listener that comes later', async () => {
      const ref = await bench.host.open(bench.launch());
      await bench.end(ref, 'code 3');
      await until('the end', async () => (await bench.host.inspect(ref)).presence === 'dead');

      const heard = listen(bench.host);

      expect(await heard.exits(1)).toHaveLength(1);
    });

    it('closes a place, and says so when it is gone already', async () => {
      const heard = listen(bench.host);
      const ref = await bench.host.open(bench.launch());

      expect(await bench.host.close(ref, { graceMs: 5000 })).toBe('closed');

      expect(await bench.host.inspect(ref)).toMatchObject({ presence: 'dead' });
      expect(await bench.host.close(ref, { graceMs: 5000 })).toBe('already_gone');
      expect(await heard.exits(1)).toHaveLength(1);
    });

    it('refuses to close what it neither opened nor adopted (H2)', async () => {
      const ref = await bench.host.open(bench.launch());
      const other = bench.another();

      await expect(other.close(ref, { graceMs: 0 })).rejects.toEqual(expectCode('not_owned'));

      expect(await bench.host.inspect(ref)).toMatchObject({ presence: 'present' });
    });

    it('adopts a place that another host object opened', async () => {
      const ref = await bench.host.open(bench.launch());
      bench.host.dispose();
      const next = bench.another();
      const heard = listen(next);

      expect(await next.adopt(ref)).toMatchObject({ presence: 'present' });

      await bench.end(ref, 'code 3');
      expect(await heard.exits(1)).toMatchObject([{ ref, exit: { code: 3 } }]);
    });

    it('adopts a dead place and tells how it ended', async () => {
      const ref = await bench.host.open(bench.launch());
      bench.host.dispose();
      await bench.end(ref, 'code 3');
      const next = bench.another();
      await until('the end', async () => (await next.inspect(ref)).presence === 'dead');
      const heard = listen(next);

      expect(await next.adopt(ref)).toMatchObject({ presence: 'dead', exit: { code: 3 } });

      expect(await heard.exits(1)).toHaveLength(1);
      expect(await next.close(ref, { graceMs: 0 })).toBe('already_gone');
    });

    it('closes a place that it adopted', async () => {
      const ref = await bench.host.open(bench.launch());
      bench.host.dispose();
      const next = bench.another();
      await next.adopt(ref);

      expect(await next.close(ref, { graceMs: 5000 })).toBe('closed');
    });

    it('fails an open that cannot start, and leaves nothing', async () => {
      const heard = listen(bench.host);
      const launch = bench.brokenLaunch();

      await expect(bench.host.open(launch)).rejects.toEqual(expectCode('launch_failed'));

      const { launchId, launchDir } = launch;
      const ref: PlaceRef = { host: bench.host.kind, launchId, launchDir };
      expect(['gone', 'dead']).toContain((await bench.host.inspect(ref)).presence);
      expect(heard.events).toEqual([]);
    });

    it('fails an aborted open', async () => {
      const launch = bench.launch();

      const opened = bench.host.open(launch, AbortSignal.abort());

      await expect(opened).rejects.toEqual(expectCode('launch_failed'));
    });

    it('knows nothing of a place that never was', async () => {
      const { launchId, launchDir } = bench.launch();
      const ref: PlaceRef = { host: bench.host.kind, launchId, launchDir };

      expect(await bench.host.inspect(ref)).toEqual({ presence: 'gone' });
      expect(await bench.host.adopt(ref)).toEqual({ presence: 'gone' });
      await expect(bench.host.interrupt(ref)).rejects.toEqual(expectCode('not_found'));
      await expect(bench.host.read(ref, { lines: 1 })).rejects.toEqual(expectCode('not_found'));
      await expect(bench.host.close(ref, { graceMs: 0 })).rejects.toEqual(expectCode('not_owned'));
    });

    it('calls a place of another kind of host unknown, not gone (H1)', async () => {
      const { launchId, launchDir } = bench.launch();
      const ref: PlaceRef = { host: 'elsewhere', launchId, launchDir };

      expect(await bench.host.inspect(ref)).toEqual({ presence: 'unknown' });
      expect(await bench.host.adopt(ref)).toEqual({ presence: 'unknown' });
    });

    it('interrupts a living child only', async () => {
      const ref = await bench.host.open(bench.launch());

      await bench.host.interrupt(ref);

      expect(await bench.host.inspect(ref)).toMatchObject({ presence: 'present' });
      await bench.host.close(ref, { graceMs: 5000 });
      await expect(bench.host.interrupt(ref)).rejects.toEqual(expectCode('not_found'));
    });

    it('leaves children alone when it is disposed of', async () => {
      const ref = await bench.host.open(bench.launch());

      bench.host.dispose();

      expect(await bench.another().inspect(ref)).toMatchObject({ presence: 'present' });
    });
  });
}
