/**
 * Reads the signals of a run from the files that other tools keep: its status, its session, whether it
 * has asked, and the heartbeat of its pull request.
 *
 * PR1. A file that is not there is no signal, and one that cannot be understood a warning besides; one
 *      that says something impossible (`null`, an instant beyond the calendar) is an error that names it.
 * PR2. A heartbeat of another run says nothing about this one.
 */
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, describeError } from '../errors.ts';

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

/** The states that a run can be in; any other says nothing. */
const runStates = 'queued running complete failed partial paused stopped rejected'.split(' ');

/** Takes what of a file is of no use, in words that can be shown alone. */
export type Warn = (text: string) => void;

/** Reads a `status.json`. @throws ConfigError `invalid_argument` for one that says something impossible. */
export async function readStatusSignal(path: string, warn: Warn): Promise<StatusSignal> {
  const nothing = { atMs: undefined, runState: undefined };
  const json = await readJson(path, warn);
  if (json === undefined) return nothing;
  if (json === null) throw impossible(path, 'is null, and not the status of a run');
  const status = z.record(z.string(), z.unknown()).safeParse(json).data;
  if (status === undefined) {
    warn(`${path} holds no object, and so no sign of life.`);
    return nothing;
  }
  const { state } = status;
  const runState = typeof state === 'string' && runStates.includes(state) ? state : undefined;
  if (state !== undefined && runState === undefined) {
    const known = runStates.join(', ');
    warn(`${path} has the state ${JSON.stringify(state)}, which says nothing; known are ${known}.`);
  }
  const value = instantKeys
    .map((key) => status[key])
    .find((one) => typeof one === 'number' || (typeof one === 'string' && one.trim() !== ''));
  const atMs = typeof value === 'string' ? Date.parse(value) : Number(value);
  if (value === undefined) return { atMs: undefined, runState };
  if (Number.isNaN(atMs)) {
    warn(`${path} says ${JSON.stringify(value)}, which is no instant.`);
    return { atMs: undefined, runState };
  }
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
  activeRun: z.object({ runId: z.string().optional(), updatedAt: z.string().optional() }).nullish(),
});

/** The heartbeat that the run of a pull request has left; undefined when none can be read. */
export async function readHeartbeat(
  root: string,
  { repo, pr, warn }: { readonly repo: string; readonly pr: number; readonly warn: Warn },
): Promise<Heartbeat | undefined> {
  const [owner, name, ...more] = repo.toLowerCase().split('/');
  if (!isPlain(owner) || !isPlain(name) || more.length > 0) return undefined;
  const path = join(root, '.pi', 'runner-coordination', owner, name, `pr-${pr}.json`);
  const json = await readJson(path, warn);
  if (json === undefined) return undefined;
  const { data: found, error } = coordinationSchema.safeParse(json);
  if (found === undefined) {
    warn(
      `${path} is no runner coordination of version 1 or 2 (${error.issues[0]?.path.join('.')}).`,
    );
    return undefined;
  }
  const { target, activeRun } = found;
  if (target.repo.toLowerCase() !== repo.toLowerCase() || target.pr !== pr) {
    warn(`${path} is about ${target.repo}#${target.pr}, not ${repo}#${pr}.`);
    return undefined;
  }
  const { runId = '', updatedAt = '' } = activeRun ?? {};
  if (runId === '') return undefined;
  const atMs = Date.parse(updatedAt);
  if (!Number.isNaN(atMs)) return { atMs, runId };
  warn(`${path} says ${JSON.stringify(updatedAt)}, which is no instant.`);
  return undefined;
}

/** One step of a path that leads nowhere else. */
function isPlain(part: string | undefined): part is string {
  return part !== undefined && /^[\w.-]+$/.test(part) && part !== '.' && part !== '..';
}

/** The value in a file; undefined when it is not there, no plain file, too large, or no JSON. */
async function readJson(path: string, warn: Warn): Promise<unknown> {
  try {
    // Looked at before it is opened: the open of a pipe waits for its writer.
    const found = await stat(path);
    if (!found.isFile() || found.size > maxStatusBytes) {
      const more = `has ${found.size} bytes; at most ${maxStatusBytes} are read`;
      warn(`${path} ${found.isFile() ? more : 'is no plain file'}.`);
      return undefined;
    }
    return JSON.parse((await readFile(path, 'utf8')).replace(/^\uFEFF/, ''));
  } catch (error) {
    if (!isMissing(error)) warn(`${path} cannot be read: ${describeError(error)}.`);
    return undefined;
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

const impossible = (path: string, what: string): ConfigError =>
  new ConfigError('invalid_argument', `${path} ${what}.`, { data: { path } });
