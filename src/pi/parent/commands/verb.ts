/** What one verb of `/shepherd` is; the table of all is `verbs.ts`. */
import type { ExtensionCommandContext, ExtensionContext } from '@earendil-works/pi-coding-agent';
import { ConfigError } from '../../../errors.ts';
import type { DefinitionsView, Shepherd } from '../../../runtime/shepherd.ts';
import type { Inspection } from '../inspection.ts';
import type { HerdPolicy, SessionHerd } from '../herd-of-session.ts';

export interface VerbCall {
  /** What stands behind the verb, without blanks at its ends. */
  readonly rest: string;
  readonly ctx: ExtensionCommandContext;
  readonly herd: SessionHerd;
  readonly policy: CommandPolicy;
  readonly inspection: Inspection;
}

/** What a verb may ask while no herd is open. */
export type CommandPolicy = Pick<HerdPolicy, 'settingsOf' | 'definitions' | 'hostOf'>;

/** What a verb's completion may look at; nothing is opened for it. */
export interface CompletionScope {
  readonly running: Shepherd | undefined;
  /** Of the session that was started last. */
  readonly ctx: ExtensionContext | undefined;
  readonly policy: CommandPolicy;
}

export interface Verb {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** What it takes, `<agent> [lines]`; empty for nothing. */
  readonly takes: string;
  readonly summary: string;
  /** Words that may stand behind it. */
  readonly complete?: (scope: CompletionScope) => readonly string[] | Promise<readonly string[]>;
  /** Returns what is shown to the user; undefined when it has shown it itself. */
  readonly run: (call: VerbCall) => Promise<string | undefined>;
}

/** `Usage: /shepherd close <agent>` */
export function usageOf({ name, takes }: Pick<Verb, 'name' | 'takes'>): string {
  return `Usage: /shepherd ${name}${takes === '' ? '' : ` ${takes}`}`;
}

/** @throws ConfigError `invalid_argument` with the usage when nothing stands there. */
export function required(verb: Pick<Verb, 'name' | 'takes'>, text: string): string {
  if (text !== '') return text;
  throw new ConfigError('invalid_argument', usageOf(verb));
}

/** The first word of a text, and the rest. */
export function firstWord(text: string): readonly [word: string, rest: string] {
  const [, word = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  return [word, rest.trim()];
}

/** The definitions that count now; of the herd, if there is one: its program may have others. */
export function definitionsOf({ running, ctx, policy }: CompletionScope): DefinitionsView {
  const found = ctx === undefined ? undefined : policy.definitions?.(ctx);
  return running?.definitions() ?? found ?? { agents: [], problems: [] };
}

/** @throws ConfigError `invalid_argument` when this session has no herd. */
export async function runningHerd({ herd }: VerbCall): Promise<Shepherd> {
  const running = await herd.running();
  if (running !== undefined) return running;
  throw new ConfigError(
    'invalid_argument',
    'This Pi session has no herd yet. /shepherd spawn <definition> <label> begins one; /shepherd adopt <session> takes one up.',
  );
}
