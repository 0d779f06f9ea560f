/**
 * What counts of two sources: our own settings, and the `.devloops` of a project.
 *
 * SP1. A setting of ours that a file gives beats `.devloops`; that beats our default.
 * SP2. `enabled: true` written in `.devloops` means that a stalled child is replaced, `false` that none
 *      is looked for. What is not written there says nothing.
 */
import type { StallDetectionConfig } from './workflow-config.ts';

export type StallRecovery = 'off' | 'notify' | 'auto';

export interface StallPolicy {
  readonly recovery: StallRecovery;
  readonly thresholdMs: number;
}

/** A setting, and whether a file of ours gives it. */
interface Given<Value> {
  readonly value: Value;
  readonly isGiven: boolean;
}

export function resolveStallPolicy(sources: {
  readonly recovery: Given<StallRecovery>;
  readonly thresholdMs: Given<number>;
  /** What is written in `.devloops`. */
  readonly written: Partial<StallDetectionConfig>;
}): StallPolicy {
  const { recovery, thresholdMs, written } = sources;
  const { enabled, thresholdMinutes } = written;
  const asWritten = enabled === undefined ? undefined : enabled ? 'auto' : 'off';
  const minutesMs = thresholdMinutes === undefined ? undefined : thresholdMinutes * 60_000;
  return {
    recovery: recovery.isGiven ? recovery.value : (asWritten ?? recovery.value),
    thresholdMs: thresholdMs.isGiven ? thresholdMs.value : (minutesMs ?? thresholdMs.value),
  };
}
