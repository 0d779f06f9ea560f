import { describe, expect, it } from 'vitest';
import { createThrashWatch } from '../../src/pi/child/thrash.ts';
import { throttledUntil } from '../../src/pi/child/throttled.ts';

const run = (calls: readonly (readonly [args: unknown, result: unknown])[]) => {
  const watch = createThrashWatch();
  return calls.flatMap(([args, result], index) => {
    watch.started(String(index), { toolName: 'bash', args });
    return watch.ended(String(index), result) ?? [];
  });
};

describe('a child that goes in circles', () => {
  const same = [{ command: 'ls' }, 'a b'] as const;

  it('is told of at the fifth time, and once', () => {
    expect(run(Array.from({ length: 4 }, () => same))).toEqual([]);
    expect(run(Array.from({ length: 12 }, () => same))).toEqual([
      'bash {"command":"ls"}, 5 times in a row with the same result',
    ]);
  });

  it('is none while the result changes, or the arguments do', () => {
    expect(run(Array.from({ length: 9 }, (_, n) => [{ command: 'ls' }, n]))).toEqual([]);
    expect(run(Array.from({ length: 9 }, (_, n) => [{ command: n }, 'a b']))).toEqual([]);
  });

  it('is told of again after it has got out of the first circle', () => {
    const circle = Array.from({ length: 5 }, () => same);
    expect(run([...circle, [{}, 'other'], ...circle])).toHaveLength(2);
  });

  it('is not found by what cannot be written down, nor by an end without a beginning', () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(run([[loop, 1n]])).toEqual([]);
    expect(createThrashWatch().ended('nosuch', 'x')).toBeUndefined();
  });
});

describe('a provider that refuses for now', () => {
  const nowMs = Date.UTC(2024, 0, 1);
  const until = (status: number, after?: string) =>
    throttledUntil({ status, headers: after === undefined ? {} : { 'Retry-After': after } }, nowMs);

  it.each([
    [429, '20', 20_000],
    [503, '0.5', 500],
    [529, new Date(nowMs + 60_000).toUTCString(), 60_000],
    [429, '999999', 3_600_000],
  ])('%i with retry-after %s takes requests again', (status, after, inMs) => {
    expect(until(status, after)).toBe(nowMs + inMs);
  });

  it.each([
    [200, '20'],
    [500, '20'],
    [429, undefined],
    [429, ''],
    [429, 'soon'],
    [429, '-5'],
    [429, '0'],
    [429, new Date(nowMs - 1_000).toUTCString()],
  ])('%i with retry-after %s names no time', (status, after) => {
    expect(until(status, after)).toBeUndefined();
  });
});
