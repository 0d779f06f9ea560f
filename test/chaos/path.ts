/**
 * How a parent's process comes to pass the points, and dies at one.
 *
 * Nothing in `src` knows of them: the calls of Node that the mailbox, the store and the hosts make are
 * wrapped in this process, and so are the ports that a session is given.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import type { AgentHost } from '../../src/hosts/host.ts';
import type { OwnerState } from '../../src/runtime/session-owner.ts';
import type { Notice } from '../../src/runtime/shepherd.ts';
import type { Store } from '../../src/runtime/store.ts';
import { gap, inputs, type Input, type Kill, type Passed, type Point } from './points.ts';

export interface Path {
  /** How often each point was passed by this process. */
  readonly passed: Passed;
  store(store: Store): Store;
  host(host: AgentHost): AgentHost;
  notify(keep: (notice: Notice) => void): (notice: Notice) => Promise<void>;
  /** All is ready for what is to happen while the parent is dead. */
  gap(): void;
}

type Pass = (point: Point) => void;

/** How long after the begin of a launch `launch.during` is. */
const intoLaunchMs = 60;

/** What a swap of the owner is called by the state that it brings. */
const swaps = { held: 'take', parked: 'park', released: 'close' } as const satisfies Record<
  OwnerState,
  string
>;

/** Wraps this process's calls; it dies at the instant `kill` names, if it gets there. */
export function layPath(kill: Kill | undefined): Path {
  const passed: Passed = {};

  function pass(point: Point): void {
    const times = (passed[point] ?? 0) + 1;
    passed[point] = times;
    if (kill?.point === point && kill.k === times) process.kill(process.pid, 'SIGKILL');
  }

  let input: Input | undefined;
  wrapMail(pass);
  wrapPlaces(pass);
  wrapOwner(pass);
  syncBuiltinESMExports();
  let isShared = false;
  wrapTransactions(() => {
    if (input !== undefined) pass(`commit.${input}.within`);
    else if (isShared) pass('batch.within');
  });

  return {
    passed,
    gap: () => pass(gap),
    store(store) {
      pass('open.store');
      return {
        ...store,
        commit(commit) {
          input = inputOf(commit.journal.input);
          if (input !== undefined) pass(`commit.${input}.before`);
          store.commit(commit);
          if (input !== undefined) pass(`commit.${input}.after`);
          input = undefined;
        },
        transaction(work) {
          pass('batch.before');
          isShared = true;
          store.transaction(work);
          isShared = false;
          pass('batch.after');
        },
        swapOwner(expected, next) {
          pass(`${swaps[next.state]}.before`);
          const isMine = store.swapOwner(expected, next);
          pass(`${swaps[next.state]}.after`);
          return isMine;
        },
      };
    },
    host: (host) => ({
      ...host,
      async open(launch, signal) {
        pass('launch.before');
        const into = setTimeout(() => pass('launch.during'), intoLaunchMs);
        const place = await host.open(launch, signal).finally(() => clearTimeout(into));
        pass('launch.after');
        return place;
      },
      async close(ref, options) {
        pass('end.before');
        const outcome = await host.close(ref, options);
        pass('end.after');
        return outcome;
      },
      async adopt(ref) {
        pass('adopt.before');
        const found = await host.adopt(ref);
        pass('adopt.after');
        return found;
      },
    }),
    notify: (keep) => (notice) => {
      pass('notify.before');
      keep(notice);
      pass('notify.kept');
      return Promise.resolve();
    },
  };
}

function inputOf(text: string): Input | undefined {
  const names = Object.keys(inputs) as Input[];
  return names.find((name) => text.startsWith(inputs[name]));
}

/** Envelopes of the parent: claims and acks in outboxes, publishes in inboxes; boxes that go. */
function wrapMail(pass: Pass): void {
  const { renameSync, openSync, linkSync, fsyncSync, rmSync } = fs;
  const publishing = new Set<number>();

  fs.renameSync = (from, to) => {
    const step = /\/outbox\/new\//.test(String(from))
      ? 'claim'
      : /\/outbox\/cur\//.test(String(from))
        ? 'ack'
        : undefined;
    if (step !== undefined) pass(`${step}.before`);
    renameSync(from, to);
    if (step !== undefined) pass(`${step}.after`);
    if (String(to).endsWith('/identity.json')) pass('launch.identity');
  };
  fs.openSync = (path, ...rest) => {
    const isPublish = /\/inbox\/tmp\//.test(String(path));
    if (isPublish) pass('publish.before');
    const fd = openSync(path, ...rest);
    if (isPublish) publishing.add(fd);
    return fd;
  };
  fs.linkSync = (from, to) => {
    const isPublish = /\/inbox\/new\//.test(String(to));
    if (isPublish) pass('publish.written');
    linkSync(from, to);
    if (isPublish) pass('publish.linked');
  };
  fs.fsyncSync = (fd) => {
    fsyncSync(fd);
    if (publishing.delete(fd)) pass('publish.synced');
  };
  fs.rmSync = (path, ...rest) => {
    const isMail = /\/mailbox\/[^/]+$/.test(String(path));
    if (isMail) pass('remove.before');
    rmSync(path, ...rest);
    if (isMail) pass('remove.within');
  };
}

/** What a session and a launch make on the disk, and the process that a launch starts. */
function wrapPlaces(pass: Pass): void {
  const { mkdirSync, writeFileSync } = fs;
  const { rename } = fs.promises;
  const { spawn } = childProcess;

  const isMade: readonly (readonly [RegExp, Point])[] = [
    [/\/sessions\/\d{4,}-[^/]+$/, 'open.dir'],
    [/\/launch\/[^/]+\/session$/, 'launch.dir'],
    // The last of an incarnation's boxes.
    [/\/outbox\/dead$/, 'launch.boxes'],
  ];
  fs.mkdirSync = ((path: fs.PathLike, options?: fs.MakeDirectoryOptions) => {
    const made = mkdirSync(path, options);
    for (const [place, point] of isMade) if (place.test(String(path))) pass(point);
    return made;
  }) as typeof fs.mkdirSync;
  fs.writeFileSync = (path, ...rest) => {
    writeFileSync(path, ...rest);
    if (String(path).endsWith('/prompt.md')) pass('launch.prompt');
  };
  fs.promises.rename = async (from, to) => {
    const isOwner = String(to).endsWith('/owner.json');
    if (isOwner) pass('owner.written');
    await rename(from, to);
    if (isOwner) pass('owner.after');
    if (String(to).endsWith('/spec.json')) pass('launch.spec');
  };
  childProcess.spawn = ((...args: Parameters<typeof spawn>) => {
    const spawned = spawn(...args);
    pass('launch.spawned');
    return spawned;
  }) as typeof spawn;
}

/** Who owns the session, as its children's runners read it. */
function wrapOwner(pass: Pass): void {
  const { writeFile } = fs.promises;
  fs.promises.writeFile = (file, ...rest) => {
    if (typeof file === 'string' && /\/owner\.json\..*\.tmp$/.test(file)) pass('owner.before');
    return writeFile(file, ...rest);
  };
}

/** What keeps a step, alone or within a shared transaction. */
function wrapTransactions(beforeKeeping: () => void): void {
  // eslint-disable-next-line typescript/unbound-method -- called with its own `this` below
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function execWatched(sql) {
    if (sql === 'COMMIT' || sql.startsWith('RELEASE')) beforeKeeping();
    exec.call(this, sql);
  };
}
