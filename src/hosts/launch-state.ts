/** What became of a launch, told from its directory and the process table. */
import { describeError, ShepherdError } from '../errors.ts';
import type { Inspection, ProcessExit } from './host.ts';
import { type LaunchExit, type LaunchStarted, readClaim, readExit, readStarted } from './launch.ts';
import { isAlive, type ProcessIdentity } from './processes.ts';
import { readTranscript } from './transcript.ts';

const MAX_OUTPUT_LENGTH = 4000;
const OUTPUT_LINES = 60;
const ORPHANED = 'sheepfold: the runner ended it, as its owner had been dead for the whole grace';

export interface InspectLaunchOptions {
  /** Epoch ms, for the exit of a child that vanished without a trace. */
  readonly now: () => number;
  /** In place of `started.json`: somebody may remove the directory of a running child. */
  readonly known?: LaunchStarted | undefined;
}

/** The child of a launch, as one process. */
export function childOf(started: LaunchStarted): ProcessIdentity {
  return { pid: started.pid, startTime: started.startTime };
}

/** The runner of a launch, or `undefined` when none ever took it. */
export async function findRunner(
  launchDir: string,
  started: LaunchStarted | undefined,
): Promise<ProcessIdentity | undefined> {
  const claim = started ?? (await readClaim(launchDir));
  return claim && { pid: claim.runnerPid, startTime: claim.runnerStartTime };
}

/**
 * Presence of a launch's child; never throws.
 *
 * `present` also while a runner is about to start the child or to write its exit; `dead` once it is
 * known to have ended; `gone` when there is no trace of a launch; `unknown` when files cannot be read.
 */
export async function inspectLaunch(
  launchDir: string,
  options: InspectLaunchOptions,
): Promise<Inspection> {
  try {
    const started = options.known ?? (await readStarted(launchDir));
    if (started !== undefined && (await isAlive(childOf(started)))) {
      return { presence: 'present', pid: started.pid };
    }
    // The runner before exit.json: it writes the file and then ends, so that the other order could
    // find neither.
    const runner = await findRunner(launchDir, started);
    const runnerLives = runner !== undefined && (await isAlive(runner));
    const exit = await readExit(launchDir).catch((error: unknown) => {
      if (runnerLives || (ShepherdError.is(error) && error.retryable)) throw error;
      return untraced(options.now(), describeError(error));
    });
    if (exit === undefined && runnerLives) return { presence: 'present', pid: started?.pid };
    if (exit === undefined && started === undefined) return { presence: 'gone' };
    const ended = exit ?? untraced(options.now());
    return { presence: 'dead', pid: started?.pid, exit: await toProcessExit(launchDir, ended) };
  } catch {
    return { presence: 'unknown' };
  }
}

/** The exit with the tail of what the child printed. */
async function toProcessExit(launchDir: string, exit: LaunchExit): Promise<ProcessExit> {
  const { code, signal, atMs, reason } = exit;
  const printed = exit.output ?? (await readTranscript(launchDir, OUTPUT_LINES));
  const output = reason === 'orphaned' ? `${printed}\n${ORPHANED}` : printed;
  return { code, signal, atMs, output: output.slice(-MAX_OUTPUT_LENGTH) };
}

function untraced(atMs: number, output?: string): LaunchExit {
  return { code: null, signal: null, atMs, output };
}
