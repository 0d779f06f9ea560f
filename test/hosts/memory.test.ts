import { expect, it } from 'vitest';
import type { Launch } from '../../src/hosts/host.ts';
import { createMemoryHost, createMemoryWorld, type MemoryHost } from '../../src/hosts/memory.ts';
import { describeHost, expectCode, type HostBench, listen } from './host-contract.ts';

function makeLaunch(launchId: string): Launch {
  return {
    launchId,
    launchDir: `/launch/${launchId}`,
    argv: ['pi'],
    cwd: '/',
    env: {},
    label: 'a',
  };
}

describeHost('memory', async (): Promise<HostBench> => {
  const world = createMemoryWorld();
  const host = createMemoryHost({ world });
  let launches = 0;
  const launch = () => makeLaunch(`launch-${(launches += 1)}`);
  return {
    host,
    another: () => createMemoryHost({ world }),
    launch,
    brokenLaunch() {
      host.failNextOpen();
      return launch();
    },
    print: async ({ launchId }, line) => host.print(launchId, line),
    end: async ({ launchId }, how) =>
      host.exit(launchId, how === 'code 3' ? { code: 3 } : { signal: 'SIGKILL' }),
    cleanUp: async () => host.dispose(),
  };
});

async function openOne(): Promise<{
  host: MemoryHost;
  ref: Awaited<ReturnType<MemoryHost['open']>>;
}> {
  const host = createMemoryHost({ now: () => 42 });
  return { host, ref: await host.open(makeLaunch('one')) };
}

it('records launches once and interrupts each time', async () => {
  const { host, ref } = await openOne();

  await host.open(makeLaunch('one'));
  await host.interrupt(ref);

  expect(host.launches.map(({ launchId }) => launchId)).toEqual(['one']);
  expect(host.interrupts).toEqual(['one']);
});

it('lets a child vanish without code or signal', async () => {
  const { host } = await openOne();
  const heard = listen(host);
  host.print('one', 'last words');

  host.exit('one');

  expect(heard.events).toMatchObject([
    { type: 'exited', exit: { code: null, signal: null, atMs: 42, output: 'last words' } },
  ]);
});

it('leaves a place that cannot be inspected unknown and its close unconfirmed', async () => {
  const { host, ref } = await openOne();

  host.setPresence('one', 'unknown');

  expect(await host.inspect(ref)).toEqual({ presence: 'unknown' });
  expect(await host.close(ref, { graceMs: 0 })).toBe('unconfirmed');
  host.setPresence('one', undefined);
  expect(await host.close(ref, { graceMs: 0 })).toBe('closed');
});

it('fails one open and no more', async () => {
  const host = createMemoryHost();
  host.failNextOpen();

  await expect(host.open(makeLaunch('one'))).rejects.toEqual(expectCode('launch_failed'));

  expect(await host.open(makeLaunch('one'))).toMatchObject({ launchId: 'one' });
});

it('tells of a dialog that nobody answered', async () => {
  const { host, ref } = await openOne();
  const heard = listen(host);

  host.cancelDialog('one', 'Delete it?');

  expect(heard.events).toEqual([{ type: 'dialog_cancelled', ref, title: 'Delete it?' }]);
});
