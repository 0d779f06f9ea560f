/**
 * Looks at the processes of this machine: the only judge of whether one lives.
 *
 * A pid alone proves nothing, it is reused; pid and start time together name one process. Linux only
 * for start times and family trees (`/proc`); elsewhere the pid has to do.
 */
import { readdir, readFile } from 'node:fs/promises';

const onLinux = process.platform === 'linux';

/** One process for as long as the machine runs. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to its start; `null` where the platform does not tell. */
  readonly startTime: number | null;
}

interface ProcessRow {
  readonly pid: number;
  readonly startTime: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Dead, but nobody collected its exit code yet. */
  readonly ended: boolean;
}

/** The `code` of a system error (`ENOENT`), or `undefined` for anything else. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Names a running process, so that it can be told from a later one with the same pid. */
export async function identify(pid: number): Promise<ProcessIdentity> {
  return { pid, startTime: (await readRow(pid))?.startTime ?? null };
}

/** True while this very process runs. A zombie does not: a container's init may never collect it. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!onLinux) return sendSignal(identity.pid, 0) === 'sent';
  const row = await readRow(identity.pid);
  return row !== undefined && !row.ended && row.startTime === identity.startTime;
}

/**
 * Like `isAlive`, but `dead` is a proof: `unknown` for a process that may be hidden from here, and for
 * every one where the platform tells no start times.
 *
 * @throws the system's error when `/proc` cannot be read now.
 */
export async function presenceOf(identity: ProcessIdentity): Promise<'alive' | 'dead' | 'unknown'> {
  if (!onLinux || identity.startTime === null) return 'unknown';
  const row = await readRow(identity.pid);
  if (row === undefined) {
    // /proc mounted with hidepid shows no processes of others; a signal still tells of them.
    return sendSignal(identity.pid, 0) === 'gone' ? 'dead' : 'unknown';
  }
  return !row.ended && row.startTime === identity.startTime ? 'alive' : 'dead';
}

/** The process group of a running process, or `undefined` when it is gone or the platform is mute. */
export async function groupOf(pid: number): Promise<number | undefined> {
  return (await readRow(pid))?.groupId;
}

/**
 * Everything below one process by parenthood, the process itself not included; empty off Linux.
 *
 * Finds what a group kill misses: Pi's bash tool puts each command in a session of its own. A daemon
 * that left its parent on purpose is no descendant any more and is not found.
 */
export async function descendantsOf(pid: number): Promise<ProcessIdentity[]> {
  const rows = await readTable();
  const found: ProcessIdentity[] = [];
  let parents = new Set([pid]);
  while (parents.size > 0) {
    const children = rows.filter((row) => parents.has(row.parentPid) && !row.ended);
    found.push(...children.map(toIdentity));
    parents = new Set(children.map((row) => row.pid));
  }
  return found;
}

/** The running members of a process group; empty off Linux. */
export async function groupMembers(groupId: number): Promise<ProcessIdentity[]> {
  const rows = await readTable();
  return rows.filter((row) => row.groupId === groupId && !row.ended).map(toIdentity);
}

/** Sends a signal to a process, or to a group when `target` is negative; 0 only asks. */
export function sendSignal(
  target: number,
  signal: NodeJS.Signals | 0,
): 'sent' | 'gone' | 'refused' {
  try {
    process.kill(target, signal);
    return 'sent';
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') return 'gone';
    if (errnoOf(error) === 'EPERM') return 'refused';
    throw error;
  }
}

function toIdentity({ pid, startTime }: ProcessRow): ProcessIdentity {
  return { pid, startTime };
}

async function readTable(): Promise<ProcessRow[]> {
  if (!onLinux) return [];
  const names = await readdir('/proc');
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const rows = await Promise.all(pids.map((pid) => readRow(pid)));
  return rows.filter((row) => row !== undefined);
}

async function readRow(pid: number): Promise<ProcessRow | undefined> {
  if (!onLinux) return undefined;
  let text: string;
  try {
    text = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    const code = errnoOf(error);
    // EACCES: the pid now belongs to another user, so the process that was meant is gone.
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return undefined;
    throw error;
  }
  // Field 2 is the command in parentheses and may itself hold spaces and parentheses: proc(5).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    parentPid: Number(fields[1]),
    groupId: Number(fields[2]),
    startTime: Number(fields[19]),
    ended: fields[0] === 'Z' || fields[0] === 'X',
  };
}
