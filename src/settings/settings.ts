/**
 * The settings: their keys, defaults and units; the only place where minutes become milliseconds.
 */

export const minuteMs = 60_000;

export interface RetentionSettings {
  /** Settled tasks that stay readable in a session. Default 1000. */
  readonly finishedTasks: number;
  /** Days for which they stay readable. Default 30. */
  readonly days: number;
}

/** What people can set; times are in minutes here and nowhere else (`toDurations`). */
export interface Settings {
  /** Whose agent definitions count. Default `user`. */
  readonly agentScope: 'user' | 'project' | 'both';
  /** Whether scout, planner, worker and reviewer count as well. Default true. */
  readonly includeBundledAgents: boolean;
  /** Ask before an agent of the project runs. Default true; user only. */
  readonly confirmProjectAgents: boolean;
  /** Keep a child's surface open after its task settled. Default true. */
  readonly keepOpen: boolean;
  /** Keep children alive when the session quits. Default false. */
  readonly stayOpen: boolean;
  /** Write the notes of each task. Default true. */
  readonly fieldnotes: boolean;
  /** Show a sheep beside agents at work. Default true. */
  readonly emojiSheep: boolean;
  /** Minutes after which a wait is stale; below 1 is never. Default 5. */
  readonly staleWaitThreshold: number;
  /** Minutes for which a question waits for its reply, at least 1. Default 10. */
  readonly replyTimeout: number;
  /** Minutes that a task may take; 0 is no limit. Default 0. */
  readonly taskTimeout: number;
  /** What happens to a stalled agent. Default `notify`; user only. */
  readonly stallRecovery: 'off' | 'notify' | 'auto';
  /** Minutes without a sign of life that make a stall. Default 5. */
  readonly stallThresholdMinutes: number;
  /** Replacements that a stalled agent may have. Default 1. */
  readonly maxFreshDispatches: number;
  /** Reminders to a child that ends its turn with its task open; 0 is none. Default 1. */
  readonly doneNudges: number;
  /** Minutes for which a child outlives an owner that is proven dead. Default 10. */
  readonly orphanGraceMinutes: number;
  readonly retention: RetentionSettings;
  /** Where children run. Default `auto`; user only. */
  readonly host: 'auto' | 'process' | 'tmux' | 'herdr';
  /** What carries the mail. Only `filesystem`; user only. */
  readonly transport: 'filesystem';
  /**
   * Where sessions live, from the project's root; `~` is the home directory. Default
   * `.shepherd/sessions`; user only.
   */
  readonly stateDir: string;
}

export type SettingKey = keyof Settings;

/** Milliseconds of the settings that are times; `null` is "never". */
export interface Durations {
  readonly staleAfterMs: number | null;
  readonly replyTimeoutMs: number;
  readonly taskTimeoutMs: number | null;
  readonly stallAfterMs: number;
  readonly orphanGraceMs: number;
  readonly retentionMs: number;
}

export const defaultSettings: Settings = {
  agentScope: 'user',
  includeBundledAgents: true,
  confirmProjectAgents: true,
  keepOpen: true,
  stayOpen: false,
  fieldnotes: true,
  emojiSheep: true,
  staleWaitThreshold: 5,
  replyTimeout: 10,
  taskTimeout: 0,
  stallRecovery: 'notify',
  stallThresholdMinutes: 5,
  maxFreshDispatches: 1,
  doneNudges: 1,
  orphanGraceMinutes: 10,
  retention: { finishedTasks: 1000, days: 30 },
  host: 'auto',
  transport: 'filesystem',
  stateDir: '.shepherd/sessions',
};

/** Keys that a project file cannot set. */
export const userOnlyKeys = [
  'confirmProjectAgents',
  'stallRecovery',
  'host',
  'transport',
  'stateDir',
] as const satisfies readonly SettingKey[];

/** Whether only the user's own file may set this key. */
export function isUserOnly(key: string): boolean {
  return userOnlyKeys.some((own) => own === key);
}

/** Turns minutes into milliseconds, and the values that mean "off" into `null`. */
export function toDurations(settings: Settings): Durations {
  return {
    staleAfterMs: settings.staleWaitThreshold < 1 ? null : toMs(settings.staleWaitThreshold),
    replyTimeoutMs: toMs(settings.replyTimeout),
    taskTimeoutMs: settings.taskTimeout === 0 ? null : toMs(settings.taskTimeout),
    stallAfterMs: toMs(settings.stallThresholdMinutes),
    orphanGraceMs: toMs(settings.orphanGraceMinutes),
    retentionMs: toMs(settings.retention.days * 24 * 60),
  };
}

function toMs(value: number): number {
  return Math.round(value * minuteMs);
}
