/**
 * The store of one session: records, snapshots of its actors, and the journal of its steps.
 *
 * Owns: that a step is kept whole or not at all. Never: what a record means.
 *
 * ST1. `commit` is atomic: after a throw the store is as it was before.
 * ST2. Reading sees committed data only; a running step reads through its draft.
 */
import type { Table, Tables } from './records.ts';
import type { SessionOwner } from './session-owner.ts';
import type { Receipt } from './shepherd.ts';

/** One step's changes. */
export interface Commit {
  readonly puts: readonly { readonly table: Table; readonly record: Tables[Table] }[];
  readonly deletes: readonly { readonly table: Table; readonly id: string }[];
  /** Persisted snapshots of the touched top-level actors; `null` removes a finished one. */
  readonly snapshots: ReadonlyMap<string, unknown>;
  readonly journal: JournalRow;
  /**
   * Keep this many of the newest journal rows, and of each actor that has a snapshot the row with its
   * newest state, however old; undefined keeps all.
   */
  readonly keepRows?: number | undefined;
}

/** An actor's state at the end of a step. */
export interface ActorState {
  readonly id: string;
  readonly value: unknown;
  readonly context: unknown;
}

/** An envelope that came in, was sent, or found nobody. */
export interface Move {
  readonly messageId: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  /** It is a dead letter from now on. */
  readonly isDead?: true;
  /** It came when it could change nothing any more, and is kept as that. */
  readonly isLate?: true;
  /** It asks for a reply. */
  readonly asks?: true;
  /** The envelope that this one answers, judges or confirms. */
  readonly about?: string;
  /** Of a verdict: why that envelope is refused. */
  readonly code?: string;
  readonly taskId?: string;
}

/** A transition that an actor took; the ids are those of the chart's states. */
export interface Taken {
  readonly actorId: string;
  /** Type of the event, as in the chart: `task.done`, `xstate.after.taskDeadline.task.open`. */
  readonly event: string;
  readonly from: string;
  /** Empty for a transition that leaves its state as it is. */
  readonly to: readonly string[];
}

/** What a step was about; with the touched actors' states any past moment can be shown. */
export interface JournalRow {
  readonly atMs: number;
  /** What came in: `command delegate`, `envelope task_done`, `timer`, … */
  readonly input: string;
  /** Those that it touched, with all below them; also what ended in it. */
  readonly actors: readonly ActorState[];
  /** Transitions of this step, in order. */
  readonly taken?: readonly Taken[];
  /** Envelopes that this step took in, sent out or gave up. */
  readonly moves: readonly Move[];
  /** How far messages had come with this step. */
  readonly receipts?: readonly { readonly messageId: string; readonly receipt: Receipt }[];
  /** What went wrong in the step before, and was rolled back. */
  readonly error?: string;
}

export interface Store {
  get<K extends Table>(table: K, id: string): Tables[K] | undefined;
  /** All records of a table, in the order in which they were first put. */
  all<K extends Table>(table: K): readonly Tables[K][];
  snapshot(actorId: string): unknown;
  /** Every kept snapshot, in the order in which the actors began. */
  snapshots(): readonly (readonly [actorId: string, snapshot: unknown])[];
  /** Journal rows after `seq`, oldest first, at most `limit`. */
  journal(options: {
    readonly after: number;
    readonly limit: number;
  }): readonly (JournalRow & { readonly seq: number })[];
  /** @throws MailboxError `disk_error`; nothing of the step is kept then (ST1). */
  commit(commit: Commit): void;
  /**
   * Has the commits within `work` share one: each keeps or loses its own step, all of them together
   * reach the disk or none does. A throw of `work` loses them all.
   *
   * @throws what `work` threw; MailboxError `disk_error`.
   */
  transaction(work: () => void): void;
  owner(): SessionOwner | undefined;
  /** Writes the owner if the token is still `expected` (undefined: there was none); else false. */
  swapOwner(expected: string | undefined, next: SessionOwner): boolean;
  close(): void;
}

const key = (table: Table, id: string): string => `${table}/${id}`;

/** A step's own view of the store: reads see its writes, which wait here for the commit. */
export interface Draft {
  get<K extends Table>(table: K, id: string): Tables[K] | undefined;
  all<K extends Table>(table: K): readonly Tables[K][];
  put<K extends Table>(table: K, record: Tables[K]): void;
  /** Puts the record with the given fields replaced; nothing for an unknown id. */
  change<K extends Table>(table: K, id: string, fields: Partial<Tables[K]>): void;
  remove(table: Table, id: string): void;
  /** Has the commit keep only this many of the newest journal rows, and what live actors need. */
  forgetJournal(keepRows: number): void;
  changes(): Pick<Commit, 'puts' | 'deletes' | 'keepRows'>;
}

/** Opens a draft over `store`; dropping it rolls the step back. */
export function createDraft(store: Store): Draft {
  const puts = new Map<string, { readonly table: Table; readonly record: Tables[Table] }>();
  const deletes = new Map<string, { readonly table: Table; readonly id: string }>();
  let keepRows: number | undefined;

  function get<K extends Table>(table: K, id: string): Tables[K] | undefined {
    const at = key(table, id);
    if (deletes.has(at)) return undefined;
    return (puts.get(at)?.record as Tables[K] | undefined) ?? store.get(table, id);
  }

  function put<K extends Table>(table: K, record: Tables[K]): void {
    deletes.delete(key(table, record.id));
    puts.set(key(table, record.id), { table, record });
  }

  return {
    get,
    put,
    all<K extends Table>(table: K) {
      const known = store.all(table);
      const ids = new Set(known.map((record) => record.id));
      const added = [...puts.values()]
        .filter((entry) => entry.table === table && !ids.has(entry.record.id))
        .map((entry) => entry.record as Tables[K]);
      return [...known, ...added].flatMap((record) => get(table, record.id) ?? []);
    },
    change(table, id, fields) {
      const record = get(table, id);
      if (record !== undefined) put(table, { ...record, ...fields });
    },
    remove(table, id) {
      puts.delete(key(table, id));
      deletes.set(key(table, id), { table, id });
    },
    forgetJournal(rows) {
      keepRows = rows;
    },
    changes: () => ({ puts: [...puts.values()], deletes: [...deletes.values()], keepRows }),
  };
}
