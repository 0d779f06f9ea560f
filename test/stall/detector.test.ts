import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  buildAgentStallRecoveryBrief,
  detectAgentStall,
  resolveAgentStallThresholdMs,
  type StallInput,
  type StallVerdict,
} from '../../src/stall/index.ts';

interface Vectors {
  readonly now: number;
  readonly detector: readonly {
    readonly id: string;
    readonly input: StallInput;
    readonly expect: Partial<StallVerdict>;
  }[];
  readonly thresholdResolver: readonly { readonly input: unknown; readonly expectMs: number }[];
}

const vectors = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
) as Vectors;

const minute = 60_000;
const nowMs = vectors.now;
/** Silent for six minutes, with a threshold of five. */
const silent: StallInput = { now: nowMs, lastActivityAt: nowMs - 6 * minute };

/** JSON has no `undefined`: the file writes `{ "undefined": true }` for it. */
function inputOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'undefined' in value ? undefined : value;
}

describe('the vectors', () => {
  it('are all there', () => {
    expect([vectors.detector.length, vectors.thresholdResolver.length]).toEqual([32, 18]);
  });

  it.each(vectors.detector.map((vector) => [vector.id, vector] as const))(
    '%s',
    (_id, { input, expect: expected }) => {
      const verdict = detectAgentStall({ now: nowMs, ...input });

      expect(JSON.parse(JSON.stringify(verdict))).toMatchObject(expected);
    },
  );

  it.each(vectors.thresholdResolver.map(({ input, expectMs }) => [inputOf(input), expectMs]))(
    'a threshold of %s minutes is %i ms',
    (input, expectMs) => {
      expect(resolveAgentStallThresholdMs(input)).toBe(expectMs);
    },
  );
});

describe('evidence beyond the old inputs', () => {
  it.each<[string, StallInput, string]>([
    ['a run that has ended', { runState: 'complete' }, 'not_stalled run_not_active'],
    ['a paused run', { runState: 'paused' }, 'not_stalled run_not_active'],
    ['a running run', { runState: 'running' }, 'stalled below_threshold'],
    ['a tool that reports', { toolActivityAt: nowMs - minute }, 'not_stalled tool_running'],
    ['a silent tool', { toolActivityAt: nowMs - 6 * minute }, 'stalled below_threshold'],
    ['an awaited person', { awaitsHuman: true }, 'not_stalled awaits_human'],
    ['a provider that is back later', { throttledUntil: nowMs + 1 }, 'not_stalled throttled'],
    ['a provider that should be back', { throttledUntil: nowMs }, 'stalled below_threshold'],
    ['a host that slept', { hostWasAway: true }, 'no_evidence host_away'],
    [
      'a heartbeat of this run',
      { sanctionedWatchAt: nowMs, runId: 'a', watchRunId: 'a' },
      'not_stalled sanctioned_watch',
    ],
    [
      'a heartbeat of another run',
      { sanctionedWatchAt: nowMs, runId: 'a', watchRunId: 'b' },
      'stalled below_threshold',
    ],
  ])('%s', (_what, evidence, expected) => {
    const { status, reason } = detectAgentStall({ ...silent, ...evidence });

    expect(`${status} ${reason}`).toBe(expected);
  });

  it('never makes a stall of what is none', () => {
    const fresh: StallInput = { now: nowMs, lastActivityAt: nowMs };
    const evidence: StallInput = { runState: 'complete', hostWasAway: true };

    expect(detectAgentStall({ ...fresh, ...evidence })).toEqual(detectAgentStall(fresh));
  });
});

it('judges by the system clock, without any input too', () => {
  expect(detectAgentStall()).toMatchObject({ status: 'no_evidence', reason: 'no_signal' });
  expect(detectAgentStall({ lastActivityAt: new Date() })).toMatchObject({ status: 'not_stalled' });
});

describe('the recovery brief', () => {
  it('names run, worktree, last action and reason', () => {
    const brief = buildAgentStallRecoveryBrief({
      runId: ' run-1 ',
      cwd: '/w/tree',
      lastAction: 'ran the tests',
      reason: 'silent for 6 min',
    });

    expect(brief).toMatchObject({ runId: 'run-1', cwd: '/w/tree', lastAction: 'ran the tests' });
    for (const part of ['Recovery dispatch', 'run-1', '/w/tree', 'ran the tests', 'silent for 6']) {
      expect(brief.brief).toContain(part);
    }
  });

  it.each([undefined, {}, { runId: '', cwd: 7, lastAction: ' ' }])(
    'has a phrase for what is missing: %j',
    (input) => {
      const { runId, cwd, lastAction, brief } = buildAgentStallRecoveryBrief(input);

      expect([runId, cwd, lastAction]).toEqual([null, null, 'unknown last action']);
      expect(brief).toContain('unknown last action');
      expect(brief).toContain('(unknown)');
    },
  );
});
