/**
 * Runs each child as a background process below a launch runner: the embedded default.
 *
 * P1. A child outlives a killed parent: the runner is detached and the child's input is a FIFO.
 * P2. What holds for every launch holds here (`launch-host.ts`).
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open as openFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeError, HostError } from '../errors.ts';
import type { AgentHost, Launch } from './host.ts';
import { launchPaths, type LaunchLimits, readSpec, writeInput } from './launch.ts';
import { createLaunchHost, type StartedRunner } from './launch-host.ts';
import { identify } from './processes.ts';
import { runnerPath } from './runner-path.ts';
import { readTranscript } from './transcript.ts';

const run = promisify(execFile);

export interface ProcessHostOptions {
  /** The runner program. Default: `runnerPath()`. */
  readonly runner?: string | undefined;
  /** The Node that runs it. Default: this one. */
  readonly node?: string | undefined;
  /** Epoch ms. Default: the wall clock. */
  readonly now?: (() => number) | undefined;
  /** Time between looks at each place, at most 1,000. Default 1,000. */
  readonly sweepMs?: number | undefined;
  /** How long a launch may take to start its child. Default 10,000. */
  readonly openTimeoutMs?: number | undefined;
  /** Bounds of the runners; the defaults are the product's. */
  readonly limits?: LaunchLimits | undefined;
}

/** Creates the host of background processes; POSIX only, as it needs named pipes. */
export function createProcessHost(options: ProcessHostOptions = {}): AgentHost {
  const node = options.node ?? process.execPath;

  async function startRunner({ launchDir }: Launch): Promise<StartedRunner> {
    if (process.platform === 'win32') {
      throw new HostError('host_unavailable', 'the process host needs named pipes: not on Windows');
    }
    await makeFifo(launchPaths(launchDir).input);
    const program = options.runner ?? runnerPath();
    const log = await openFile(launchPaths(launchDir).runnerLog, 'a', 0o600);
    try {
      const runner = spawn(node, ['--no-warnings', program, launchDir], {
        cwd: launchDir,
        // Nothing of the parent's: the child's environment comes from spec.json.
        // Pi's own cache directory is shared: it halves the runner's start (250 -> 130 ms).
        env: {
          PATH: process.env['PATH'],
          NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
        },
        detached: true,
        stdio: ['ignore', 'ignore', log.fd],
      });
      await once(runner, 'spawn');
      runner.unref();
      return { identity: await identify(runner.pid ?? 0), exitCode: () => runner.exitCode };
    } catch (error) {
      throw new HostError('launch_failed', `cannot run ${node}: ${describeError(error)}`, {
        cause: error,
      });
    } finally {
      await log.close();
    }
  }

  return createLaunchHost({
    kind: 'process',
    mode: 'process',
    now: options.now ?? Date.now,
    sweepMs: Math.min(options.sweepMs ?? 1000, 1000),
    openTimeoutMs: options.openTimeoutMs ?? 10_000,
    limits: options.limits,
    startRunner,
    onAdopt: ({ launchDir }) => endTornLine(launchDir),
    async interrupt({ launchDir }) {
      await writeInput(launchDir, JSON.stringify({ type: 'abort' }));
    },
    async read({ launchDir }, { lines }) {
      if ((await readSpec(launchDir)) === undefined) {
        throw new HostError('not_found', `nothing was launched in ${launchDir}`);
      }
      return readTranscript(launchDir, lines);
    },
  });
}

/** A parent killed in the middle of a write left half a line; Pi answers an empty one harmlessly. */
async function endTornLine(launchDir: string): Promise<void> {
  try {
    await writeInput(launchDir, '');
  } catch {
    // The child ended just now, which the watch tells, or it does not read, which its stall tells.
  }
}

async function makeFifo(file: string): Promise<void> {
  try {
    await run('mkfifo', ['-m', '600', file]);
  } catch (error) {
    // Left by an open that was killed before the child started.
    const left = await stat(file).catch(() => undefined);
    if (left?.isFIFO()) return;
    throw new HostError('launch_failed', `cannot make ${file}: ${describeError(error)}`, {
      cause: error,
    });
  }
}
