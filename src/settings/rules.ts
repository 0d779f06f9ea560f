/** What each setting accepts, and how that is said. */
import { z } from 'zod';
import { minuteMs, type RetentionSettings, type Settings } from './settings.ts';

export interface Rule<Value> {
  readonly schema: z.ZodType<Value>;
  /** What the schema takes, in words that end "write …". */
  readonly accepted: string;
}

export type Rules<Values> = { readonly [Key in keyof Values]: Rule<Values[Key]> };

/** A year. Longer times are typing errors, and none may leave the range of instants. */
const maxMinutes = 525_600;

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

export const retentionRules: Rules<RetentionSettings> = { finishedTasks: count(0), days: count(1) };

export const rules: Rules<Omit<Settings, 'retention'>> = {
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

/** A key that a dialog can set: the parts of `retention` one by one. */
export type EditableKey =
  Exclude<keyof Settings, 'retention'> | `retention.${keyof RetentionSettings}`;

const table: Readonly<Record<EditableKey, Rule<unknown>>> = {
  ...rules,
  'retention.finishedTasks': retentionRules.finishedTasks,
  'retention.days': retentionRules.days,
};

/** In the order of the README's table. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are the keys of the table
export const settingKeys = Object.keys(table) as readonly EditableKey[];

/** What a setting takes: in words, and the values where there are only a few. */
export function acceptedBy(key: EditableKey): {
  readonly accepted: string;
  readonly choices: readonly (string | boolean)[];
} {
  const { schema, accepted } = table[key];
  if (schema instanceof z.ZodBoolean) return { accepted, choices: [true, false] };
  if (schema instanceof z.ZodEnum) {
    return { accepted, choices: schema.options.map((option) => String(option)) };
  }
  return { accepted, choices: [] };
}
