/** The Shepherd's Pi is killed with SIGKILL while scout waits, and started again. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { readTold } from '../../src/cli/demo/report.ts';
import { canonical } from '../../src/cli/demo/scenarios/canonical.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Store } from '../../src/runtime/store.ts';
import { BARE_FLAGS, makeIsolatedPi, type IsolatedPi } from '../support/isolated-pi.ts';
import { roleOf } from '../support/pi-children.ts';
import { startPiRpc } from '../support/pi-rpc.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** The one session below the project, read from outside. */
async function openStore({ workDir }: IsolatedPi): Promise<Store> {
  const stateDir = join(workDir, '.shepherd', 'sessions');
  const store = await vi.waitFor(async () => {
    const dir = (await readdir(stateDir)).find((name) => /^\d{4}-/.test(name));
    return openSessionStore(join(stateDir, dir ?? 'none yet', 'session.db'), { readOnly: true });
  }, 20_000);
  undo.push(() => Promise.resolve(store.close()));
  return store;
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

interface Restart {
  /** Beside the flags that every start has. */
  readonly first: readonly string[];
  readonly second: readonly string[];
  /** Typed into the second Pi before anything else. */
  readonly command?: string;
}

const restarts: readonly (readonly [string, Restart])[] = [
  ['the same Pi session', { first: [], second: ['-c'] }],
  [
    'another Pi session, which is asked to adopt it',
    { first: [], second: [], command: '/shepherd adopt 0001' },
  ],
  [
    'another Pi session by itself, when the first one had no file',
    { first: ['--no-session'], second: [] },
  ],
];

it.each(restarts)(
  'goes on in %s, and tells the outcome once',
  async (_name, restart) => {
    const { steps, look } = canonical.cast();
    const model = await startScriptedModel({ steps, route: ({ system }) => roleOf(system) });
    undo.push(() => model.close());
    const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['m'] });
    undo.push(() => isolated.remove());
    const piSessionDir = join(isolated.home, 'shepherd-session');
    const start = (args: readonly string[]) =>
      startPiRpc({
        pi: resolvePi(),
        isolated,
        args: ['--session-dir', piSessionDir, ...BARE_FLAGS, '-e', packageInfo().dir, ...args],
      });

    const first = await start(restart.first);
    undo.push(() => first.close());
    await first.request({ type: 'prompt', message: 'go' });
    const store = await openStore(isolated);
    await vi.waitFor(
      () => {
        expect(store.all('task')).toMatchObject([{ state: 'waiting' }]);
        expect(store.all('agent').map(({ state }) => state)).toContain('idle');
      },
      { timeout: 30_000, interval: 50 },
    );
    const pids = store.all('agent').flatMap(({ pid }) => pid ?? []);
    process.kill(first.pid, 'SIGKILL');
    await vi.waitFor(() => expect(isAlive(first.pid)).toBe(false), 10_000);
    expect(pids.map(isAlive)).toEqual([true, true]);
    // Planner answers while nobody is there to route it.
    expect(look?.(store)).toBeUndefined();

    const second = await start(restart.second);
    undo.push(() => second.close(20_000));
    if (restart.command !== undefined) {
      await second.request({ type: 'prompt', message: restart.command });
    }
    await vi.waitFor(() => expect(store.all('task')).toMatchObject([{ state: 'completed' }]), {
      timeout: 40_000,
      interval: 50,
    });
    await vi.waitFor(
      () => expect(readTold(piSessionDir).notifications).toMatchObject([{ count: 1 }]),
      {
        timeout: 20_000,
        interval: 50,
      },
    );

    expect(store.all('task')[0]?.states.map(({ state }) => state)).toEqual([
      'created',
      'running',
      'waiting',
      'running',
      'completed',
    ]);
    await second.close(20_000);
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(readTold(piSessionDir).notifications).toMatchObject([{ status: 'completed', count: 1 }]);
  },
  150_000,
);
