/** The Shepherd's Pi is killed with SIGKILL while scout waits, and started again. */
import { afterEach, expect, it, vi } from 'vitest';
import { readTold } from '../../src/cli/demo/report.ts';
import { canonical } from '../../src/cli/demo/scenarios/canonical.ts';
import { isAlive, kill, openPiProject } from '../support/pi-project.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

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
    const project = await openPiProject(steps);
    undo.push(() => project.close());

    const first = await project.start(...restart.first);
    await first.request({ type: 'prompt', message: 'go' });
    const { store } = await project.openStore();
    await vi.waitFor(
      () => {
        expect(store.all('task')).toMatchObject([{ state: 'waiting' }]);
        expect(store.all('agent').map(({ state }) => state)).toContain('idle');
      },
      { timeout: 30_000, interval: 50 },
    );
    const pids = store.all('agent').flatMap(({ pid }) => pid ?? []);
    await kill(first);
    expect(pids.map(isAlive)).toEqual([true, true]);
    // Planner answers while nobody is there to route it.
    expect(look?.(store)).toBeUndefined();

    const second = await project.start(...restart.second);
    if (restart.command !== undefined) {
      await second.request({ type: 'prompt', message: restart.command });
    }
    await vi.waitFor(() => expect(store.all('task')).toMatchObject([{ state: 'completed' }]), {
      timeout: 40_000,
      interval: 50,
    });
    await vi.waitFor(
      () => expect(readTold(project.piSessionDir).notifications).toMatchObject([{ count: 1 }]),
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
    expect(readTold(project.piSessionDir).notifications).toMatchObject([
      { status: 'completed', count: 1 },
    ]);
  },
  150_000,
);
