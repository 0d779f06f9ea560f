import { describe, expect, it } from 'vitest';
import { resolveStallPolicy, type StallRecovery } from '../../src/stall/policy.ts';

const given = <T>(value: T) => ({ value, isGiven: true });
const byDefault = <T>(value: T) => ({ value, isGiven: false });

describe('what counts of settings and .devloops', () => {
  it.each<[string, ReturnType<typeof given<StallRecovery>>, boolean | undefined, StallRecovery]>([
    ['our default, where nothing is written', byDefault('notify'), undefined, 'notify'],
    ['true, written there, is auto', byDefault('notify'), true, 'auto'],
    ['false, written there, is off', byDefault('notify'), false, 'off'],
    ['our setting beats true', given('off'), true, 'off'],
    ['our setting beats false', given('auto'), false, 'auto'],
  ])('%s', (_what, recovery, enabled, expected) => {
    const written = enabled === undefined ? {} : { enabled };
    expect(resolveStallPolicy({ recovery, thresholdMs: byDefault(1), written }).recovery).toBe(
      expected,
    );
  });

  it.each([
    [byDefault(300_000), undefined, 300_000],
    [byDefault(300_000), 7, 420_000],
    [given(60_000), 7, 60_000],
  ])('the threshold: %j and %j is %i ms', (thresholdMs, thresholdMinutes, expected) => {
    const written = thresholdMinutes === undefined ? {} : { thresholdMinutes };
    expect(
      resolveStallPolicy({ recovery: byDefault('notify'), thresholdMs, written }).thresholdMs,
    ).toBe(expected);
  });
});
