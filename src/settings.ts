/**
 * The settings: their keys and defaults, the user's and the project's file, and the only place
 * where minutes become milliseconds.
 *
 * Reads the two files it is given and nothing else; caching and showing are the callers'. What is
 * wrong with a file is data, never an exception: a broken setting must not stop a session.
 *
 * S1. A project file counts only when it says `projectScope: true`; then it is self-contained: what
 *     it leaves out has the built-in default, not the user's value.
 * S2. A key that could widen what a repository may do (`userOnlyKeys`) is read from the user's file
 *     alone.
 * S3. A value that is not accepted is reported and the default of its key used; the other keys count.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

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
  /** Where sessions live, from the project's root. Default `.shepherd/sessions`; user only. */
  readonly stateDir: string;
}

export type SettingKey = keyof Settings;

/** Where the value of a setting comes from. */
export type SettingSource = 'default' | 'user' | 'project';

export interface SettingsProblem {
  readonly path: string;
  /** The key at fault (`retention.days` inside an object), or `undefined` for the whole file. */
  readonly key: string | undefined;
  /** What the key takes, in words that end "write …"; `undefined` where no value helps. */
  readonly accepted?: string | undefined;
  /** Names file, key, value and what is accepted, so that it can be shown alone. */
  readonly message: string;
}

export interface ReadSettings {
  readonly settings: Settings;
  readonly problems: readonly SettingsProblem[];
  readonly sources: Readonly<Record<SettingKey, SettingSource>>;
}

export interface SettingsFiles {
  readonly userFile: string;
  readonly projectFile: string;
}

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

interface Rule<Value> {
  readonly schema: z.ZodType<Value>;
  /** What the schema takes, in words that end "write …". */
  readonly accepted: string;
}

type Rules<Values> = { readonly [Key in keyof Values]: Rule<Values[Key]> };

interface Fields<Values> {
  readonly values: Values;
  /** The keys whose values the file gives; the others are defaults. */
  readonly given: ReadonlySet<string>;
}

/** A year. Longer times are typing errors, and none may leave the range of instants. */
const maxMinutes = 525_600;
const minuteMs = 60_000;

const yesOrNo: Rule<boolean> = { schema: z.boolean(), accepted: 'true or false' };

function oneOf<const Value extends string>(values: readonly Value[]): Rule<Value> {
  return { schema: z.enum(values), accepted: values.map((value) => `"${value}"`).join(' or ') };
}

function minutes(least: number, note = ''): Rule<number> {
  const accepted = `minutes from ${least} to ${maxMinutes}${note}`;
  return { schema: z.number().min(least).max(maxMinutes), accepted };
}

function count(least: number): Rule<number> {
  return { schema: z.int().min(least), accepted: `a whole number from ${least}` };
}

const retentionRules: Rules<RetentionSettings> = { finishedTasks: count(0), days: count(1) };

const rules: Rules<Omit<Settings, 'retention'>> = {
  agentScope: oneOf(['user', 'project', 'both']),
  includeBundledAgents: yesOrNo,
  confirmProjectAgents: yesOrNo,
  keepOpen: yesOrNo,
  stayOpen: yesOrNo,
  fieldnotes: yesOrNo,
  emojiSheep: yesOrNo,
  staleWaitThreshold: {
    schema: z.number().max(maxMinutes),
    accepted: `minutes up to ${maxMinutes}, below 1 for off`,
  },
  replyTimeout: {
    // The seeds' rule for files from when the value was in milliseconds.
    schema: z
      .number()
      .min(1)
      .transform((value) => (value >= 1000 ? Math.max(1, Math.round(value / minuteMs)) : value))
      .pipe(z.number().max(maxMinutes)),
    accepted: 'minutes from 1 to 999',
  },
  taskTimeout: minutes(0, ', 0 for no limit'),
  stallRecovery: oneOf(['off', 'notify', 'auto']),
  stallThresholdMinutes: minutes(1),
  maxFreshDispatches: count(0),
  doneNudges: count(0),
  orphanGraceMinutes: minutes(1),
  host: oneOf(['auto', 'process', 'tmux', 'herdr']),
  transport: oneOf(['filesystem']),
  stateDir: { schema: z.string().trim().min(1), accepted: 'a path that is not empty' },
};

/** Keys that switch the project file on; the second is the seeds' older spelling. */
const activatingKeys = ['projectScope', 'settingsScope'];

type Json = Readonly<Record<string, unknown>>;
type Report = (key: string | undefined, problem: string, accepted?: string) => void;
type Layer = Fields<Settings>;

/** Returns the settings files of a user (`agentDir` is Pi's) and of a project; there is no walk-up. */
export function settingsFiles(options: { agentDir: string; cwd: string }): SettingsFiles {
  return {
    userFile: join(options.agentDir, 'sheepfold', 'config.json'),
    projectFile: join(options.cwd, '.shepherd', 'config.json'),
  };
}

/**
 * Reads both files and returns the settings in force, where each came from, and what is wrong.
 *
 * A file that does not exist is no problem. Never throws.
 */
export function readSettings({ userFile, projectFile }: SettingsFiles): ReadSettings {
  const problems: SettingsProblem[] = [];
  const reportIn =
    (path: string): Report =>
    (key, text, accepted) => {
      const subject = key === undefined ? '' : `"${key}" `;
      problems.push({ path, key, accepted, message: `${path}: ${subject}${text}` });
    };

  const user = readLayer(readJson(userFile, reportIn(userFile)) ?? {}, reportIn(userFile));
  const reportProject = reportIn(projectFile);
  const projectJson = readJson(projectFile, reportProject);
  const active = projectJson !== undefined && isActive(projectJson, reportProject);
  const project = active ? readProjectLayer(projectJson, userFile, reportProject) : undefined;

  if (project === undefined) {
    const sources = sourcesOf((key) => (user.given.has(key) ? 'user' : 'default'));
    return { settings: user.values, problems, sources };
  }
  const { confirmProjectAgents, stallRecovery, host, transport, stateDir } = user.values;
  const ofUser = { confirmProjectAgents, stallRecovery, host, transport, stateDir };
  const sources = sourcesOf((key) => {
    if (isUserOnly(key)) return user.given.has(key) ? 'user' : 'default';
    return project.given.has(key) ? 'project' : 'default';
  });
  return { settings: { ...project.values, ...ofUser }, problems, sources };
}

function sourcesOf(source: (key: string) => SettingSource): ReadSettings['sources'] {
  const entries = Object.keys(defaultSettings).map((key) => [key, source(key)] as const);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are the keys of Settings
  return Object.fromEntries(entries) as ReadSettings['sources'];
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

function isUserOnly(key: string): boolean {
  return userOnlyKeys.some((own) => own === key);
}

function readProjectLayer(json: Json, userFile: string, report: Report): Layer {
  const own: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(json)) {
    if (isUserOnly(key)) report(key, `has no effect in a project file; write it in ${userFile}`);
    else if (!activatingKeys.includes(key)) own[key] = value;
  }
  return readLayer(own, report);
}

/** Reports the inactive file once and as a whole: what else is wrong in it has no effect either. */
function isActive(json: Json, report: Report): boolean {
  const [scope, olderScope] = activatingKeys.map((key) => json[key]);
  if (scope === true || (scope === undefined && olderScope === 'project')) return true;
  const found = scope === undefined ? 'is missing' : `is ${show(scope)}`;
  report('projectScope', `${found}, so this file has no effect; write true to activate it`, 'true');
  return false;
}

function readLayer(json: Json, report: Report): Layer {
  // The seeds' name for it; messages keep the key that the file has.
  const older = Object.hasOwn(json, 'timeout') && !Object.hasOwn(json, 'replyTimeout');
  const { timeout, ...rest } = json;
  const flat = readFields(older ? { ...rest, replyTimeout: timeout } : rest, {
    rules,
    defaults: defaultSettings,
    otherKeys: ['retention'],
    report: (key, ...said) => report(older && key === 'replyTimeout' ? 'timeout' : key, ...said),
  });
  const { replyTimeout } = flat.values;
  if (flat.given.has('replyTimeout') && !older && json['replyTimeout'] !== replyTimeout) {
    report(
      'replyTimeout',
      `${show(json['replyTimeout'])} is taken as milliseconds, so ${replyTimeout} minutes; ` +
        `write ${rules.replyTimeout.accepted}`,
      rules.replyTimeout.accepted,
    );
  }
  const retention = readRetention(json, report);
  return {
    values: { ...flat.values, retention: retention.values },
    given: new Set([...flat.given, ...(retention.given.size > 0 ? ['retention'] : [])]),
  };
}

/** One bad number leaves the other in force: falling back would forget tasks somebody keeps. */
function readRetention(json: Json, report: Report): Fields<RetentionSettings> {
  const value = Object.hasOwn(json, 'retention') ? json['retention'] : {};
  const record = z.record(z.string(), z.unknown()).safeParse(value);
  if (!record.success) {
    const accepted = 'an object with finishedTasks and days';
    refuse(report, 'retention', value, { accepted, byDefault: defaultSettings.retention });
  }
  return readFields(record.data ?? {}, {
    rules: retentionRules,
    defaults: defaultSettings.retention,
    otherKeys: [],
    report: (key, ...said) => report(`retention.${key}`, ...said),
  });
}

interface ReadFieldsOptions<Values> {
  readonly rules: Rules<Values>;
  readonly defaults: Values;
  /** Keys that the caller reads itself. */
  readonly otherKeys: readonly string[];
  readonly report: Report;
}

/** Takes what the rules accept and the defaults for the rest; reports values and keys refused. */
function readFields<Values extends object>(
  json: Json,
  options: ReadFieldsOptions<Values>,
): Fields<Values> {
  const table: Readonly<Record<string, Rule<unknown>>> = options.rules;
  const defaults: ReadonlyMap<string, unknown> = new Map(Object.entries(options.defaults));
  const given: Record<string, unknown> = {};
  const known = [...Object.keys(table), ...options.otherKeys];
  for (const [key, value] of Object.entries(json)) {
    const rule = Object.hasOwn(table, key) ? table[key] : undefined;
    const result = rule?.schema.safeParse(value);
    if (rule === undefined) {
      if (known.includes(key) || key === '$schema') continue;
      options.report(key, `is not a setting and has no effect; there are ${known.join(', ')}`);
    } else if (result?.success) {
      given[key] = result.data;
    } else {
      refuse(options.report, key, value, { ...rule, byDefault: defaults.get(key) });
    }
  }
  return { values: { ...options.defaults, ...given }, given: new Set(Object.keys(given)) };
}

function refuse(
  report: Report,
  key: string,
  value: unknown,
  { accepted, byDefault }: { accepted: string; byDefault: unknown },
): void {
  const used = `the default ${show(byDefault)} is used`;
  report(key, `does not accept ${show(value)}; write ${accepted}; ${used}`, accepted);
}

/** The object in a JSON file, or `undefined` when the file is absent or of no use (reported). */
function readJson(path: string, report: Report): Json | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') report(undefined, `cannot be read: ${say(error)}`);
    return undefined;
  }
  try {
    const json: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    const record = z.record(z.string(), z.unknown()).safeParse(json);
    if (record.success) return record.data;
    report(undefined, `is ${show(json)}; write an object of settings; the file has no effect`);
  } catch (error) {
    report(undefined, `is not JSON: ${say(error)}; the file has no effect`);
  }
  return undefined;
}

function say(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A value as its author may recognise it, at most 80 characters of it. */
function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
