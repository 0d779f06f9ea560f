/**
 * Where a session lives: `<stateDir>/<NNNN-name-8hex>/`, found again by the session's key.
 *
 * Nothing that a session writes lies elsewhere. The tree is ignored by git, except the notes.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigError, MailboxError, ShepherdError } from '../errors.ts';
import { onDisk } from '../mailbox/mail-fs.ts';

export interface SessionDir {
  readonly dir: string;
  /** No agent of it was ever launched: its store may be empty. */
  readonly isNew: boolean;
  readonly sessionId: string;
  readonly brokerId: string;
  readonly storePath: string;
  readonly mailboxDir: string;
  readonly launchDir: string;
  /** Made with the first note. */
  readonly notesDir: string;
  /** Who has the session now. */
  readonly ownerFile: string;
}

/** Where the launches of the session in `dir` lie. */
export function launchesOf(dir: string): Pick<SessionDir, 'launchDir'> {
  return { launchDir: join(dir, 'launch') };
}

/**
 * The name of the directory of the session that this key means, if there is one; makes nothing.
 *
 * @throws MailboxError `disk_error`.
 */
export function findSession(stateDir: string, key: string): string | undefined {
  const name = existsSync(stateDir) ? findName(stateDir, key) : undefined;
  return name !== undefined && existsSync(join(stateDir, name, 'session.db')) ? name : undefined;
}

/**
 * Has a key mean another session from now on: one that its own owner will not come back to. Returns
 * what takes that back. Only for who holds that session: of two that adopt it at once one has to lose.
 *
 * @param name the directory's name, as `listSessions` gives it.
 * @throws MailboxError `disk_error`, as does what it returns.
 */
export function adoptSession(stateDir: string, key: string, name: string): () => void {
  const path = aliasPath(stateDir, key);
  const before = readAlias(path);
  writeAlias(path, name);
  return () => {
    if (before !== undefined) writeAlias(path, before);
    else onDisk('remove', path, () => rmSync(path, { force: true }));
  };
}

function readAlias(path: string): string | undefined {
  return existsSync(path) ? onDisk('read', path, () => readFileSync(path, 'utf8')) : undefined;
}

function writeAlias(path: string, name: string): void {
  onDisk('write', path, () => {
    writeFileSync(`${path}.tmp`, name, { mode: 0o600 });
    renameSync(`${path}.tmp`, path);
  });
}

/** Says which session a key means, where that is not the one it made. */
function aliasPath(stateDir: string, key: string): string {
  return join(stateDir, `.adopted-${suffixOf(key)}`);
}

function findName(stateDir: string, key: string): string | undefined {
  const names = onDisk('list', stateDir, () => sessionNames(stateDir));
  const adopted = readAlias(aliasPath(stateDir, key));
  if (adopted !== undefined && names.includes(adopted)) return adopted;
  return names.find((entry) => entry.endsWith(`-${suffixOf(key)}`));
}

/** Names of the sessions' directories, in the order in which they began. */
export function sessionNames(stateDir: string): readonly string[] {
  return readdirSync(stateDir)
    .filter((entry) => /^\d{4,}-.*-[0-9a-f]{8}$/.test(entry))
    .toSorted();
}

/** Whether only the notes of a session are left: it is over, and was removed. */
export function isPruned(dir: string): boolean {
  return readdirSync(dir).every((entry) => entry === 'notes');
}

function suffixOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

/** A note's path within its session's directory, with `/` on every system. */
export function notePathInSession(file: string): string {
  return `notes/${file}`;
}

const ignored = ['*', '!*/', '!.gitignore', '!*/notes/**', '.*.tmp', ''].join('\n');

/**
 * Finds the directory of the session with this key, or makes it; 0700.
 *
 * @param name what people see; anything but letters and digits becomes `-`.
 * @throws MailboxError `disk_error` when the state directory cannot be written; ConfigError
 * `invalid_argument` for one to adopt that is not there.
 */
export function openSessionDir(options: {
  readonly stateDir: string;
  readonly key: string;
  readonly name: string;
  /** Name of the directory to open instead, whatever the key means; it has to be there. */
  readonly adopt?: string | undefined;
}): SessionDir {
  const stateDir = resolve(options.stateDir);
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(stateDir, '.gitignore'), ignored);
    const { adopt } = options;
    if (adopt !== undefined && !sessionNames(stateDir).includes(adopt)) {
      throw new ConfigError('invalid_argument', `There is no session ${adopt} in ${stateDir}.`);
    }
    const known = adopt ?? findName(stateDir, options.key);
    const name = known ?? allocate(stateDir, slug(options.name), suffixOf(options.key));
    const dir = join(stateDir, name);
    // From its name, so that an adopted session stays what its children know it as.
    const id = name.slice(-8);
    const paths = { mailboxDir: join(dir, 'mailbox'), ...launchesOf(dir) };
    for (const path of Object.values(paths)) mkdirSync(path, { recursive: true, mode: 0o700 });
    const isNew = Object.values(paths).every((path) => readdirSync(path).length === 0);
    return {
      dir,
      isNew,
      sessionId: `shepherd-session-${id}`,
      brokerId: `shepherd-broker-${id}`,
      storePath: join(dir, 'session.db'),
      ownerFile: join(dir, 'owner.json'),
      notesDir: join(dir, 'notes'),
      ...paths,
    };
  } catch (cause) {
    if (ShepherdError.is(cause)) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MailboxError('disk_error', `Could not make the session in ${stateDir}: ${reason}.`, {
      cause,
      retryable: true,
    });
  }
}

function slug(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-');
  return plain.replaceAll(/^-+|-+$/g, '').slice(0, 48) || 'shepherd';
}

/** mkdir is exclusive: of two sessions that begin at once each gets its own number. */
function allocate(stateDir: string, name: string, suffix: string): string {
  const last = Math.max(0, ...sessionNames(stateDir).map((entry) => Number.parseInt(entry, 10)));
  for (let number = last + 1; ; number += 1) {
    const entry = `${String(number).padStart(4, '0')}-${name}-${suffix}`;
    try {
      mkdirSync(join(stateDir, entry), { mode: 0o700 });
      return entry;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
