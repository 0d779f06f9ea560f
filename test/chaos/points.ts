/**
 * The instants at which a parent is killed, and how its process comes to pass them.
 *
 * Nothing in `src` knows of them: the calls of `node:fs` and `node:sqlite` that the mailbox and the
 * store make are wrapped in this process, and so are the ports that a session is given.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import type { AgentHost } from '../../src/hosts/host.ts';
import type { Notice } from '../../src/runtime/shepherd.ts';
import type { Store } from '../../src/runtime/store.ts';

const inputs = ['envelope', 'command', 'effect', 'timer'] as const;

/** In the order of an input's way: taken, committed, done outside, confirmed, acked. */
export const points = [
  'claim.before',
  'claim.after',
  // After the handler, before its writes; all written, not kept; kept, no effect begun.
  ...inputs.flatMap((input) => [
    `commit.${input}.before` as const,
    `commit.${input}.within` as const,
    `commit.${input}.after` as const,
  ]),
  // The commit that the steps of a burst share.
  'batch.before',
  'batch.within',
  'batch.after',
  // An effect that is done and not confirmed is `commit.effect.before`.
  'publish.before',
  'publish.written',
  'publish.linked',
  'publish.synced',
  'launch.before',
  'launch.during',
  'launch.after',
  'notify.before',
  'notify.kept',
  'end.before',
  'end.after',
  'ack.before',
  'ack.after',
  // Only a parent that takes up what another one left passes these.
  'adopt.before',
  'adopt.after',
  // Any instant at all: the harness kills from outside.
  'anywhere',
] as const;
export type Point = (typeof points)[number];

export interface Kill {
  readonly point: Point;
  /** Killed at the k-th time this process passes the point; for `anywhere`, after so many ms. */
  readonly k: number;
}

export type Passed = Partial<Record<Point, number>>;

export interface Path {
  /** How often each point was passed by this process. */
  readonly passed: Passed;
  store(store: Store): Store;
  host(host: AgentHost): AgentHost;
  notify(keep: (notice: Notice) => void): (notice: Notice) => Promise<void>;
}

/** How long after the begin of a launch `launch.during` is. */
const intoLaunchMs = 60;

/** Wraps this process's calls; it dies at the instant `kill` names, if it gets there. */
export function layPath(kill: Kill | undefined): Path {
  const passed: Passed = {};

  function pass(point: Point): void {
    const times = (passed[point] ?? 0) + 1;
    passed[point] = times;
    if (kill?.point === point && kill.k === times) process.kill(process.pid, 'SIGKILL');
  }

  let input: (typeof inputs)[number] | undefined;
  wrapFiles(pass);
  let isShared = false;
  wrapTransactions(() => {
    if (input !== undefined) pass(`commit.${input}.within`);
    else if (isShared) pass('batch.within');
  });

  return {
    passed,
    store: (store) => ({
      ...store,
      commit(commit) {
        input = inputs.find((name) => commit.journal.input.startsWith(name));
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
    }),
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

/** Envelopes of the parent: claims and acks in outboxes, publishes in inboxes. */
function wrapFiles(pass: (point: Point) => void): void {
  const { renameSync, openSync, linkSync, fsyncSync } = fs;
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
  syncBuiltinESMExports();
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
