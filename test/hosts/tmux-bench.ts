/** A bench whose children run in panes of tmux, on a server of its own. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AgentHost, Launch, PlaceRef } from '../../src/hosts/host.ts';
import { readStarted } from '../../src/hosts/launch.ts';
import { sendSignal } from '../../src/hosts/processes.ts';
import { createTmuxClient, socketOf, type TmuxClient } from '../../src/hosts/tmux/client.ts';
import { createTmuxHost, findPane } from '../../src/hosts/tmux/host.ts';
import type { HostBench } from './host-contract.ts';
import { processesOf } from './process-bench.ts';
import { until } from './until.ts';

const child = fileURLToPath(new URL('./child.ts', import.meta.url));
const run = promisify(execFile);

export interface TmuxBench extends HostBench {
  readonly root: string;
  readonly tmux: TmuxClient;
  readonly launchOf: (behaviour: string, ...args: string[]) => Launch;
}

export async function makeTmuxBench(): Promise<TmuxBench> {
  const root = await mkdtemp(join(tmpdir(), 'sheepfold-tmux-'));
  const hosts: AgentHost[] = [];
  let launches = 0;
  // All launches of a bench are of one session: they lie in one directory.
  const tmux = createTmuxClient(socketOf(join(root, 'any')));

  function another(): AgentHost {
    const host = createTmuxHost({ sweepMs: 100 });
    hosts.push(host);
    return host;
  }
  const host = another();

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
    tmux,
    host,
    another,
    launchOf,
    launch: () => launchOf('obey'),
    brokenLaunch: () => ({ ...launchOf('obey'), argv: [join(root, 'no-such-program')] }),
    async print(ref, line) {
      await ready(ref);
      const pane = await findPane(tmux, ref.launchId);
      await tmux.call('send-keys', '-t', pane, '-l', line);
      await tmux.call('send-keys', '-t', pane, 'Enter');
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
        const sweeper = createTmuxHost();
        const ref = { host: 'tmux', launchId: name, launchDir: join(root, name) };
        if ((await sweeper.adopt(ref)).presence === 'present') {
          await sweeper.close(ref, { graceMs: 0 });
        }
        sweeper.dispose();
      }
      await run('tmux', ['-L', tmux.socket, 'kill-server']).catch(() => undefined);
      await until('no process is left', async () => (await processesOf(root)).length === 0);
      await rm(root, { recursive: true });
    },
  };
}
