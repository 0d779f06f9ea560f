/** What counts of our settings files and `.devloops`, for a judgement from the command line. */
import { agentDirOf, settingsFiles } from '../settings/places.ts';
import { readSettings } from '../settings/read.ts';
import { toDurations } from '../settings/settings.ts';
import { resolveStallPolicy, type StallPolicy } from '../stall/policy.ts';
import { readWorkflowConfig } from '../stall/workflow-config.ts';

interface ReadStallPolicy extends StallPolicy {
  readonly warnings: readonly string[];
}

/**
 * Reads the settings of `project` and the `.devloops` in `root`; what is wrong in them is told, and
 * what counts instead.
 */
export function readStallPolicy(project: string, root: string): ReadStallPolicy {
  const files = settingsFiles({ agentDir: agentDirOf(), cwd: project });
  const { settings, sources, problems } = readSettings(files);
  const written = readWorkflowConfig(root);
  const { recovery, thresholdMs } = resolveStallPolicy({
    recovery: { value: settings.stallRecovery, isGiven: sources.stallRecovery !== 'default' },
    thresholdMs: {
      value: toDurations(settings).stallAfterMs,
      isGiven: sources.stallThresholdMinutes !== 'default',
    },
    written: written.stallDetection,
  });
  const keys = [undefined, 'stallRecovery', 'stallThresholdMinutes'];
  const warnings = [
    ...problems.flatMap(({ key, message }) => (keys.includes(key) ? `${message}.` : [])),
    ...written.problems.map(({ message }) => `${message} Its default is used.`),
  ];
  return { recovery, thresholdMs, warnings };
}
