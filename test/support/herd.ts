/** A whole session on a temp directory: real store, real mailbox, children in the test's process. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { MailboxError } from '../../src/errors.ts';
import {
  createMemoryHost,
  createMemoryWorld,
  type MemoryHost,
  type MemoryWorld,
} from '../../src/hosts/memory.ts';
import { createShepherd, type ShepherdOptions } from '../../src/runtime/create-shepherd.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Change, Notice, RequestView, Shepherd } from '../../src/runtime/shepherd.ts';
import type { Store } from '../../src/runtime/store.ts';
import { startChild, type Answer, type TestChild } from './child.ts';

/** Epoch ms at which every test's wall clock starts. */
export const startMs = Date.UTC(2024, 4, 6);

/** What outlives a parent: the directory, the time, and the places where children run. */
export interface Pasture {
  readonly dir: string;
  readonly world: MemoryWorld;
  nowMs: number;
}

export interface TestHerd {
  readonly shepherd: Shepherd;
  readonly host: MemoryHost;
  readonly pasture: Pasture;
  readonly store: BreakableStore;
  /** Everything the Shepherd was told, in order. */
  readonly notices: readonly Notice[];
  readonly changes: readonly Change[];
  /** Begins a spawn and starts the child, which says nothing yet. */
  launch(agent: string, label: string): { readonly spawned: Promise<unknown>; child: TestChild };
  /** Spawns an agent whose child says hello. */
  hatch(label: string, agent?: string): Promise<TestChild>;
  /** Hands a task to a child and waits until the child has it. */
  delegate(child: TestChild, task?: string, timeoutMs?: number): Promise<string>;
  /** Moves the wall clock and has the parent look at it. */
  advanceTo(atMs: number): void;
  advance(byMs: number): void;
  /** Has the parent look for mail and due timers, as fs.watch does. */
  nudge(): void;
  /** Lets go of the session without ending it, as a parent that dies between two steps. */
  abandon(): void;
  /** Opens the session again in the same pasture; this one has to be let go of first. */
  reopen(options?: HerdOptions): Promise<TestHerd>;
}

export type HerdOptions = Omit<Partial<ShepherdOptions>, 'openStore' | 'wall' | 'signal'> & {
  readonly pasture?: Pasture;
};

/** A store that refuses to keep anything while it is broken, as a full disk does. */
export interface BreakableStore extends Store {
  /** Fails this many commits, by default every one. */
  break(commits?: number): void;
  /** Fails every commit, and every reading of a snapshot. */
  blind(): void;
  mend(): void;
  /** How many commits have been refused. */
  refused(): number;
}

function breakable(store: Store): BreakableStore {
  let left = 0;
  let refused = 0;
  let isBlind = false;
  const lookAt = (): void => {
    if (isBlind) throw new MailboxError('disk_error', 'The test cannot see.', { retryable: true });
  };
  return {
    ...store,
    snapshot(actorId) {
      lookAt();
      return store.snapshot(actorId);
    },
    snapshots() {
      lookAt();
      return store.snapshots();
    },
    commit(commit) {
      if (left <= 0) return store.commit(commit);
      left -= 1;
      refused += 1;
      throw new MailboxError('disk_error', 'The test has no room left.', { retryable: true });
    },
    break(commits = Infinity) {
      left = commits;
    },
    blind() {
      left = Infinity;
      isBlind = true;
    },
    mend() {
      left = 0;
      isBlind = false;
    },
    refused: () => refused,
  };
}

/** Where fsync costs nothing, when there is such a place: these tests prove order, not power cuts. */
const memoryDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

function makePasture(): Pasture {
  const dir = mkdtempSync(join(memoryDisk, 'sheepfold-herd-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return { dir, world: createMemoryWorld(), nowMs: startMs };
}

/** Opens a session; what is left of it is let go of when the test is over. */
export async function openHerd(options: HerdOptions = {}): Promise<TestHerd> {
  const { pasture = makePasture(), ...rest } = options;
  const wall = (): number => pasture.nowMs;
  const host = createMemoryHost({ world: pasture.world, now: wall });
  const notices: Notice[] = [];
  const changes: Change[] = [];
  const letGo = new AbortController();
  const children: TestChild[] = [];
  let store: BreakableStore | undefined;

  const shepherd = await createShepherd({
    cwd: pasture.dir,
    agentDir: join(pasture.dir, 'pi'),
    sessionKey: 'the test',
    host,
    wall,
    signal: letGo.signal,
    openStore: (path, opening) => (store = breakable(openSessionStore(path, opening))),
    makeCommand: ({ identityPath }) => ({
      argv: ['child'],
      env: { SHEEPFOLD_CHILD: identityPath },
    }),
    notify: (notice) => {
      notices.push(notice);
      return Promise.resolve();
    },
    ...rest,
  });
  shepherd.on((change) => changes.push(change));
  onTestFinished(() => {
    for (const child of children) child.leave();
    letGo.abort();
  });

  const herd: TestHerd = {
    shepherd,
    host,
    pasture,
    store: store as BreakableStore,
    notices,
    changes,
    launch(agent, label) {
      const spawned = shepherd.spawn({ agent, label });
      const launch = host.launches.at(-1);
      if (launch === undefined) throw new Error(`${agent}: ${label} was not launched`);
      const child = startChild(launch.env['SHEEPFOLD_CHILD'] ?? '', wall);
      children.push(child);
      return { spawned, child };
    },
    async hatch(label, agent = 'scout') {
      const { spawned, child } = herd.launch(agent, label);
      child.hello();
      await spawned;
      return child;
    },
    async delegate(child, task = 'Count the flock.', timeoutMs) {
      const { taskId } = await shepherd.delegate({ target: child.id, task, timeoutMs });
      await child.receives('task', (envelope) => envelope.taskId === taskId);
      return taskId;
    },
    advanceTo(atMs) {
      pasture.nowMs = atMs;
      herd.nudge();
    },
    advance: (byMs) => herd.advanceTo(pasture.nowMs + byMs),
    nudge() {
      const mailbox = join(shepherd.sessionDir, 'mailbox');
      for (const name of readdirSync(mailbox)) {
        // Names that begin with a dot are no mail; their appearing is a hint all the same.
        writeFileSync(join(mailbox, name, 'outbox', 'new', '.hint'), '');
      }
    },
    abandon: () => letGo.abort(),
    reopen: (more = {}) => openHerd({ ...options, pasture, ...more }),
  };
  return herd;
}

/** Waits until an assertion holds; fails with its error when it never does. */
export function eventually<T>(assertion: () => T): Promise<T> {
  return vi.waitFor(assertion, { interval: 5, timeout: 10_000 });
}

/** The texts of the notices of one kind. */
export function textsOf(herd: TestHerd, kind: Notice['kind']): readonly string[] {
  return herd.notices.filter((notice) => notice.kind === kind).map((notice) => notice.text);
}

export interface Wait {
  readonly herd: TestHerd;
  /** Has the task and has asked `two`. */
  readonly one: TestChild;
  readonly two: TestChild;
  readonly taskId: string;
  readonly question: Answer;
}

/** A herd in which the task of `scout: one` waits for the answer of `scout: two`. */
export async function openWait(options: HerdOptions = {}, timeoutMs?: number): Promise<Wait> {
  const herd = await openHerd(options);
  const one = await herd.hatch('one');
  const two = await herd.hatch('two');
  const taskId = await herd.delegate(one, 'Count the flock.', timeoutMs);
  const question = await one.say(two.id, 'Which gate?', { expectsReply: true });
  return { herd, one, two, taskId, question };
}

/** How a request was last seen; also one that hangs under no task. */
export function requestOf(herd: TestHerd, requestId: string): RequestView | undefined {
  return herd.changes
    .flatMap((change) => (change.type === 'request' ? change.request : []))
    .findLast((request) => request.requestId === requestId);
}
