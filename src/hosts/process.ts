/**
 * Runs each child as a background process below a launch runner: the embedded default.
 *
 * P1. A child outlives a killed parent: the runner is detached and the child's input is a FIFO.
 * P2. A launch id is started once. Opened again, it gives the same place; had it ended meanwhile, the
 *     watch tells of the exit.
 * P3. Pid and start time together decide what lives; `ChildProcess.killed` decides nothing.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open as openFile, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describeError, HostError, ShepherdError } from '../errors.ts';
import type { AgentHost, CloseOutcome, Launch, PlaceRef } from './host.ts';
import {
  launchPaths,
  type LaunchLimits,
  makeLaunchDir,
  readExit,
  readSpec,
  readStarted,
  writeInput,
  writeSpec,
} from './launch.ts';
import { endLaunch } from './launch-end.ts';
import { inspectLaunch } from './launch-state.ts';
import { createLaunchWatch } from './launch-watch.ts';
import { identify, type ProcessIdentity } from './processes.ts';
import { runnerPath } from './runner-path.ts';
import { readTranscript } from './transcript.ts';

const KIND = 'process';
const POLL_MS = 25;
const FAILED_OPEN_GRACE_MS = 1000;
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

interface StartedRunner {
  readonly identity: ProcessIdentity;
  exitCode(): number | null;
}

/** Creates the host of background processes; POSIX only, as it needs named pipes. */
export function createProcessHost(options: ProcessHostOptions = {}): AgentHost {
  const now = options.now ?? Date.now;
  const node = options.node ?? process.execPath;
  const openTimeoutMs = options.openTimeoutMs ?? 10_000;
  const places = createLaunchWatch({ now, sweepMs: Math.min(options.sweepMs ?? 1000, 1000) });
  const opening = new Map<string, Promise<PlaceRef>>();
  const closing = new Map<string, Promise<CloseOutcome>>();

  async function openOnce(launch: Launch, signal: AbortSignal | undefined): Promise<PlaceRef> {
    const { launchId, launchDir } = launch;
    const ref: PlaceRef = { host: KIND, launchId, launchDir };
    signal?.throwIfAborted();
    await makeLaunchDir(launchDir);
    if (!(await hasRun(launchDir))) await start(launch, signal);
    await places.add(ref);
    return ref;
  }

  async function start(launch: Launch, signal: AbortSignal | undefined): Promise<void> {
    const { launchId, launchDir, argv, cwd, env, label, ownerFile, orphanGraceMs } = launch;
    await makeFifo(launchPaths(launchDir).input);
    const { limits } = options;
    await writeSpec(launchDir, {
      v: 1,
      launchId,
      argv: [...argv],
      cwd,
      env: { ...env },
      label,
      mode: 'process',
      limits,
      ownerFile,
      orphanGraceMs,
    });
    const runner = await startRunner(launchDir);
    try {
      await waitUntilStarted(launchDir, runner, signal);
    } catch (error) {
      await endLaunch(launchDir, {
        graceMs: FAILED_OPEN_GRACE_MS,
        runner: runner.identity,
      });
      throw error;
    }
  }

  async function startRunner(launchDir: string): Promise<StartedRunner> {
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

  /** Resolves when the child runs; the runner's own end is no failure if another one has the launch. */
  async function waitUntilStarted(
    launchDir: string,
    runner: StartedRunner,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const until = performance.now() + openTimeoutMs;
    for (;;) {
      const runnerExit = runner.exitCode();
      const exit = await readExit(launchDir);
      if (exit !== undefined) {
        const { exit: seen } = await inspectLaunch(launchDir, { now });
        throw new HostError('launch_failed', describeExit(launchDir, seen?.output ?? ''), {
          data: { code: exit.code, signal: exit.signal },
        });
      }
      if ((await readStarted(launchDir)) !== undefined) return;
      if (runnerExit !== null && runnerExit !== 0) {
        const log = await readFile(launchPaths(launchDir).runnerLog, 'utf8');
        throw new HostError('launch_failed', describeExit(launchDir, log.slice(-4000)));
      }
      if (performance.now() >= until) {
        throw new HostError(
          'launch_failed',
          `the child of ${launchDir} did not start within ${openTimeoutMs} ms`,
          { retryable: true },
        );
      }
      await wait(POLL_MS, undefined, { signal });
    }
  }

  return {
    kind: KIND,

    async open(launch, signal) {
      if (process.platform === 'win32') {
        throw new HostError(
          'host_unavailable',
          'the process host needs named pipes: not on Windows',
        );
      }
      const running = opening.get(launch.launchId) ?? openOnce(launch, signal);
      opening.set(launch.launchId, running);
      try {
        return await running;
      } catch (error) {
        if (signal?.aborted) {
          throw new HostError('launch_failed', `opening ${launch.label} was aborted`, {
            cause: error,
          });
        }
        if (ShepherdError.is(error)) throw error;
        // A full or read-only disk, a directory of somebody else.
        throw new HostError(
          'launch_failed',
          `cannot open ${launch.label} in ${launch.launchDir}: ${describeError(error)}`,
          { cause: error, retryable: true },
        );
      } finally {
        opening.delete(launch.launchId);
      }
    },

    async inspect(ref) {
      if (ref.host !== KIND) return { presence: 'unknown' };
      return inspectLaunch(ref.launchDir, { now, known: places.startedOf(ref.launchId) });
    },

    async interrupt(ref) {
      await writeInput(ref.launchDir, JSON.stringify({ type: 'abort' }));
    },

    async read(ref, { lines }) {
      if ((await readSpec(ref.launchDir)) === undefined) {
        throw new HostError('not_found', `nothing was launched in ${ref.launchDir}`);
      }
      return readTranscript(ref.launchDir, lines);
    },

    async close(ref, { graceMs }) {
      if (!places.has(ref.launchId)) {
        throw new HostError(
          'not_owned',
          `refused to close ${ref.launchId}: this host neither opened nor adopted it`,
        );
      }
      const running =
        closing.get(ref.launchId) ??
        endLaunch(ref.launchDir, { graceMs, known: places.startedOf(ref.launchId) });
      closing.set(ref.launchId, running);
      try {
        return await running;
      } finally {
        closing.delete(ref.launchId);
      }
    },

    watch: (listener) => places.listen(listener),

    async adopt(ref) {
      if (ref.host !== KIND) return { presence: 'unknown' };
      const inspection = await inspectLaunch(ref.launchDir, { now });
      const { presence } = inspection;
      // Also one that cannot be seen at this moment: the sweep looks at it anew.
      if (presence !== 'gone') await places.add(ref);
      if (presence === 'present' || presence === 'unknown') await endTornLine(ref.launchDir);
      return inspection;
    },

    dispose: () => places.dispose(),
  };
}

/** True when the launch has a child or had one (P2). */
async function hasRun(launchDir: string): Promise<boolean> {
  if ((await readStarted(launchDir)) !== undefined) return true;
  const exit = await readExit(launchDir);
  if (exit === undefined) return false;
  throw new HostError('launch_failed', exit.output ?? `the launch of ${launchDir} failed`);
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

function describeExit(launchDir: string, output: string): string {
  const tail = output.trim();
  return `the child of ${launchDir} ended at once${tail === '' ? ', without a word' : `: ${tail}`}`;
}
