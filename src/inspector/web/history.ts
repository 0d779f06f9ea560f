/**
 * The session's past, so that any moment of it can be shown: a moment is the number of a step.
 *
 * HI1. Steps are added in order and never change; what they say of an actor or an envelope is found by search.
 */
import type { MachineName, RowReport } from '../report.ts';

export interface ActorHistory {
  readonly id: string;
  readonly machine: MachineName;
  readonly under: string | null;
  /** Its state after each step that touched it. */
  readonly states: { readonly seq: number; readonly atMs: number; readonly value: unknown }[];
  /** The transitions of each step in which it took any. */
  readonly moves: {
    readonly seq: number;
    readonly atMs: number;
    readonly taken: RowReport['taken'];
  }[];
}

export type Mark = 'delivered' | 'seen' | 'answered' | 'refused' | 'late' | 'dead';

export interface Mail {
  readonly id: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly seq: number;
  readonly atMs: number;
  readonly asks: boolean;
  readonly about: string | undefined;
  readonly taskId: string | undefined;
  /** What became of it, in order. */
  readonly marks: { readonly seq: number; readonly mark: Mark; readonly code?: string }[];
}

export interface History {
  readonly rows: RowReport[];
  /** In the order in which they began. */
  readonly actors: Map<string, ActorHistory>;
  /** In the order in which they were sent. */
  readonly mails: Mail[];
  readonly mailById: Map<string, Mail>;
}

export function createHistory(): History {
  return { rows: [], actors: new Map(), mails: [], mailById: new Map() };
}

/** Adds steps that come after all that it has; others are known already and left out. */
export function appendRows(history: History, rows: readonly RowReport[]): void {
  for (const row of rows) {
    if (row.seq <= (history.rows.at(-1)?.seq ?? 0)) continue;
    history.rows.push(row);
    for (const { id, machine, under, value } of row.actors) {
      let actor = history.actors.get(id);
      if (actor === undefined) {
        actor = { id, machine, under, states: [], moves: [] };
        history.actors.set(id, actor);
      }
      actor.states.push({ seq: row.seq, atMs: row.atMs, value });
      const taken = row.taken.filter(({ actorId }) => actorId === id);
      if (taken.length > 0) actor.moves.push({ seq: row.seq, atMs: row.atMs, taken });
    }
    addMails(history, row);
  }
}

function addMails(history: History, row: RowReport): void {
  const { seq, atMs } = row;
  // What is passed on in the same step is one envelope: its last way says where it went.
  const ways = new Map(row.moves.map((move) => [move.messageId, move]));
  for (const [id, move] of ways) {
    const { kind, from, to, asks = false, about, taskId } = move;
    if (!history.mailById.has(id)) {
      const mail = { id, kind, from, to, seq, atMs, asks, about, taskId, marks: [] };
      history.mails.push(mail);
      history.mailById.set(id, mail);
    }
  }
  for (const move of row.moves) {
    if (move.isLate === true) mark(history, move.messageId, { seq, mark: 'late' });
    if (move.isDead === true) mark(history, move.messageId, { seq, mark: 'dead' });
    const { code, about } = move;
    if (code !== undefined && about !== undefined) {
      mark(history, about, { seq, mark: 'refused', code });
    }
  }
  for (const { messageId, receipt } of row.receipts) {
    if (receipt !== 'queued') mark(history, messageId, { seq, mark: receipt });
  }
}

function mark(history: History, id: string, made: Mail['marks'][number]): void {
  const marks = history.mailById.get(id)?.marks;
  if (marks?.some((one) => one.mark === made.mark) === false) marks.push(made);
}

/** Index of the last step up to `seq`; -1 when there is none. */
export function rowIndexAt({ rows }: Pick<History, 'rows'>, seq: number): number {
  return lastUpTo(rows, seq);
}

/** How an actor was at a moment; undefined before it began. */
export function stateAt(
  actor: ActorHistory | undefined,
  seq: number,
): ActorHistory['states'][number] | undefined {
  return actor?.states[lastUpTo(actor.states, seq)];
}

/** What an actor did last at a moment; undefined before its first transition. */
export function moveAt(
  actor: ActorHistory,
  seq: number,
): ActorHistory['moves'][number] | undefined {
  return actor.moves[lastUpTo(actor.moves, seq)];
}

/** How many envelopes had been sent at a moment. */
export function mailsUpTo({ mails }: Pick<History, 'mails'>, seq: number): number {
  return lastUpTo(mails, seq) + 1;
}

/** What had become of an envelope at a moment, the last thing last. */
export function marksAt(mail: Mail, seq: number): Mail['marks'] {
  return mail.marks.filter((made) => made.seq <= seq);
}

/** Index of the last one with a number up to `seq`, of those in rising order. */
function lastUpTo(items: readonly { readonly seq: number }[], seq: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.seq ?? Infinity) <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
