/**
 * Whether a running agent has stalled: a pure judgement of instants.
 *
 * Owns the rule alone. Reading signals is `probe.ts`, acting on a verdict is the agent chart's.
 *
 * SD1. Strictly older than the threshold is stale; a signal as old as the threshold is fresh.
 * SD2. `status` decides. A `reason` only says which rule spoke: `below_threshold` and `no_signal` name
 *      stalls, too.
 * SD3. Evidence beyond the four old inputs only exempts from a stall or refuses a signal.
 */

/** An instant: epoch ms, or anything whose text is a date; everything else is no signal. */
export type Instant = number | string | Date | null | undefined;

export const defaultStallThresholdMs = 300_000;

/** What is known beyond the old inputs; each may be left out. */
export interface StallEvidence {
  /** The run that is judged, and the one whose heartbeat `sanctionedWatchAt` is. */
  readonly runId?: string | undefined;
  readonly watchRunId?: string | undefined;
  /** State of the run; one that has ended, is paused or is queued has not stalled. */
  readonly runState?: string | undefined;
  /** A tool runs and last reported activity then. */
  readonly toolActivityAt?: Instant;
  /** A person is awaited: a permission or a dialog. */
  readonly awaitsHuman?: boolean | undefined;
  /** The provider has said when it will answer again. */
  readonly throttledUntil?: Instant;
  /** The host slept or lagged since the last signal: nothing can be told from silence. */
  readonly hostWasAway?: boolean | undefined;
}

export interface StallInput extends StallEvidence {
  /** The last turn, tool call or output. */
  readonly lastActivityAt?: Instant;
  /** The last heartbeat of a wait that was sanctioned. */
  readonly sanctionedWatchAt?: Instant;
  /** The agent has asked and waits; any true value. */
  readonly pendingRequest?: unknown;
  /** Default: the system clock. */
  readonly now?: Instant;
  /** In ms, taken as it is. Default 300,000. */
  readonly thresholdMs?: number;
}

export type StallStatus = 'stalled' | 'not_stalled' | 'no_evidence';
export type StallReason =
  | 'pending_request'
  | 'active_turns'
  | 'sanctioned_watch'
  | 'below_threshold'
  | 'no_signal'
  | 'disabled'
  | 'run_not_active'
  | 'tool_running'
  | 'awaits_human'
  | 'throttled'
  | 'host_away';

export interface StallVerdict {
  readonly status: StallStatus;
  readonly reason: StallReason;
  readonly stalled: boolean;
  /** Age of each signal in ms, never below 0; `null` without one. */
  readonly turnAgeMs: number | null;
  readonly watchAgeMs: number | null;
  readonly thresholdMs: number;
}

function toMs(instant: unknown): number | undefined {
  if (instant === null || instant === undefined) return undefined;
  // oxlint-disable-next-line typescript/no-base-to-string -- whatever has no date as its text is none
  const ms = typeof instant === 'number' ? instant : Date.parse(String(instant));
  return Number.isFinite(ms) ? ms : undefined;
}

/** Judges one agent at one instant. Never throws. */
export function detectAgentStall(input: StallInput = {}): StallVerdict {
  const { thresholdMs = defaultStallThresholdMs } = input;
  const nowMs = toMs(input.now) ?? Date.now();
  const ageOf = (instant: Instant): number | null => {
    const ms = toMs(instant);
    return ms === undefined ? null : Math.max(0, nowMs - ms);
  };
  const turnAgeMs = ageOf(input.lastActivityAt);
  const watchAgeMs = isForeignWatch(input) ? null : ageOf(input.sanctionedWatchAt);
  const verdict = (status: StallStatus, reason: StallReason): StallVerdict => ({
    status,
    reason,
    stalled: status === 'stalled',
    turnAgeMs,
    watchAgeMs,
    thresholdMs,
  });

  if (input.pendingRequest) return verdict('not_stalled', 'pending_request');
  if (turnAgeMs === null && watchAgeMs === null) return verdict('no_evidence', 'no_signal');
  if (turnAgeMs !== null && turnAgeMs <= thresholdMs) {
    return verdict('not_stalled', 'active_turns');
  }
  if (watchAgeMs !== null && watchAgeMs <= thresholdMs) {
    const stale = turnAgeMs ?? Infinity;
    return { ...verdict('not_stalled', 'sanctioned_watch'), turnAgeMs: stale };
  }
  const exemption = exemptionFrom(input, ageOf(input.toolActivityAt), thresholdMs, nowMs);
  if (exemption !== undefined) {
    return verdict(exemption === 'host_away' ? 'no_evidence' : 'not_stalled', exemption);
  }
  return verdict('stalled', turnAgeMs === null ? 'no_signal' : 'below_threshold');
}

/** A heartbeat of another run says nothing about this one (SD3). */
function isForeignWatch({ runId, watchRunId }: StallEvidence): boolean {
  return runId !== undefined && watchRunId !== undefined && runId !== watchRunId;
}

const activeRunStates = new Set(['running', 'working', 'active']);

function exemptionFrom(
  evidence: StallEvidence,
  toolAgeMs: number | null,
  thresholdMs: number,
  nowMs: number,
): StallReason | undefined {
  const { runState } = evidence;
  if (runState !== undefined && !activeRunStates.has(runState)) return 'run_not_active';
  if (evidence.awaitsHuman === true) return 'awaits_human';
  if (toolAgeMs !== null && toolAgeMs <= thresholdMs) return 'tool_running';
  if ((toMs(evidence.throttledUntil) ?? -Infinity) > nowMs) return 'throttled';
  return evidence.hostWasAway === true ? 'host_away' : undefined;
}

/**
 * Minutes to ms, rounded down; what is not a number above 0 is the default of 5 minutes.
 *
 * @param minutes anything that `Number` takes.
 */
export function resolveAgentStallThresholdMs(minutes?: unknown): number {
  const value = Number(minutes);
  if (!Number.isFinite(value) || value <= 0) return defaultStallThresholdMs;
  return Math.floor(value * 60_000);
}
