/**
 * A parent process whose `session.db` lies on a disk that the test makes ill.
 *
 * The runtime and the file are real, places are of memory. It does what the test tells it over IPC;
 * its children live in the test, and its mail lies on a disk that stays well.
 */
import { createMemoryHost, createMemoryWorld } from '../../src/hosts/memory.ts';
import { createShepherd } from '../../src/runtime/create-shepherd.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { AgentStatus, Notice, Shepherd, TaskStatus } from '../../src/runtime/shepherd.ts';
import { ShepherdError } from '../../src/errors.ts';

export interface DiskParentArgs {
  /** Where everything else lies. */
  readonly dir: string;
  readonly storePath: string;
}

/** What the parent can be told to do. */
export interface DiskParentCalls {
  /** Opens the session, or opens it again. */
  open(): Promise<void>;
  letGo(): void;
  /** Begins a spawn; returns the child's identity file. */
  spawn(label: string): string;
  delegate(target: string, task: string): Promise<string>;
  watch(taskId: string): void;
  /** What the session is for those who look at it, and what they were told. */
  look(): {
    readonly agents: readonly AgentStatus[];
    readonly tasks: readonly TaskStatus[];
    readonly told: readonly string[];
  };
  /** What lies in the file: committed steps. */
  kept(): readonly unknown[];
}

export interface DiskParentCall {
  readonly id: number;
  readonly name: keyof DiskParentCalls;
  readonly args: readonly unknown[];
}

export interface DiskParentAnswer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: {
    readonly isTyped: boolean;
    readonly code?: string;
    readonly retryable?: boolean;
    readonly message: string;
  };
}

const { dir, storePath } = JSON.parse(process.argv[2] ?? '{}') as DiskParentArgs;
const world = createMemoryWorld();
const told: Notice[] = [];
let host = createMemoryHost({ world });
let letGo = new AbortController();
let shepherd: Shepherd | undefined;

function opened(): Shepherd {
  if (shepherd === undefined) throw new Error('The session is not open.');
  return shepherd;
}

const calls: DiskParentCalls = {
  async open() {
    host = createMemoryHost({ world });
    letGo = new AbortController();
    shepherd = await createShepherd({
      cwd: dir,
      agentDir: `${dir}/pi`,
      sessionKey: 'the test',
      host,
      signal: letGo.signal,
      openStore: () => openSessionStore(storePath),
      makeCommand: ({ identityPath }) => ({
        argv: ['child'],
        env: { SHEEPFOLD_CHILD: identityPath },
      }),
      notify(notice) {
        told.push(notice);
        return Promise.resolve();
      },
    });
  },
  letGo() {
    letGo.abort();
    shepherd = undefined;
  },
  spawn(label) {
    opened()
      .spawn({ agent: 'scout', label })
      .catch(() => undefined);
    return host.launches.at(-1)?.env['SHEEPFOLD_CHILD'] ?? '';
  },
  async delegate(target, task) {
    return (await opened().delegate({ target, task })).taskId;
  },
  watch(taskId) {
    opened().watch(taskId);
  },
  look: () => ({
    agents: opened().agents(),
    tasks: opened().tasks(),
    told: told.map(({ text }) => text),
  }),
  kept() {
    const store = openSessionStore(storePath, { readOnly: true });
    try {
      const rows = store.journal({ after: 0, limit: 1_000 });
      return [...store.all('task'), ...store.snapshots(), ...rows];
    } finally {
      store.close();
    }
  },
};

async function answer({ id, name, args }: DiskParentCall): Promise<DiskParentAnswer> {
  try {
    const call = calls[name] as (...all: readonly unknown[]) => unknown;
    return { id, value: await call(...args) };
  } catch (error) {
    if (!ShepherdError.is(error)) return { id, error: { isTyped: false, message: String(error) } };
    const { code, retryable, message } = error;
    return { id, error: { isTyped: true, code, retryable, message } };
  }
}

process.on('message', (call) => {
  void answer(call as DiskParentCall).then((said) => process.send?.(said));
});
process.on('disconnect', () => process.exit());
process.send?.({ id: 0 } satisfies DiskParentAnswer);
