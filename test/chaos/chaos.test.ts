/** A short share of `npm run chaos` and `npm run storm`, with fixed seeds. */
import { expect, it } from 'vitest';
import { runChaos } from './run-chaos.ts';
import { judgeStorm, runStorm } from './run-storm.ts';

it('handles each message of every writer once, in its order', async () => {
  const result = await runStorm({ writers: 4, messages: 10 });

  expect(result).toEqual({ handled: 40, lost: 0, doubled: 0, outOfOrder: 0 });
});

it('sees a lost, a doubled and a late message', () => {
  const lines = [0, 2, 1, 1].map((n) => ({
    pid: 1,
    atMs: n,
    kind: 'message',
    from: 'a',
    what: `message ${n}`,
  }));

  const result = judgeStorm(lines, { writers: ['a'], messages: 4 });

  expect(result).toEqual({ handled: 3, lost: 1, doubled: 1, outOfOrder: 1 });
});

it('ends as if nothing had happened, wherever the parent is killed', async () => {
  const troubles: string[] = [];

  // Each scene with a gap comes once with this seed, and its parent dies in the gap.
  const result = await runChaos({
    runs: 4,
    seed: 6,
    modes: ['instants', 'child_death', 'stale_wait', 'closed_agent'],
    onTrouble: (text) => troubles.push(text),
  });

  expect(troubles).toEqual([]);
  expect(result).toMatchObject({ runs: 4, lost: 0, doubled: 0, wrongOutcome: 0 });
  expect(result.points.gap).toBe(4);
}, 180_000);
