/**
 * Reads the signals of a run from the files that other tools keep: its status, its session, whether it
 * has asked, and the heartbeat of its pull request.
 *
 * PR1. A file that is not there, or cannot be understood, is no signal; one that says something
 *      impossible (`null`, an instant beyond the calendar) is an error that names it.
 * PR2. A heartbeat of another run says nothing about this one.
 */
import { open, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../errors.ts';

/** Far more than any status has; beyond it a file is something else. */
const maxStatusBytes = 1_048_576;
/** The last instant of the calendar, epoch ms. */
const lastInstantMs = 8.64e15;

export interface StatusSignal {
  /** Epoch ms of the last thing that the run did; undefined when the file says none. */
  readonly atMs: number | undefined;
  /** `running`, `complete`, … as the file has it. */
  readonly runState: string | undefined;
}

const instantKeys = ['lastActivityAt', 'lastUpdate', 'endedAt', 'startedAt'] as const;

/** Reads a `status.json`. @throws ConfigError `invalid_argument` for one that says something impossible. */
export async function readStatusSignal(path: string): Promise<StatusSignal> {
  const nothing = { atMs: undefined, runState: undefined };
  const json = await readJson(path);
  if (json === undefined) return nothing;
  if (json === null) throw impossible(path, 'is null, and not the status of a run');
  const status = z.record(z.string(), z.unknown()).safeParse(json).data;
  if (status === undefined) return nothing;
  const { state } = status;
  const runState = typeof state === 'string' && state !== '' ? state : undefined;
  const value = instantKeys
    .map((key) => status[key])
    .find((one) => typeof one === 'number' || (typeof one === 'string' && one.trim() !== ''));
  const atMs = typeof value === 'string' ? Date.parse(value) : Number(value);
  if (value === undefined || Number.isNaN(atMs)) return { atMs: undefined, runState };
  if (Math.abs(atMs) > lastInstantMs) {
    throw impossible(path, `says ${JSON.stringify(value)}, which is no instant of any calendar`);
  }
  return { atMs: Math.floor(atMs), runState };
}

/** When a session file was last written, epoch ms. */
export async function readMovedAt(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? Math.floor(found.mtimeMs) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether something lies there; what it is, is never looked at. */
export async function isMarked(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Where a worktree and its repository are; undefined outside of any. */
export interface GitPlaces {
  /** The worktree's own root. */
  readonly root: string;
  /** The root that all worktrees of a repository share. */
  readonly sharedRoot: string;
}

/** Looks for `.git` from `cwd` upwards; starts no process. */
export async function findGit(cwd: string): Promise<GitPlaces | undefined> {
  const start = await realpath(cwd).catch(() => resolve(cwd));
  for (let root = start; ; root = dirname(root)) {
    const git = join(root, '.git');
    const found = await stat(git).catch(() => undefined);
    if (found?.isDirectory() === true) return { root, sharedRoot: root };
    if (found?.isFile() === true) return { root, sharedRoot: await sharedRootOf(git) };
    if (root === dirname(root)) return undefined;
  }
}

/** A worktree's `.git` names its own directory, and that the one that all of them share. */
async function sharedRootOf(gitFile: string): Promise<string> {
  const own = /^gitdir: (.+)$/m.exec(await readFile(gitFile, 'utf8'))?.[1]?.trim() ?? '';
  const dir = resolve(dirname(gitFile), own);
  const common = await readFile(join(dir, 'commondir'), 'utf8').catch(() => '.');
  const shared = resolve(dir, common.trim());
  return basename(shared) === '.git' ? dirname(shared) : shared;
}

export interface Heartbeat {
  readonly atMs: number;
  readonly runId: string;
}

const coordinationSchema = z.object({
  schemaVersion: z.union([z.literal(1), z.literal(2)]),
  target: z.object({ repo: z.string(), pr: z.int() }),
  activeRun: z.object({ runId: z.string().min(1), updatedAt: z.string() }).nullable(),
});

/** The heartbeat that the run of a pull request has left; undefined when none can be read. */
export async function readHeartbeat(
  root: string,
  { repo, pr }: { readonly repo: string; readonly pr: number },
): Promise<Heartbeat | undefined> {
  const [owner, name, ...more] = repo.toLowerCase().split('/');
  if (!isPlain(owner) || !isPlain(name) || more.length > 0) return undefined;
  const path = join(root, '.pi', 'runner-coordination', owner, name, `pr-${pr}.json`);
  const found = coordinationSchema.safeParse(await readJson(path)).data;
  if (found?.activeRun === undefined || found.activeRun === null) return undefined;
  if (found.target.repo.toLowerCase() !== repo.toLowerCase() || found.target.pr !== pr) {
    return undefined;
  }
  const atMs = Date.parse(found.activeRun.updatedAt);
  return Number.isNaN(atMs) ? undefined : { atMs, runId: found.activeRun.runId };
}

/** One step of a path that leads nowhere else. */
function isPlain(part: string | undefined): part is string {
  return part !== undefined && /^[\w.-]+$/.test(part) && part !== '.' && part !== '..';
}

/** The value in a file; undefined when it is not there, too large, or no JSON. */
async function readJson(path: string): Promise<unknown> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > maxStatusBytes) return undefined;
      return JSON.parse((await file.readFile('utf8')).replace(/^\uFEFF/, ''));
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

const impossible = (path: string, what: string): ConfigError =>
  new ConfigError('invalid_argument', `${path} ${what}.`, { data: { path } });
