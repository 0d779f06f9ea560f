/**
 * A store without files, for tests and the model checker.
 *
 * MS1. What it holds is one value that is never changed: `state` gives it, and a store made from it goes on from
 *      there, as often as one likes.
 */
import type { Table, Tables } from './records.ts';
import type { SessionOwner } from './session-owner.ts';
import type { JournalRow, Store } from './store.ts';

type Row = JournalRow & { readonly seq: number };
type AnyRecord = Tables[Table];

/** All that a session remembers. */
export interface MemoryState {
  readonly tables: ReadonlyMap<Table, ReadonlyMap<string, AnyRecord>>;
  readonly actors: ReadonlyMap<string, unknown>;
  readonly rows: readonly Row[];
  /** Of each actor that has a snapshot, the row with its newest state. */
  readonly newest: ReadonlyMap<string, number>;
  readonly owner: SessionOwner | undefined;
}

export interface MemoryStore extends Store {
  state(): MemoryState;
}

const nothing: MemoryState = {
  tables: new Map(),
  actors: new Map(),
  rows: [],
  newest: new Map(),
  owner: undefined,
};

export interface MemoryStoreOptions {
  /** Where it begins. Default: nothing is there. */
  readonly from?: MemoryState | undefined;
  /** Whether the journal is kept. Default true. */
  readonly keepsJournal?: boolean | undefined;
  /** Whether each reader gets a snapshot of its own. Default true; false where nobody changes one. */
  readonly copies?: boolean | undefined;
}

/** Creates the store. */
export function createMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { keepsJournal = true, copies = true } = options;
  const copy = (snapshot: unknown): unknown => (copies ? structuredClone(snapshot) : snapshot);
  let state = options.from ?? nothing;

  const table = <K extends Table>(name: K): ReadonlyMap<string, Tables[K]> =>
    (state.tables.get(name) ?? new Map()) as ReadonlyMap<string, Tables[K]>;

  return {
    state: () => state,
    get: (name, id) => table(name).get(id),
    all: (name) => [...table(name).values()],
    snapshot: (actorId) => copy(state.actors.get(actorId)),
    snapshots: () => [...state.actors].map(([id, snapshot]) => [id, copy(snapshot)] as const),
    journal: ({ after, limit }) => state.rows.filter(({ seq }) => seq > after).slice(0, limit),
    commit({ puts, deletes, snapshots, journal, keepRows }) {
      const tables = new Map(state.tables);
      const changed = new Set<Table>();
      const open = (name: Table): Map<string, AnyRecord> => {
        if (!changed.has(name)) tables.set(name, new Map(tables.get(name)));
        changed.add(name);
        return tables.get(name) as Map<string, AnyRecord>;
      };
      for (const { table: name, record } of puts) open(name).set(record.id, record);
      for (const { table: name, id } of deletes) open(name).delete(id);

      const seq = (state.rows.at(-1)?.seq ?? 0) + 1;
      const actors = new Map(state.actors);
      const newest = new Map(state.newest);
      for (const [id, snapshot] of snapshots) {
        if (snapshot === null) {
          actors.delete(id);
          newest.delete(id);
        } else {
          actors.set(id, copy(snapshot));
          newest.set(id, seq);
        }
      }
      const rows = keepsJournal ? [...state.rows, { ...journal, seq }] : [];
      state = { ...state, tables, actors, newest, rows: kept(rows, { seq, keepRows, newest }) };
    },
    transaction(work) {
      const before = state;
      try {
        work();
      } catch (error) {
        state = before;
        throw error;
      }
    },
    owner: () => state.owner,
    swapOwner(expected, next) {
      if (state.owner?.token !== expected) return false;
      state = { ...state, owner: next };
      return true;
    },
    close() {},
  };
}

function kept(
  rows: readonly Row[],
  {
    seq,
    keepRows,
    newest,
  }: {
    readonly seq: number;
    readonly keepRows: number | undefined;
    readonly newest: ReadonlyMap<string, number>;
  },
): readonly Row[] {
  if (keepRows === undefined) return rows;
  const needed = new Set(newest.values());
  return rows.filter((row) => row.seq > seq - keepRows || needed.has(row.seq));
}
