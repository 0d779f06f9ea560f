/** A directory, launches of `child.ts` and the certainty that nothing is left afterwards. */
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentHost, Launch, PlaceRef } from '../../src/hosts/host.ts';
import { readStarted, writeInput } from '../../src/hosts/launch.ts';
import { createProcessHost, type ProcessHostOptions } from '../../src/hosts/process.ts';
import { sendSignal } from '../../src/hosts/processes.ts';
import type { HostBench } from './host-contract.ts';
import { until } from './until.ts';

const child = fileURLToPath(new URL('./child.ts', import.meta.url));

export interface ProcessBench extends HostBench {
  readonly root: string;
  readonly launchOf: (behaviour: string, ...args: string[]) => Launch;
  /** Waits until the child has printed it, and gives what it printed. */
  readonly printed: (ref: PlaceRef, text: string) => Promise<string>;
  /** The pid that the child printed as `grandchild <pid>`, each of them. */
  readonly grandchildren: (ref: PlaceRef, count: number) => Promise<number[]>;
}

export async function makeProcessBench(options: ProcessHostOptions = {}): Promise<ProcessBench> {
  const root = await mkdtemp(join(tmpdir(), 'sheepfold-hosts-'));
  const hosts: AgentHost[] = [];
  let launches = 0;

  function another(): AgentHost {
    const host = createProcessHost({ sweepMs: 100, ...options });
    hosts.push(host);
    return host;
  }

  function launchOf(behaviour: string, ...args: string[]): Launch {
    const launchId = `launch-${(launches += 1)}`;
    return {
      launchId,
      launchDir: join(root, launchId),
      argv: [process.execPath, '--no-warnings', child, behaviour, ...args],
      cwd: root,
      env: {
        SECRET: 'wool',
        // Halves the start of each child.
        NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
      },
      label: behaviour,
    };
  }

  const host = another();
  async function printed(ref: PlaceRef, text: string): Promise<string> {
    return until(`the child prints ${text}`, async () => {
      const output = await host.read(ref, { lines: 200 });
      return output.includes(text) && output;
    });
  }

  async function signal(ref: PlaceRef, name: NodeJS.Signals): Promise<void> {
    await printed(ref, 'ready');
    const started = await readStarted(ref.launchDir);
    sendSignal(started?.pid ?? 0, name);
  }

  return {
    root,
    host,
    another,
    launchOf,
    printed,
    launch: () => launchOf('obey'),
    brokenLaunch: () => ({ ...launchOf('obey'), argv: [join(root, 'no-such-program')] }),
    async print(ref, line) {
      await printed(ref, 'ready');
      await writeInput(ref.launchDir, line);
    },
    end: (ref, how) => signal(ref, how === 'code 3' ? 'SIGUSR2' : 'SIGKILL'),
    async grandchildren(ref, count) {
      return until(`${count} grandchildren`, async () => {
        const output = await host.read(ref, { lines: 200 });
        const pids = [...output.matchAll(/grandchild (\d+)/g)].map(([, pid]) => Number(pid));
        return pids.length === count && pids;
      });
    },
    async cleanUp() {
      for (const each of hosts) each.dispose();
      const names = (await readdir(root, { withFileTypes: true })).filter((n) => n.isDirectory());
      for (const { name } of names) {
        const sweeper = createProcessHost();
        const ref = { host: 'process', launchId: name, launchDir: join(root, name) };
        if ((await sweeper.adopt(ref)).presence === 'present') {
          await sweeper.close(ref, { graceMs: 0 });
        }
        sweeper.dispose();
      }
      await until('no process is left', async () => (await processesOf(root)).length === 0);
      await rm(root, { recursive: true });
    },
  };
}

/** The running processes that work in or below a directory: children, grandchildren and runners. */
export async function processesOf(root: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const folders = await Promise.all(
    pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')),
  );
  return pids.filter((pid, index) => pid !== process.pid && folders[index]?.startsWith(root));
}
