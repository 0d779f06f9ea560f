/** What a play leaves in its directory, written by the parent and read by the harness. */

/** How the deadline that is in flight is meant to end its task. */
export type Mode = 'task_deadline' | 'reply_deadline';

export const taskTimeoutMs = 1_500;
/** Longer than a parent is dead, so that a question that was asked in time is answered in time. */
export const replyTimeoutMs = 4_500;

/** Stands for the Pi session: an entry that is there stays, and is not written again. */
export const noticesFile = 'notices.jsonl';
/** When a parent saw a task settle, and since when it could have. */
export const settledFile = 'settled.jsonl';
export const endFile = 'end.json';
export const passedFile = 'passed.json';

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

/** The outcome of each task by its name: what the scene is judged by. */
export type End = Readonly<Record<string, string>>;

export interface ParentArgs {
  readonly dir: string;
  readonly mode: Mode;
  readonly kill?: { readonly point: string; readonly k: number } | undefined;
}
