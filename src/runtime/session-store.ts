/**
 * `session.db`: the store of a session as one SQLite file.
 *
 * WAL and FULL: a commit that returned survives a power cut. Loaded only when a session is opened,
 * since `node:sqlite` is missing before Node 22.13.
 */
import { chmodSync } from 'node:fs';
import type * as Sqlite from 'node:sqlite';
import { ConfigError, describeError, MailboxError, ShepherdError } from '../errors.ts';
import { errnoOf } from '../mailbox/mail-fs.ts';
import type { Table, Tables } from './records.ts';
import type { SessionOwner } from './session-owner.ts';
import type { JournalRow, Store } from './store.ts';

/** Version of the file's layout and of the charts' snapshots; another one is refused. */
const version = 5;

const schema = `
  CREATE TABLE IF NOT EXISTS record (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
    UNIQUE (kind, id)
  );
  CREATE TABLE IF NOT EXISTS snapshot (
    seq INTEGER PRIMARY KEY, actor TEXT NOT NULL UNIQUE, body TEXT NOT NULL, row INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS owner (
    one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT NOT NULL, body TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, body TEXT NOT NULL);
`;

function loadSqlite(): typeof Sqlite {
  // Its type knows this Node only; an older one has no such module.
  const sqlite = process.getBuiltinModule('node:sqlite') as typeof Sqlite | undefined;
  if (sqlite === undefined) {
    throw new ConfigError(
      'unsupported_node',
      `A session needs node:sqlite, which Node ${process.versions.node} lacks; use Node 22.19 or later.`,
    );
  }
  return sqlite;
}

/**
 * Opens the session file; it is made when it is not there, or empty, and `mayCreate` allows that.
 *
 * @throws ConfigError `unsupported_node`, `invalid_setting` for a file of another version,
 * `session_damaged` for one without its content; MailboxError `disk_error` when it cannot be opened.
 */
export function openSessionStore(
  path: string,
  options: { readonly readOnly?: boolean; readonly mayCreate?: boolean } = {},
): Store {
  const { DatabaseSync } = loadSqlite();
  const { readOnly = false, mayCreate = !readOnly } = options;
  let db: Sqlite.DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly });
    db.exec('PRAGMA busy_timeout = 2000');
    if (!readOnly) {
      chmodSync(path, 0o600);
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    }
    const found = versionOf(db);
    if (found === 0 && !mayCreate) {
      throw new ConfigError(
        'session_damaged',
        `${path} is empty, although its session is not new. Put back a copy, together with its -wal file, ` +
          `or move the session's directory away.`,
      );
    }
    if (found !== version && found !== 0) {
      throw new ConfigError(
        'invalid_setting',
        `${path} has session version ${found}; this Sheepfold reads version ${version}.`,
      );
    }
    if (found === 0) db.exec(`${schema} PRAGMA user_version = ${version};`);
    return createStore(db, path);
  } catch (error) {
    db?.close();
    throw ShepherdError.is(error) ? error : diskError('open', path, error);
  }
}

interface SqliteError extends Error {
  /** SQLite's extended result code; the low byte is the primary one. */
  readonly errcode: number;
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR';
}

function versionOf(db: Sqlite.DatabaseSync): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}

function createStore(db: Sqlite.DatabaseSync, path: string): Store {
  const sql = {
    get: db.prepare('SELECT body FROM record WHERE kind = ? AND id = ?'),
    all: db.prepare('SELECT body FROM record WHERE kind = ? ORDER BY seq'),
    put: db.prepare(
      `INSERT INTO record (kind, id, body) VALUES (?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body`,
    ),
    remove: db.prepare('DELETE FROM record WHERE kind = ? AND id = ?'),
    snapshot: db.prepare('SELECT body FROM snapshot WHERE actor = ?'),
    snapshots: db.prepare('SELECT actor, body FROM snapshot ORDER BY seq'),
    keep: db.prepare(
      `INSERT INTO snapshot (actor, body, row) VALUES (?, ?, ?)
       ON CONFLICT (actor) DO UPDATE SET body = excluded.body, row = excluded.row`,
    ),
    drop: db.prepare('DELETE FROM snapshot WHERE actor = ?'),
    owner: db.prepare('SELECT body FROM owner'),
    firstOwner: db.prepare('INSERT OR IGNORE INTO owner (one, token, body) VALUES (1, ?, ?)'),
    nextOwner: db.prepare('UPDATE owner SET token = ?, body = ? WHERE token = ?'),
    row: db.prepare('INSERT INTO journal (body) VALUES (?)'),
    forget: db.prepare(
      'DELETE FROM journal WHERE seq <= ? AND seq NOT IN (SELECT row FROM snapshot)',
    ),
    rows: db.prepare('SELECT seq, body FROM journal WHERE seq > ? ORDER BY seq LIMIT ?'),
  };

  /** The transaction that commits share; `lost` once a failing one has taken it along. */
  let shared: 'none' | 'open' | 'lost' = 'none';

  /** Kept on its own, a step would be there without those that were to share its commit. */
  function refuseLost(): void {
    if (shared === 'lost') throw diskError('commit to', path, 'the shared transaction is lost');
  }

  function rowsOf<Row>(statement: Sqlite.StatementSync, ...keys: (string | number)[]): Row[] {
    try {
      return statement.all(...keys) as Row[];
    } catch (cause) {
      throw diskError('read', path, cause);
    }
  }

  function body(statement: Sqlite.StatementSync, ...keys: string[]): unknown {
    const row = rowsOf<{ body: string }>(statement, ...keys)[0];
    return row === undefined ? undefined : parse(row.body);
  }

  function parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new ConfigError(
        'session_damaged',
        `${path} holds something that is not JSON (${describeError(cause)}). Put back a copy, ` +
          `together with its -wal file, or move the session's directory away.`,
        { cause, data: { path } },
      );
    }
  }

  /** Undoes what failed; that it cannot be undone says less than the error that led here. */
  function undo(statements: string): boolean {
    try {
      // A full disk may have ended the whole transaction by itself.
      if (!db.isTransaction) return false;
      db.exec(statements);
      return true;
    } catch {
      return false;
    }
  }

  return {
    get: <K extends Table>(table: K, id: string) =>
      body(sql.get, table, id) as Tables[K] | undefined,
    all: <K extends Table>(table: K) =>
      rowsOf<{ body: string }>(sql.all, table).map((row) => parse(row.body) as Tables[K]),
    snapshot: (actorId) => body(sql.snapshot, actorId),
    snapshots: () =>
      rowsOf<{ actor: string; body: string }>(sql.snapshots).map(
        (row) => [row.actor, parse(row.body)] as const,
      ),
    journal: ({ after, limit }) =>
      rowsOf<{ seq: number; body: string }>(sql.rows, after, limit).map((row) =>
        Object.assign(parse(row.body) as JournalRow, { seq: row.seq }),
      ),
    commit(commit) {
      refuseLost();
      const isShared = shared === 'open';
      try {
        db.exec(isShared ? 'SAVEPOINT step' : 'BEGIN IMMEDIATE');
        for (const { table, record } of commit.puts) {
          sql.put.run(table, record.id, JSON.stringify(record));
        }
        for (const { table, id } of commit.deletes) sql.remove.run(table, id);
        const row = Number(sql.row.run(JSON.stringify(commit.journal)).lastInsertRowid);
        for (const [actor, snapshot] of commit.snapshots) {
          if (snapshot === null) sql.drop.run(actor);
          else sql.keep.run(actor, JSON.stringify(snapshot), row);
        }
        if (commit.keepRows !== undefined) sql.forget.run(row - commit.keepRows);
        db.exec(isShared ? 'RELEASE step' : 'COMMIT');
      } catch (cause) {
        const isUndone = undo(isShared ? 'ROLLBACK TO step; RELEASE step' : 'ROLLBACK');
        if (isShared && !isUndone) shared = 'lost';
        throw diskError('commit to', path, cause);
      }
    },
    transaction(work) {
      try {
        db.exec('BEGIN IMMEDIATE');
        shared = 'open';
        work();
        refuseLost();
        db.exec('COMMIT');
      } catch (error) {
        undo('ROLLBACK');
        throw isSqliteError(error) ? diskError('commit to', path, error) : error;
      } finally {
        shared = 'none';
      }
    },
    owner: () => body(sql.owner) as SessionOwner | undefined,
    swapOwner(expected, next) {
      try {
        const kept = JSON.stringify(next);
        const { changes } =
          expected === undefined
            ? sql.firstOwner.run(next.token, kept)
            : sql.nextOwner.run(next.token, kept, expected);
        return changes === 1;
      } catch (cause) {
        throw diskError('take', path, cause);
      }
    },
    close: () => db.close(),
  };
}

/** What helps, by SQLite's primary result code or the errno of another call. */
const advice: Readonly<Record<string, string>> = {
  5: 'another process is writing to it; try again',
  8: 'make its disk and the file writable, then try again',
  10: 'its disk failed; see to that, then try again',
  // What SQLite makes of EIO at a read, too.
  11: 'its disk failed or the file is damaged; see to the disk and try again, else put back a copy',
  13: 'free some space, then try again',
  14: 'see that its directory is there, that this user may write to it, and that not too many files are open; then try again',
  26: 'the file is no database; put back a copy of it',
  EROFS: 'make its disk and the file writable, then try again',
  EPERM: 'see that the file belongs to this user, then try again',
};

function diskError(operation: string, path: string, cause: unknown): MailboxError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const result = isSqliteError(cause) ? String(cause.errcode & 0xff) : (errnoOf(cause) ?? '');
  const help = advice[result] ?? 'the same call may work later';
  return new MailboxError('disk_error', `Could not ${operation} ${path} (${reason}): ${help}.`, {
    cause,
    retryable: true,
    data: { operation, path },
  });
}
