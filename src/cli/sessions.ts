/**
 * The sessions of a project as the CLI sees them: found by their directories, read without a lock.
 *
 * Reading changes nothing and works beside a living owner. Writing takes the session first.
 */
import { existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, describeError, MailboxError } from '../errors.ts';
import { judgeOwner } from '../hosts/owner.ts';
import { createIdMaker } from '../ids.ts';
import type { AgentRecord } from '../runtime/records.ts';
import { isPruned, sessionNames } from '../runtime/session-dir.ts';
import { takeSession } from '../runtime/session-lock.ts';
import type { SessionOwner } from '../runtime/session-owner.ts';
import { openSessionStore } from '../runtime/session-store.ts';
import { countRunning } from '../runtime/sessions.ts';
import type { Store } from '../runtime/store.ts';
import { stateDirOf } from '../settings/places.ts';

/** Where a session lies. */
export interface SessionPlace {
  /** Name of its directory. */
  readonly name: string;
  readonly dir: string;
}

/** Options of the commands that look at one session. */
export const sessionOptions = {
  session: { type: 'string' },
  dir: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** The value of a text option, if it was given. */
export function textOf(values: Readonly<Record<string, unknown>>, name: string) {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * The project that `--dir` names, by default the one here.
 *
 * @throws ConfigError `invalid_argument` for what is no directory.
 */
export function namedProject(values: Readonly<Record<string, unknown>>): string {
  const dir = textOf(values, 'dir');
  if (dir !== undefined && !statSync(resolve(dir), { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(
      'invalid_argument',
      `--dir ${dir} is no directory; it takes the directory of a project.`,
    );
  }
  return resolve(dir ?? '.');
}

/**
 * Where the sessions of the project that `--dir` names lie.
 *
 * @throws ConfigError `invalid_argument` for what is no directory.
 */
export function namedStateDir(values: Readonly<Record<string, unknown>>): string {
  return stateDirOf(namedProject(values));
}

/** Every session of a project, oldest first; none when it has no state directory. */
export function findSessions(stateDir: string): readonly SessionPlace[] {
  let names: readonly string[];
  try {
    names = sessionNames(stateDir).filter((name) => !isPruned(join(stateDir, name)));
  } catch (cause) {
    if (!existsSync(stateDir)) return [];
    throw new MailboxError(
      'disk_error',
      `Could not list ${stateDir}: ${describeError(cause)}; the same call may work later.`,
      { cause, retryable: true },
    );
  }
  return names.map((name) => ({ name, dir: join(stateDir, name) }));
}

/**
 * Finds the one session that is meant: by its name or a beginning of it, with or without the number.
 *
 * @param wanted undefined: the newest.
 * @throws ConfigError `invalid_argument` naming the sessions that there are.
 */
export function chooseSession(stateDir: string, wanted: string | undefined): SessionPlace {
  const places = findSessions(stateDir);
  const newest = places.at(-1);
  if (newest === undefined) {
    throw new ConfigError('invalid_argument', `There is no session in ${stateDir}.`);
  }
  if (wanted === undefined) return newest;
  const exact = places.filter(({ name }) => name === wanted);
  const meant =
    exact.length > 0 || wanted === ''
      ? exact
      : places.filter(
          ({ name }) => name.startsWith(wanted) || name.replace(/^\d+-/, '').startsWith(wanted),
        );
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return only;
  throw new ConfigError(
    'invalid_argument',
    only === undefined
      ? `There is no session "${wanted}"; there is ${namesOf(places)}.`
      : `"${wanted}" could be ${namesOf(meant)}; write more of the name.`,
  );
}

/** An error names this many; the rest is counted. */
const namedAtMost = 10;

function namesOf(places: readonly SessionPlace[]): string {
  const newest = places.toReversed();
  const named = newest.slice(0, namedAtMost).map(({ name }) => name);
  const more = newest.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** @throws ConfigError `invalid_setting` for a directory without one. */
export function storePathOf({ name, dir }: SessionPlace): string {
  const path = join(dir, 'session.db');
  if (existsSync(path)) return path;
  throw new ConfigError('invalid_setting', `${name} has no ${basename(path)}.`);
}

/**
 * Reads a session's store, also while another process writes to it.
 *
 * @throws ConfigError `invalid_setting` for another version or none, `session_damaged`; MailboxError
 * `disk_error`.
 */
export async function readSession<T>(
  place: SessionPlace,
  read: (store: Store) => T | Promise<T>,
): Promise<T> {
  const store = openSessionStore(storePathOf(place), { readOnly: true });
  try {
    return await read(store);
  } finally {
    store.close();
  }
}

/**
 * Has the session for the time of `work`, and leaves its owner's record as it was.
 *
 * The owner file is not written: the runners of children keep looking for the owner they know.
 *
 * @throws ConfigError `session_owned` while its owner lives or cannot be seen.
 */
export async function withOwnedSession<T>(
  place: SessionPlace,
  options: { readonly now: () => number; readonly work: (store: Store) => T },
): Promise<T> {
  const ids = createIdMaker();
  const makeToken = (): string => ids.secret();
  const store = openSessionStore(storePathOf(place), { mayCreate: false });
  try {
    const { key = place.name, canReturn = true } = store.owner() ?? {};
    const wall = options.now;
    const lock = await takeSession({ store, key, canReturn, isCommand: true, makeToken, wall });
    const mine = store.owner()?.token;
    try {
      return options.work(store);
    } finally {
      // As it was: a session that was killed is still one that was killed.
      if (lock.previous === undefined) lock.release('released');
      else store.swapOwner(mine, { ...lock.previous, token: makeToken() });
    }
  } finally {
    store.close();
  }
}

const sessionOwnerSchema = z.strictObject({
  /** Pi's session id, or a name. */
  key: z.string(),
  state: z.enum(['held', 'parked', 'released']),
  /** Whether that process still runs; `unknown` is one that cannot be seen from here. */
  verdict: z.enum(['alive', 'dead', 'unknown']),
  pid: z.int(),
  hostName: z.string().nullable(),
  /** Epoch ms of the state's beginning. */
  atMs: z.number(),
});

export const sessionViewSchema = z.strictObject({
  name: z.string(),
  sessionDir: z.string(),
  owner: sessionOwnerSchema.nullable(),
  /** The earliest instant that the session knows, epoch ms. */
  createdAtMs: z.number().nullable(),
  ageMs: z.int().nullable(),
  /** Agents that may still run. */
  liveAgents: z.int(),
  openTasks: z.int(),
});
export type SessionView = z.infer<typeof sessionViewSchema>;

/** What the list says of one session. */
export async function viewSession(
  place: SessionPlace,
  options: { readonly store: Store; readonly nowMs: number },
): Promise<SessionView> {
  const { store, nowMs } = options;
  const owner = store.owner();
  const agents = store.all('agent');
  const instants = [
    ...store.journal({ after: 0, limit: 1 }).map(({ atMs }) => atMs),
    ...agents.map(({ createdAtMs }) => createdAtMs),
    ...(owner === undefined ? [] : [owner.atMs]),
  ];
  const createdAtMs = instants.length === 0 ? null : Math.min(...instants);
  return {
    name: place.name,
    sessionDir: place.dir,
    owner: owner === undefined ? null : await viewOwner(owner),
    createdAtMs,
    ageMs: createdAtMs === null ? null : Math.max(0, Math.round(nowMs - createdAtMs)),
    liveAgents: await countRunning(store, place.dir),
    openTasks: store.all('task').filter(({ result }) => result === undefined).length,
  };
}

async function viewOwner({ key, state, identity, atMs }: SessionOwner) {
  const { pid, hostName } = identity;
  return { key, state, verdict: await judgeOwner(identity), pid, hostName, atMs };
}

/** Whether an agent has not ended. */
export function isLive({ state }: Pick<AgentRecord, 'state'>): boolean {
  return state !== 'closed' && state !== 'failed' && state !== 'lost';
}

/** `held by 4711 (alive)`, `parked`. */
export function describeOwner(owner: SessionView['owner']): string {
  if (owner === null) return 'no owner';
  return owner.state === 'held' ? `held by ${owner.pid} (${owner.verdict})` : owner.state;
}
