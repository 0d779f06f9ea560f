/** The sessions of a project, seen from outside: read-only, whoever has them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeError } from '../errors.ts';
import { inspectLaunch } from '../hosts/launch-state.ts';
import { readExit } from '../hosts/launch.ts';
import { judgeOwner, type OwnerVerdict } from '../hosts/owner.ts';
import { launchDirOf } from './launcher.ts';
import type { AgentRecord } from './records.ts';
import { isPruned, launchesOf, sessionNames } from './session-dir.ts';
import type { OwnerState, SessionOwner } from './session-owner.ts';
import { openSessionStore } from './session-store.ts';
import type { Store } from './store.ts';

export interface SessionSummary {
  /** Name of its directory. */
  readonly name: string;
  readonly dir: string;
  readonly owner: SessionOwner | undefined;
  /** `parked` and `released` as its owner left it; a held one by whether its owner lives. */
  readonly state: Exclude<OwnerState, 'held'> | OwnerVerdict;
  /** Agents of which the session has not heard that they ended. */
  readonly liveAgents: number;
  /** Those of them that may still run. */
  readonly runningAgents: number;
  readonly openTasks: number;
  /** Why it cannot be read; everything else is empty then. */
  readonly problem?: string;
}

/** Lists the sessions below `stateDir`, oldest first; one that cannot be read is listed with why. */
export async function listSessions(stateDir: string): Promise<readonly SessionSummary[]> {
  if (!existsSync(stateDir)) return [];
  const names = sessionNames(stateDir).filter((name) => !isPruned(join(stateDir, name)));
  return Promise.all(names.map((name) => summarize(stateDir, name)));
}

async function summarize(stateDir: string, name: string): Promise<SessionSummary> {
  const dir = join(stateDir, name);
  const nothing = { name, dir, owner: undefined, liveAgents: 0, runningAgents: 0, openTasks: 0 };
  try {
    const store = openSessionStore(join(dir, 'session.db'), { readOnly: true });
    try {
      const owner = store.owner();
      return {
        name,
        dir,
        owner,
        state: await stateOf(owner),
        liveAgents: liveAgentsOf(store).length,
        runningAgents: await countRunning(store, dir),
        openTasks: store.all('task').filter(({ result }) => result === undefined).length,
      };
    } finally {
      store.close();
    }
  } catch (error) {
    return { ...nothing, state: 'unknown', problem: describeError(error) };
  }
}

function liveAgentsOf(store: Store): readonly AgentRecord[] {
  return store.all('agent').filter(({ endedAtMs }) => endedAtMs === undefined);
}

/**
 * How many agents of the session in `dir` may still run: without a living owner nobody records the
 * end of those that their runners have ended, or that died with the machine.
 */
export async function countRunning(store: Store, dir: string): Promise<number> {
  const live = liveAgentsOf(store);
  const owner = store.owner();
  const verdict = owner === undefined ? 'dead' : await judgeOwner(owner.identity);
  // Its owner knows best.
  if (owner?.state === 'held' && verdict === 'alive') return live.length;
  const running = await Promise.all(
    live.map(({ id, launch, place }) => {
      const launchDir = place?.launchDir ?? launchDirOf(launchesOf(dir), id, launch);
      return verdict === 'unknown' ? hasNoExit(launchDir) : mayRun(launchDir);
    }),
  );
  return running.filter(Boolean).length;
}

async function mayRun(launchDir: string): Promise<boolean> {
  const { presence } = await inspectLaunch(launchDir, { now: Date.now });
  return presence === 'present' || presence === 'unknown';
}

/** Where its processes cannot be seen from here, the word of its runner is the only proof. */
async function hasNoExit(launchDir: string): Promise<boolean> {
  return (await readExit(launchDir).catch(() => undefined)) === undefined;
}

async function stateOf(owner: SessionOwner | undefined): Promise<SessionSummary['state']> {
  if (owner === undefined) return 'released';
  return owner.state === 'held' ? judgeOwner(owner.identity) : owner.state;
}
