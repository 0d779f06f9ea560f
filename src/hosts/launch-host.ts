/**
 * What every host that launches by a launch directory and the runner has in common.
 *
 * LH1. A launch id is started once. Opened again, it gives the same place; had it ended meanwhile, the
 *      watch tells of the exit.
 * LH2. Pid and start time together decide what lives; what a place looks like decides nothing.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { describeError, HostError, ShepherdError } from '../errors.ts';
import type { AgentHost, CloseOutcome, Launch, PlaceRef } from './host.ts';
import {
  launchPaths,
  type LaunchLimits,
  type LaunchSpec,
  makeLaunchDir,
  readExit,
  readStarted,
  writeSpec,
} from './launch.ts';
import { endLaunch } from './launch-end.ts';
import { inspectLaunch } from './launch-state.ts';
import { createLaunchWatch } from './launch-watch.ts';
import type { ProcessIdentity } from './processes.ts';

const POLL_MS = 25;
const FAILED_OPEN_GRACE_MS = 1000;

/** A runner that a host has started. */
export interface StartedRunner {
  readonly identity: ProcessIdentity;
  /** Null while it runs, or where that cannot be seen. */
  exitCode(): number | null;
}

/** What differs between such hosts. */
export interface LaunchHostPorts extends Pick<AgentHost, 'kind' | 'read' | 'interrupt'> {
  readonly mode: LaunchSpec['mode'];
  /** Epoch ms. */
  readonly now: () => number;
  readonly sweepMs: number;
  /** How long a launch may take to start its child. */
  readonly openTimeoutMs: number;
  readonly limits?: LaunchLimits | undefined;
  /** Starts the runner of a launch whose spec is written. */
  readonly startRunner: (launch: Launch, signal: AbortSignal | undefined) => Promise<StartedRunner>;
  /** Takes a place up that an earlier process opened; its child runs. */
  readonly onAdopt?: (ref: PlaceRef) => Promise<void>;
  /** Removes what a place has left, its child being gone. */
  readonly onClosed?: (ref: PlaceRef) => Promise<void>;
  /** Calls `look` when a place may have ended, from when somebody watches until the stop. */
  readonly hints?: (look: () => void) => () => void;
  /** The last of what an ended child showed, where no log has it. */
  readonly lastOutput?: (ref: PlaceRef) => Promise<string>;
}

/** Creates a host of launches. */
export function createLaunchHost(ports: LaunchHostPorts): AgentHost {
  const { kind, now, openTimeoutMs } = ports;
  const lastOutput = ports.lastOutput ?? (() => Promise.resolve(''));
  const places = createLaunchWatch({ now, sweepMs: ports.sweepMs, lastOutput });
  let stopHints: (() => void) | undefined;
  const opening = new Map<string, Promise<PlaceRef>>();
  const closing = new Map<string, Promise<CloseOutcome>>();

  async function openOnce(launch: Launch, signal: AbortSignal | undefined): Promise<PlaceRef> {
    const { launchId, launchDir } = launch;
    const ref: PlaceRef = { host: kind, launchId, launchDir };
    signal?.throwIfAborted();
    await makeLaunchDir(launchDir);
    if (!(await hasRun(launchDir))) await start(launch, ref, signal);
    await watchPlace(ref);
    return ref;
  }

  async function watchPlace(ref: PlaceRef): Promise<void> {
    stopHints ??= ports.hints?.(() => places.look());
    await places.add(ref);
  }

  async function start(
    launch: Launch,
    ref: PlaceRef,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { launchId, launchDir, argv, cwd, env, label, ownerFile, orphanGraceMs } = launch;
    const { mode, limits } = ports;
    await writeSpec(launchDir, {
      v: 1,
      launchId,
      argv: [...argv],
      cwd,
      env: { ...env },
      label,
      mode,
      limits,
      ownerFile,
      orphanGraceMs,
    });
    const runner = await ports.startRunner(launch, signal);
    try {
      await waitUntilStarted(ref, runner, signal);
    } catch (error) {
      await endLaunch(launchDir, {
        graceMs: FAILED_OPEN_GRACE_MS,
        runner: runner.identity,
      });
      await ports.onClosed?.(ref).catch(() => undefined);
      throw error;
    }
  }

  /** Resolves when the child runs; the runner's own end is no failure if another one has the launch. */
  async function waitUntilStarted(
    ref: PlaceRef,
    runner: StartedRunner,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { launchDir } = ref;
    const until = performance.now() + openTimeoutMs;
    for (;;) {
      const runnerExit = runner.exitCode();
      const exit = await readExit(launchDir);
      if (exit !== undefined) {
        const { exit: seen } = await inspectLaunch(launchDir, { now });
        const output = seen?.output ?? '';
        const said = output.trim() === '' ? await lastOutput(ref).catch(() => '') : output;
        throw new HostError('launch_failed', describeExit(launchDir, said), {
          data: { code: exit.code, signal: exit.signal },
        });
      }
      if ((await readStarted(launchDir)) !== undefined) return;
      if (runnerExit !== null && runnerExit !== 0) {
        const log = await readFile(launchPaths(launchDir).runnerLog, 'utf8').catch(() => '');
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

  async function closeOnce(ref: PlaceRef, graceMs: number): Promise<CloseOutcome> {
    const known = places.startedOf(ref.launchId);
    const outcome = await endLaunch(ref.launchDir, { graceMs, known });
    // Only what is proven gone leaves nothing to be looked at.
    if (outcome !== 'unconfirmed') await ports.onClosed?.(ref);
    return outcome;
  }

  return {
    kind,
    hasTerminal: ports.mode === 'terminal',

    async open(launch, signal) {
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
      if (ref.host !== kind) return { presence: 'unknown' };
      return inspectLaunch(ref.launchDir, { now, known: places.startedOf(ref.launchId) });
    },

    interrupt: ports.interrupt,
    read: ports.read,

    async close(ref, { graceMs }) {
      if (!places.has(ref.launchId)) {
        throw new HostError(
          'not_owned',
          `refused to close ${ref.launchId}: this host neither opened nor adopted it`,
        );
      }
      const running = closing.get(ref.launchId) ?? closeOnce(ref, graceMs);
      closing.set(ref.launchId, running);
      try {
        return await running;
      } finally {
        closing.delete(ref.launchId);
      }
    },

    watch: (listener) => places.listen(listener),

    async adopt(ref) {
      if (ref.host !== kind) return { presence: 'unknown' };
      const inspection = await inspectLaunch(ref.launchDir, { now });
      const { presence } = inspection;
      // Also one that cannot be seen at this moment: the sweep looks at it anew.
      if (presence !== 'gone') await watchPlace(ref);
      if (presence === 'present' || presence === 'unknown') await ports.onAdopt?.(ref);
      return inspection;
    },

    async tidy(refs) {
      for (const ref of refs) {
        const { presence } = await inspectLaunch(ref.launchDir, { now });
        if (presence !== 'dead' && presence !== 'gone') continue;
        await ports.onClosed?.(ref).catch(() => undefined);
      }
    },

    dispose() {
      stopHints?.();
      places.dispose();
    },
  };
}

/** True when the launch has a child or had one (LH1). */
async function hasRun(launchDir: string): Promise<boolean> {
  if ((await readStarted(launchDir)) !== undefined) return true;
  const exit = await readExit(launchDir);
  if (exit === undefined) return false;
  throw new HostError('launch_failed', exit.output ?? `the launch of ${launchDir} failed`);
}

function describeExit(launchDir: string, output: string): string {
  const tail = output.trim();
  return `the child of ${launchDir} ended at once${tail === '' ? ', without a word' : `: ${tail}`}`;
}
