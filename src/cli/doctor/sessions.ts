/** Sessions that somebody should look after: left by a crash, with agents that nobody leads, unreadable. */
import { inspectLaunch } from '../../hosts/launch-state.ts';
import type { AgentRecord } from '../../runtime/records.ts';
import { listSessions, type SessionSummary } from '../../runtime/sessions.ts';
import { isLive, readSession } from '../sessions.ts';
import type { Check } from './report.ts';

interface Looked extends SessionSummary {
  /** Pids of agents that still run. */
  readonly running: readonly number[];
}

/** Reads every session; each that needs somebody is a check of its own. */
export async function checkSessions(options: {
  readonly stateDir: string;
  /** Epoch ms. */
  readonly now: () => number;
}): Promise<readonly Check[]> {
  const found: Looked[] = [];
  for (const summary of await listSessions(options.stateDir)) {
    const isReadable = summary.problem === undefined;
    found.push({ ...summary, running: isReadable ? await runningOf(summary, options.now) : [] });
  }
  const troubled = found.flatMap((session) => {
    const trouble = troubleOf(session);
    if (trouble === undefined) return [];
    return [{ about: 'sessions', status: 'warn', session: session.name, ...trouble } as const];
  });
  const fine = found.length - troubled.length;
  if (fine === 0 && troubled.length > 0) return troubled;
  const message = found.length === 0 ? 'none yet' : `${fine} in order`;
  return [{ about: 'sessions', status: 'ok', message, fix: null }, ...troubled];
}

async function runningOf(place: SessionSummary, now: () => number): Promise<readonly number[]> {
  const agents = await readSession(place, (store) => store.all('agent'));
  const pids: number[] = [];
  // Of a session in good hands its owner knows best what has ended.
  for (const agent of agents.filter((one) => isLive(one) || place.state !== 'alive')) {
    const pid = await pidOf(agent, now);
    if (pid !== undefined) pids.push(pid);
  }
  return pids;
}

async function pidOf({ place }: AgentRecord, now: () => number): Promise<number | undefined> {
  if (place === undefined) return undefined;
  const { presence, pid } = await inspectLaunch(place.launchDir, { now });
  return presence === 'present' ? pid : undefined;
}

function troubleOf(session: Looked): Pick<Check, 'message' | 'fix'> | undefined {
  const { name, dir, state, owner, running, liveAgents, openTasks, problem } = session;
  if (problem !== undefined) {
    return {
      message: `${name} cannot be read: ${problem}`,
      fix: `If it is of no use any more: rm -r '${dir}'`,
    };
  }
  const left = `${count(liveAgents, 'agent')}, ${count(openTasks, 'open task')}`;
  const orphans = `${count(running.length, 'agent')} still running (pid ${running.join(', ')})`;
  const takeUp = `In Pi, in this project: /shepherd adopt ${name}`;
  switch (state) {
    case 'alive':
      return undefined;
    case 'unknown':
      return {
        message: `${name} is held by process ${owner?.identity.pid} on ${owner?.identity.hostName ?? 'an unknown host'}, which cannot be seen from here`,
        fix: 'Look after it on that machine or in that container.',
      };
    case 'dead':
      return running.length > 0
        ? { message: `${name} was left by a crash, with ${orphans}`, fix: takeUp }
        : {
            message: `${name} was left by a crash (${left}); nothing of it runs`,
            fix: `${takeUp}, or: rm -r '${dir}'`,
          };
    case 'parked':
      if (liveAgents === running.length) return undefined;
      return {
        message: `${name} waits for its owner with ${left}, of which ${running.length} still run`,
        fix: `${takeUp}, or: rm -r '${dir}'`,
      };
    case 'released':
      if (running.length === 0) return undefined;
      return {
        message: `${name} has ended, with ${orphans}`,
        fix: `kill ${running.join(' ')}`,
      };
  }
}

function count(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? '' : 's'}`;
}
