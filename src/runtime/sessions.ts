/** The sessions of a project, seen from outside: read-only, whoever has them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeError } from '../errors.ts';
import { judgeOwner, type OwnerVerdict } from '../hosts/owner.ts';
import { sessionNames } from './session-dir.ts';
import type { OwnerState, SessionOwner } from './session-lock.ts';
import { openSessionStore } from './session-store.ts';

export interface SessionSummary {
  /** Name of its directory. */
  readonly name: string;
  readonly dir: string;
  readonly owner: SessionOwner | undefined;
  /** `parked` and `released` as its owner left it; a held one by whether its owner lives. */
  readonly state: Exclude<OwnerState, 'held'> | OwnerVerdict;
  readonly liveAgents: number;
  readonly openTasks: number;
  /** Why it cannot be read; everything else is empty then. */
  readonly problem?: string;
}

/** Lists the sessions below `stateDir`, oldest first; one that cannot be read is listed with why. */
export async function listSessions(stateDir: string): Promise<readonly SessionSummary[]> {
  if (!existsSync(stateDir)) return [];
  return Promise.all(sessionNames(stateDir).map((name) => summarize(stateDir, name)));
}

async function summarize(stateDir: string, name: string): Promise<SessionSummary> {
  const dir = join(stateDir, name);
  const nothing = { name, dir, owner: undefined, liveAgents: 0, openTasks: 0 };
  try {
    const store = openSessionStore(join(dir, 'session.db'), { readOnly: true });
    try {
      const owner = store.owner();
      return {
        name,
        dir,
        owner,
        state: await stateOf(owner),
        liveAgents: store.all('agent').filter(({ endedAtMs }) => endedAtMs === undefined).length,
        openTasks: store.all('task').filter(({ result }) => result === undefined).length,
      };
    } finally {
      store.close();
    }
  } catch (error) {
    return { ...nothing, state: 'unknown', problem: describeError(error) };
  }
}

async function stateOf(owner: SessionOwner | undefined): Promise<SessionSummary['state']> {
  if (owner === undefined) return 'released';
  return owner.state === 'held' ? judgeOwner(owner.identity) : owner.state;
}
