/** Ends a launch: politely, then by force, and says only what it could verify. */
import { setTimeout as wait } from 'node:timers/promises';
import type { CloseOutcome } from './host.ts';
import { type LaunchStarted, readStarted } from './launch.ts';
import { childOf, findRunner } from './launch-state.ts';
import { descendantsOf, groupMembers, isAlive, sendSignal } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';

const POLL_MS = 20;
/** The runner drains the output and writes exit.json once its child is dead. */
const RUNNER_GRACE_MS = 3000;
const KILL_WAIT_MS = 2000;

export interface EndLaunchOptions {
  /** How long the child may take to end by itself. */
  readonly graceMs: number;
  /** In place of `started.json`: somebody may remove the directory of a running child. */
  readonly known?: LaunchStarted | undefined;
  /** A runner that was just spawned and has claimed nothing yet. */
  readonly runner?: ProcessIdentity | undefined;
}

/**
 * Ends the child, whatever it started, and the runner.
 *
 * SIGTERM goes to the child once: Pi tidies up on the first and exits at once on a second. After
 * `graceMs` SIGKILL goes to its group and its descendants, and to the runner if that stays.
 */
export async function endLaunch(
  launchDir: string,
  options: EndLaunchOptions,
): Promise<CloseOutcome> {
  const started = options.known ?? (await readStarted(launchDir));
  const runner = (await findRunner(launchDir, started)) ?? options.runner;
  if (started !== undefined) return endStarted(started, runner, options.graceMs);
  if (runner === undefined || !(await isAlive(runner))) return 'already_gone';

  sendSignal(runner.pid, 'SIGTERM');
  if (await waitUntilDead([runner], RUNNER_GRACE_MS)) return 'closed';
  // It was about to start the child and has passed the signal on to it.
  const late = await readStarted(launchDir);
  if (late !== undefined) return endStarted(late, runner, options.graceMs);
  if (await isAlive(runner)) sendSignal(runner.pid, 'SIGKILL');
  return (await waitUntilDead([runner], KILL_WAIT_MS)) ? 'closed' : 'unconfirmed';
}

async function endStarted(
  started: LaunchStarted,
  runner: ProcessIdentity | undefined,
  graceMs: number,
): Promise<CloseOutcome> {
  const child = childOf(started);
  const childLived = await isAlive(child);
  const runnerLived = runner !== undefined && (await isAlive(runner));
  if (!childLived && !runnerLived) return 'already_gone';

  const members = childLived ? await stopChild(started, graceMs) : [child];
  if (runner !== undefined) {
    await waitUntilDead([runner], RUNNER_GRACE_MS);
    members.push(runner);
  }
  return (await killAll(members)) ? 'closed' : 'unconfirmed';
}

/**
 * Ends the child and whatever it started like `endLaunch`, but not the runner: for the runner itself.
 *
 * @returns false when a process may be left.
 */
export async function endChild(started: LaunchStarted, graceMs: number): Promise<boolean> {
  return killAll(await stopChild(started, graceMs));
}

/** Ends the child, and gives it with all of its family, some of which may still run. */
async function stopChild(started: LaunchStarted, graceMs: number): Promise<ProcessIdentity[]> {
  const child = childOf(started);
  // Before the first signal: a dead parent's children are no longer found.
  const family = await familyOf(started);
  if (await isAlive(child)) sendSignal(child.pid, 'SIGTERM');
  if (!(await waitUntilDead([child], graceMs))) {
    family.push(...(await familyOf(started)));
    // In a terminal the group is the runner's too, which is still to write exit.json.
    const target = started.pgid === child.pid ? -child.pid : child.pid;
    if (await isAlive(child)) sendSignal(target, 'SIGKILL');
  }
  return [child, ...family];
}

async function killAll(members: readonly ProcessIdentity[]): Promise<boolean> {
  for (const member of members) {
    // Each one checked right before: a pid may have a new owner by now.
    if (await isAlive(member)) sendSignal(member.pid, 'SIGKILL');
  }
  return waitUntilDead(members, KILL_WAIT_MS);
}

async function familyOf(started: LaunchStarted): Promise<ProcessIdentity[]> {
  const [below, group] = await Promise.all([
    descendantsOf(started.pid),
    groupMembers(started.pgid),
  ]);
  return [...below, ...group].filter(
    ({ pid }) => pid !== started.pid && pid !== started.runnerPid && pid !== process.pid,
  );
}

async function waitUntilDead(
  processes: readonly ProcessIdentity[],
  limitMs: number,
): Promise<boolean> {
  const until = performance.now() + limitMs;
  for (;;) {
    const alive = await Promise.all(processes.map(isAlive));
    if (!alive.includes(true)) return true;
    if (performance.now() >= until) return false;
    await wait(POLL_MS);
  }
}
