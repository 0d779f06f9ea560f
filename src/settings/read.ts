/**
 * Reads the user's and the project's file of settings: what is in force, where it came from, and what is
 * wrong.
 *
 * Reads the two files it is given and nothing else; caching (`live.ts`) and showing are the callers'.
 * What is wrong with a file is data, never an exception: a broken setting must not stop a session.
 *
 * S1. A project file counts only when it says `projectScope: true`; then it is self-contained: what
 *     it leaves out has the built-in default, not the user's value.
 * S2. A key that could widen what a repository may do (`userOnlyKeys`) is read from the user's file
 *     alone.
 * S3. A value that is not accepted is reported and the default of its key used; the other keys count.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { retentionRules, rules, type Rule, type Rules } from './rules.ts';
import {
  defaultSettings,
  isUserOnly,
  type RetentionSettings,
  type SettingKey,
  type Settings,
} from './settings.ts';

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
  /** Whether the project's file counts (S1). */
  readonly isProjectActive: boolean;
}

export interface SettingsFiles {
  readonly userFile: string;
  readonly projectFile: string;
}

interface Fields<Values> {
  readonly values: Values;
  /** The keys whose values the file gives; the others are defaults. */
  readonly given: ReadonlySet<string>;
}

/** Keys that switch the project file on; the second is the seeds' older spelling. */
export const activatingKeys = ['projectScope', 'settingsScope'] as const;

type Json = Readonly<Record<string, unknown>>;
type Report = (key: string | undefined, problem: string, accepted?: string) => void;
type Layer = Fields<Settings>;

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
    return { settings: user.values, problems, sources, isProjectActive: active };
  }
  const { confirmProjectAgents, stallRecovery, host, transport, stateDir } = user.values;
  const ofUser = { confirmProjectAgents, stallRecovery, host, transport, stateDir };
  const sources = sourcesOf((key) => {
    if (isUserOnly(key)) return user.given.has(key) ? 'user' : 'default';
    return project.given.has(key) ? 'project' : 'default';
  });
  const settings = { ...project.values, ...ofUser };
  return { settings, problems, sources, isProjectActive: active };
}

/**
 * What is wrong with a value, in words that can be shown alone; `undefined` when a file may have it.
 *
 * @param key also `retention.finishedTasks` and `retention.days`.
 */
export function problemOf(key: string, value: unknown): string | undefined {
  const [whole = key, part] = key.split('.');
  const problems: string[] = [];
  readLayer({ [whole]: part === undefined ? value : { [part]: value } }, (at, text) => {
    problems.push(`"${at ?? key}" ${text}`);
  });
  return problems[0];
}

function sourcesOf(source: (key: string) => SettingSource): ReadSettings['sources'] {
  const entries = Object.keys(defaultSettings).map((key) => [key, source(key)] as const);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are the keys of Settings
  return Object.fromEntries(entries) as ReadSettings['sources'];
}

function readProjectLayer(json: Json, userFile: string, report: Report): Layer {
  const own: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(json)) {
    if (isUserOnly(key)) report(key, `has no effect in a project file; write it in ${userFile}`);
    else if (!activatingKeys.some((activating) => activating === key)) own[key] = value;
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
