/** What a play leaves in its directory, written by the parent, the children and the harness. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLines } from './record.ts';

export type Mode =
  /** A task that its deadline ends. */
  | 'task_deadline'
  /** A question that nobody answers in time. */
  | 'reply_deadline'
  /** Two questions: one answered at the instant of its deadline, the other one right after. */
  | 'instants'
  /** A child that dies with its task open. */
  | 'child_death'
  /** A wait that becomes stale before it is answered. */
  | 'stale_wait'
  /** An agent that is closed with work and mail; then the session is parked, and forgets. */
  | 'closed_agent';

/** An hour of the play's clock, which no play lasts: it passes when it is put ahead. */
const hourMs = 3_600_000;

/** What decides by time. Where a run must not depend on how fast it is, nothing falls due in it. */
export const rules: Readonly<
  Record<Mode, { readonly replyTimeoutMs: number; readonly staleAfterMs: number | null }>
> = {
  task_deadline: { replyTimeoutMs: hourMs, staleAfterMs: null },
  // The one question of this scene is not answered.
  reply_deadline: { replyTimeoutMs: 2_000, staleAfterMs: null },
  instants: { replyTimeoutMs: hourMs, staleAfterMs: null },
  child_death: { replyTimeoutMs: hourMs, staleAfterMs: null },
  stale_wait: { replyTimeoutMs: hourMs, staleAfterMs: 1_500 },
  closed_agent: { replyTimeoutMs: hourMs, staleAfterMs: null },
};
export const modes = Object.keys(rules) as readonly Mode[];
/** Modes whose parent passes the gap. */
export const withGap: ReadonlySet<Mode> = new Set([
  'instants',
  'child_death',
  'stale_wait',
  'closed_agent',
]);

export const taskTimeoutMs = 1_500;

/** Stands for the Pi session: an entry that is there stays, and is not written again. */
export const noticesFile = 'notices.jsonl';
/** When a parent saw a task settle, and since when it could have. */
export const settledFile = 'settled.jsonl';
/** Written when all is done and quiet: a later parent has only to end the session. */
export const outcomesFile = 'outcomes.json';
export const endFile = 'end.json';
export const passedFile = 'passed.json';
/** The instants that a gap is about. */
const cueFile = 'cue.jsonl';

export interface NoticeLine {
  readonly id: string;
  /** One for each task that it tells the outcome of, else one for itself. */
  readonly tells: readonly string[];
}

export interface SettledLine {
  readonly task: string;
  readonly atMs: number;
  readonly deadlineAtMs: number | null;
  readonly openedAtMs: number;
}

/** How each task and each agent ended, by its name: what the scene is judged by. */
export type End = Readonly<Record<string, string>>;

export interface ParentArgs {
  readonly dir: string;
  readonly mode: Mode;
  readonly kill?: { readonly point: string; readonly k: number } | undefined;
}

/** Epoch ms, by names that the mode's scene gives. */
export type Cue = Readonly<Record<string, number>>;

export function writeCue(dir: string, cue: Cue): void {
  write(join(dir, cueFile), cue);
}

export const readCue = (dir: string): Cue => (readLines(join(dir, cueFile))[0] ?? {}) as Cue;

/** What a child is told to do now; `atMs` is what it is to date it with. */
export interface Told {
  readonly atMs?: number;
}

const toldPath = (dir: string, what: string): string => join(dir, `told-${what}.json`);

/** Once is enough: what was told first stands. */
export function tell(dir: string, what: string, told: Told = {}): void {
  if (!isTold(dir, what)) write(toldPath(dir, what), told);
}

export const isTold = (dir: string, what: string): boolean => existsSync(toldPath(dir, what));

export const readTold = (dir: string, what: string): Told =>
  JSON.parse(readFileSync(toldPath(dir, what), 'utf8')) as Told;

const aheadPath = (dir: string): string => join(dir, 'ahead.json');

/** How far the clock of the play is ahead of the machine's, in ms. */
export function aheadMsOf(dir: string): number {
  return existsSync(aheadPath(dir)) ? Number(readFileSync(aheadPath(dir), 'utf8')) : 0;
}

/** Puts the clock of the play well past an instant; for good, and only once. */
export function putPast(dir: string, instantMs: number): void {
  if (aheadMsOf(dir) === 0) write(aheadPath(dir), instantMs + 60_000 - Date.now());
}

/** A reader sees all of it or nothing. */
function write(path: string, content: unknown): void {
  writeFileSync(`${path}.tmp`, `${JSON.stringify(content)}\n`);
  renameSync(`${path}.tmp`, path);
}
