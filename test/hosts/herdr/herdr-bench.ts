/** A bench whose children run in panes of our stand-in for Herdr. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConnection } from 'node:net';
import type { AgentHost, Launch, PlaceRef } from '../../../src/hosts/host.ts';
import { createHerdrHost, type HerdrHostOptions } from '../../../src/hosts/herdr/host.ts';
import { readStarted } from '../../../src/hosts/launch.ts';
import { sendSignal } from '../../../src/hosts/processes.ts';
import type { HostBench } from '../host-contract.ts';
import { processesOf } from '../process-bench.ts';
import { until } from '../until.ts';
import { startFakeHerdr, type FakeHerdr, type FakeHerdrOptions } from './fake-herdr.ts';

const child = fileURLToPath(new URL('../child.ts', import.meta.url));

export interface HerdrBench extends HostBench {
  readonly root: string;
  readonly herdr: FakeHerdr;
  readonly launchOf: (behaviour: string, ...args: string[]) => Launch;
  readonly hostWith: (options: HerdrHostOptions) => AgentHost;
}

export async function makeHerdrBench(
  fake: FakeHerdrOptions = {},
  options: HerdrHostOptions = {},
): Promise<HerdrBench> {
  const root = await mkdtemp(join(tmpdir(), 'sheepfold-herdr-'));
  const herdr = await startFakeHerdr(fake);
  const hosts: AgentHost[] = [];
  let launches = 0;

  function hostWith(more: HerdrHostOptions): AgentHost {
    const host = createHerdrHost({ env: herdr.env, sweepMs: 100, ...options, ...more });
    hosts.push(host);
    return host;
  }
  const host = hostWith({});

  function launchOf(behaviour: string, ...args: string[]): Launch {
    const launchId = `launch-${(launches += 1)}`;
    return {
      launchId,
      launchDir: join(root, launchId),
      argv: [process.execPath, '--no-warnings', child, behaviour, ...args],
      cwd: root,
      env: { SECRET: 'wool', NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') },
      label: behaviour,
    };
  }

  const ready = (ref: PlaceRef): Promise<unknown> =>
    until('the child is ready', async () =>
      (await host.read(ref, { lines: 200 })).includes('ready'),
    );

  return {
    root,
    herdr,
    host,
    another: () => hostWith({}),
    hostWith,
    launchOf,
    launch: () => launchOf('obey'),
    brokenLaunch: () => ({ ...launchOf('obey'), argv: [join(root, 'no-such-program')] }),
    async print(ref, line) {
      await ready(ref);
      const started = await readStarted(ref.launchDir);
      await typeInto(herdr, started?.place?.herdrPane ?? '', line);
    },
    async end(ref, how) {
      await ready(ref);
      const started = await readStarted(ref.launchDir);
      sendSignal(started?.pid ?? 0, how === 'code 3' ? 'SIGUSR2' : 'SIGKILL');
    },
    async cleanUp() {
      for (const each of hosts) each.dispose();
      const names = (await readdir(root, { withFileTypes: true })).filter((n) => n.isDirectory());
      for (const { name } of names) {
        const sweeper = createHerdrHost({ env: herdr.env });
        const ref = { host: 'herdr', launchId: name, launchDir: join(root, name) };
        if ((await sweeper.adopt(ref)).presence === 'present') {
          await sweeper.close(ref, { graceMs: 0 });
        }
        sweeper.dispose();
      }
      await herdr.stop();
      await until('no process is left', async () => (await processesOf(root)).length === 0);
      await rm(root, { recursive: true });
    },
  };
}

/** As a person at the pane. */
function typeInto(herdr: FakeHerdr, paneId: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(herdr.env['HERDR_SOCKET_PATH'] ?? '');
    const params = { pane_id: paneId, text, keys: ['Enter'] };
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', () => undefined);
    socket.write(`${JSON.stringify({ id: '1', method: 'pane.send_input', params })}\n`);
  });
}
