/**
 * A real disk that fails under a real session: what a commit, and the opening before it, make of it.
 *
 * Each error is the kernel's own, by the way that also a user meets it; where that needs a mount, the
 * parent gets one of its own. Mail lies elsewhere: what happens there is pinned in `test/mailbox`.
 * An open session holds its three files, so three of the errors meet it at its opening only: nobody
 * can remount or forbid what is open for writing, and a commit opens nothing. That too is pinned.
 * Put into a running commit by strace, at pwrite64 and at fdatasync, all five read as this EIO does,
 * ENOSPC at pwrite64 as this ENOSPC.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Commit } from '../../src/runtime/store.ts';
import { startChild, type TestChild } from '../support/child.ts';
import type { DiskParentAnswer, DiskParentArgs, DiskParentCalls } from '../support/disk-parent.ts';
import { eventually, openHerd, textsOf } from '../support/herd.ts';

const parentPath = fileURLToPath(new URL('../support/disk-parent.ts', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** Root to which modes apply: it still owns what this process writes, and may read it. */
const withoutPrivilege = ['setpriv', '--bounding-set=-dac_override,-dac_read_search'];

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8' });

const canRun = (command = '', ...args: string[]): boolean => spawnSync(command, args).status === 0;

/** How this machine gives a process a mount of its own. */
const ownMounts = [['-m'], ['-rm']].find((flags) =>
  canRun('unshare', ...flags, 'sh', '-c', 'mount -t tmpfs none "$1"', 'sh', tmpdir()),
);

/** Why this machine cannot have a disk of a kind; false: it can. */
const needsMount =
  ownMounts === undefined && 'needs the right to mount a tmpfs, or user namespaces';
const needsPlain =
  isRoot &&
  !canRun(...withoutPrivilege, 'true') &&
  'needs setpriv (util-linux) and CAP_SETPCAP, since this is root';
const needsLimits =
  !canRun('prlimit', '--version') && 'needs prlimit (util-linux), which Linux has';

type Parent = {
  readonly [Name in keyof DiskParentCalls]: (
    ...args: Parameters<DiskParentCalls[Name]>
  ) => Promise<Awaited<ReturnType<DiskParentCalls[Name]>>>;
} & {
  readonly pid: number;
  /** The directory of `session.db`, as the test sees it. */
  readonly disk: string;
  /** Runs a command where the parent's mounts are. */
  readonly runThere: (...command: string[]) => unknown;
  hatch(label: string): Promise<TestChild>;
};

interface ParentOptions {
  /** A tmpfs of this size, mounted for the parent alone. */
  readonly mountKiB?: number;
  /** Whether the modes of files have to count: they do not for root. */
  readonly isPlain?: boolean;
}

async function startParent({ mountKiB, isPlain = false }: ParentOptions = {}): Promise<Parent> {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-disk-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const disk = join(dir, 'disk');
  mkdirSync(disk);
  const args: DiskParentArgs = { dir, storePath: join(disk, 'session.db') };
  const node = [
    ...(isPlain && isRoot ? withoutPrivilege : []),
    process.execPath,
    parentPath,
    JSON.stringify(args),
  ];
  const mount = `mount -t tmpfs -o size=${mountKiB}k,mode=700 none "$1" && shift && exec "$@"`;
  const [file = '', ...rest] =
    mountKiB === undefined
      ? node
      : ['unshare', ...(ownMounts ?? []), 'sh', '-c', mount, 'sh', disk, ...node];
  const child = spawn(file, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const pid = child.pid ?? 0;

  const waiting = new Map<number, (answer: DiskParentAnswer) => void>();
  const gone = new Promise<never>((_resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The parent has ended (${code}).`)));
  });
  gone.catch(() => undefined);
  const answerTo = (id: number) =>
    Promise.race([
      gone,
      new Promise<DiskParentAnswer>((resolve) => {
        waiting.set(id, resolve);
      }),
    ]);
  child.on('message', (answer) => {
    const { id } = answer as DiskParentAnswer;
    waiting.get(id)?.(answer as DiskParentAnswer);
  });
  await answerTo(0);

  let calls = 0;
  const tell =
    (name: string) =>
    async (...said: unknown[]): Promise<never> => {
      const id = (calls += 1);
      const answered = answerTo(id);
      child.send({ id, name, args: said });
      const { value, error } = await answered;
      if (error !== undefined) throw Object.assign(new Error(error.message), error);
      return value as never;
    };
  const enter = ['-t', String(pid), '-m', ...(ownMounts?.includes('-rm') ? ['-U'] : [])];
  const parent: Parent = {
    pid,
    disk: mountKiB === undefined ? disk : join('/proc', String(pid), 'root', disk),
    runThere: (...command) => run('nsenter', ...enter, '--preserve-credentials', ...command),
    open: tell('open'),
    letGo: tell('letGo'),
    spawn: tell('spawn'),
    delegate: tell('delegate'),
    watch: tell('watch'),
    look: tell('look'),
    kept: tell('kept'),
    async hatch(label) {
      const one = startChild(await parent.spawn(label), Date.now);
      onTestFinished(() => one.leave());
      one.hello();
      await eventually(async () =>
        expect((await parent.look()).agents).toContainEqual(
          expect.objectContaining({ id: one.id, state: 'idle' }),
        ),
      );
      return one;
    },
  };
  return parent;
}

const bareHard = ['--noheadings', '--raw', '--output=HARD'];

/** Sets soft limits of a running process; `undefined` takes them back. */
function limit(pid: number, resource: 'fsize' | 'nofile', value: number | undefined): void {
  const hard = run('prlimit', '--pid', String(pid), `--${resource}`, ...bareHard);
  const soft = value === undefined ? hard.trim() : String(value);
  run('prlimit', '--pid', String(pid), `--${resource}=${soft}:`);
}

const tasksOf = (child: TestChild): readonly string[] =>
  child.received.flatMap((envelope) => (envelope.kind === 'task' ? [envelope.taskId] : []));

/** What is right after any trouble: the same call succeeds, and mail that waited counts once. */
async function expectWell(parent: Parent, one: TestChild, said: Promise<unknown>): Promise<void> {
  expect(await said).toMatchObject({ ok: true });
  const taskId = await parent.delegate(one.id, 'Count the flock.');
  await eventually(() => expect(tasksOf(one)).toEqual([taskId]));
  expect(await one.done('completed', { summary: 'Seven.' })).toMatchObject({ ok: true });

  const { tasks, told } = await parent.look();

  expect(tasks).toMatchObject([{ id: taskId, state: 'completed' }]);
  expect(told.filter((text) => text.includes('It rains.'))).toHaveLength(1);
  await parent.letGo();
  expect(JSON.stringify(await parent.kept())).toContain('"summary":"Seven."');
  await parent.open();
  expect(await parent.look()).toMatchObject({ tasks, told });
}

interface Illness {
  readonly errno: string;
  readonly name: string;
  /** What the caller reads: what happened, and what helps. */
  readonly says: RegExp;
  readonly parent?: ParentOptions;
  /** Why this machine cannot have it; false: it can. */
  readonly missing: string | false;
  readonly fall: (parent: Parent) => unknown;
  readonly mend: (parent: Parent) => unknown;
}

const whileOpen: readonly Illness[] = [
  {
    errno: 'ENOSPC',
    name: 'a disk without room',
    says: /^Could not commit to .*session\.db \(database or disk is full\): free some space/,
    parent: { mountKiB: 1_024 },
    missing: needsMount,
    fall({ disk }) {
      const filler = join(disk, 'filler');
      expect(() => writeFileSync(filler, Buffer.alloc(4 << 20))).toThrow(/ENOSPC/);
    },
    mend: ({ disk }) => rmSync(join(disk, 'filler')),
  },
  {
    // The kernel's word is EFBIG; to SQLite any failed write but ENOSPC is an I/O error.
    errno: 'EIO',
    name: 'a file that takes no more bytes',
    says: /^Could not commit to .*session\.db \(disk I\/O error\): its disk failed/,
    missing: needsLimits,
    fall({ pid, disk }) {
      limit(pid, 'fsize', statSync(join(disk, 'session.db-wal')).size);
    },
    mend: ({ pid }) => limit(pid, 'fsize', undefined),
  },
];

/** An open session holds what it needs, so these meet it when it is opened: at its first commit. */
const whileClosed: readonly Illness[] = [
  {
    errno: 'EROFS',
    name: 'a disk that was mounted read-only',
    says: /session\.db .*EROFS.*: make its disk and the file writable/,
    parent: { mountKiB: 1_024 },
    missing: needsMount,
    fall: (parent) => remount(parent, 'ro'),
    mend: (parent) => remount(parent, 'rw'),
  },
  {
    errno: 'EACCES',
    name: 'a directory that this user may not enter',
    says: /^Could not open .*session\.db \(unable to open database file\): see that .* this user may write/,
    parent: { isPlain: true },
    missing: needsPlain,
    fall: ({ disk }) => chmodSync(disk, 0o000),
    mend: ({ disk }) => chmodSync(disk, 0o700),
  },
  {
    // Two are left, for the file and its log; a third is what every session needs.
    errno: 'EMFILE',
    name: 'a process without descriptors',
    says: /^Could not open .*session\.db \(unable to open database file\): see that .* files are open/,
    missing: needsLimits,
    fall: ({ pid }) => leaveDescriptors(pid, 2),
    mend: ({ pid }) => limit(pid, 'nofile', undefined),
  },
];

/** The kernel refuses this (EBUSY) while a file on the disk is open for writing. */
function remount({ disk, runThere }: Parent, mode: 'ro' | 'rw'): void {
  const pathThere = disk.replace(/^\/proc\/\d+\/root/, '');
  runThere('mount', '-t', 'tmpfs', '-o', `remount,${mode}`, 'none', pathThere);
}

/** The descriptors that a process has open now. */
const openIn = (pid: number): readonly number[] => readdirSync(`/proc/${pid}/fd`).map(Number);

/** Has a process be able to open this many files more. */
function leaveDescriptors(pid: number, count: number): void {
  const used = new Set(openIn(pid));
  let next = 0;
  for (let left = count; left > 0 || used.has(next); next += 1) if (!used.has(next)) left -= 1;
  limit(pid, 'nofile', next);
}

const diskError = (says: RegExp) => ({
  isTyped: true,
  code: 'disk_error',
  retryable: true,
  message: expect.stringMatching(says) as string,
});

describe('a commit', () => {
  it.for(whileOpen)(
    'to $name ($errno) is refused, changes nothing, and works when that is mended',
    async ({ says, parent: options, missing, fall, mend }, { skip }) => {
      if (missing !== false) skip(missing);
      const parent = await startParent(options);
      await parent.open();
      const one = await parent.hatch('one');
      const before = { seen: await parent.look(), kept: await parent.kept() };

      fall(parent);
      const said = one.say(SHEPHERD_ID, 'It rains.');
      for (let times = 0; times < 3; times += 1) {
        await expect(parent.delegate(one.id, 'Count the flock.')).rejects.toMatchObject(
          diskError(says),
        );
      }

      expect(await parent.look()).toEqual(before.seen);
      expect(await parent.kept()).toEqual(before.kept);
      expect(tasksOf(one)).toEqual([]);
      mend(parent);
      await expectWell(parent, one, said);
    },
  );
});

describe('a session on disk', () => {
  it.for(whileClosed)(
    'is not opened on $name ($errno), stays as it is, and opens when that is mended',
    async ({ says, parent: options, missing, fall, mend }, { skip }) => {
      if (missing !== false) skip(missing);
      const parent = await startParent(options);
      await parent.open();
      const one = await parent.hatch('one');
      await parent.letGo();
      const before = await parent.kept();

      fall(parent);
      const said = one.say(SHEPHERD_ID, 'It rains.');
      for (let times = 0; times < 3; times += 1) {
        await expect(parent.open()).rejects.toMatchObject(diskError(says));
      }
      mend(parent);

      expect(await parent.kept()).toEqual(before);
      await parent.open();
      await expectWell(parent, one, said);
    },
  );

  it('that is open needs neither a descriptor nor its directory for a commit', async ({ skip }) => {
    const missing = needsLimits === false ? needsPlain : needsLimits;
    if (missing !== false) skip(missing);
    const parent = await startParent({ isPlain: true });
    await parent.open();
    const one = await parent.hatch('one');
    const taskId = await parent.delegate(one.id, 'Count the flock.');
    chmodSync(parent.disk, 0o000);
    leaveDescriptors(parent.pid, 0);

    await parent.watch(taskId);

    chmodSync(parent.disk, 0o700);
    limit(parent.pid, 'nofile', undefined);
    expect(JSON.stringify(await parent.kept())).toContain('"command watch"');
  });
});

/** A store in this process, beside a connection that can set it traps. */
function openTrapped() {
  const path = join(mkdtempSync(join(tmpdir(), 'sheepfold-disk-')), 'session.db');
  onTestFinished(() => rmSync(dirname(path), { recursive: true, force: true }));
  const store = openSessionStore(path);
  onTestFinished(() => store.close());
  const other = new DatabaseSync(path);
  onTestFinished(() => other.close());
  return { store, other };
}

const commitOf = (actorId: string): Commit => ({
  puts: [],
  deletes: [],
  snapshots: new Map([[actorId, { value: 'idle' }]]),
  journal: { atMs: 0, input: actorId, actors: [], moves: [] },
});

describe('a store', () => {
  it('keeps no step alone when a failed one has ended the transaction they shared (ST1)', () => {
    const { store, other } = openTrapped();
    // As an I/O error does that meets SQLite before the commit: a long burst spills its cache.
    other.exec(`CREATE TRIGGER trap BEFORE INSERT ON snapshot WHEN NEW.actor = 'second'
      BEGIN SELECT RAISE(ROLLBACK, 'the disk has gone'); END`);
    const thrown = expect.objectContaining({ code: 'disk_error' }) as unknown;

    expect(() =>
      store.transaction(() => {
        store.commit(commitOf('first'));
        expect(() => store.commit(commitOf('second'))).toThrow(thrown);
        expect(() => store.commit(commitOf('third'))).toThrow(thrown);
      }),
    ).toThrow(thrown);

    expect(store.snapshots()).toEqual([]);
    store.transaction(() => store.commit(commitOf('fourth')));
    expect(store.snapshots().map(([id]) => id)).toEqual(['fourth']);
  });

  it('says that it cannot be read, as that it cannot be written', () => {
    const { store, other } = openTrapped();
    other.exec('DROP TABLE snapshot; DROP TABLE record; DROP TABLE journal');
    const thrown = expect.objectContaining({
      code: 'disk_error',
      message: expect.stringMatching(/^Could not read .*session\.db/) as string,
    }) as unknown;

    expect(() => store.snapshot('session')).toThrow(thrown);
    expect(() => store.all('task')).toThrow(thrown);
    expect(() => store.journal({ after: 0, limit: 1 })).toThrow(thrown);
  });
});

describe('a file that cannot be read', () => {
  it('stops nobody: mail waits, and counts once when it can be read again', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const other = new DatabaseSync(join(herd.shepherd.sessionDir, 'session.db'));
    onTestFinished(() => other.close());
    const delegate = () => herd.shepherd.delegate({ target: one.id, task: 'Count the flock.' });

    other.exec('ALTER TABLE record RENAME TO hidden');
    const said = one.say(SHEPHERD_ID, 'It rains.');
    const taken = join(one.identity.boxesDir, 'outbox', 'cur');
    await eventually(() => expect(readdirSync(taken)).toHaveLength(1));
    await expect(delegate()).rejects.toMatchObject({
      code: 'disk_error',
      retryable: true,
      message: expect.stringMatching(/^Could not read .*session\.db/) as string,
    });
    other.exec('ALTER TABLE hidden RENAME TO record');

    const { taskId } = await delegate();
    expect(await said).toMatchObject({ ok: true });
    await eventually(() => expect(tasksOf(one)).toEqual([taskId]));
    expect(textsOf(herd, 'shepherd.message.incoming')).toHaveLength(1);
  });
});
