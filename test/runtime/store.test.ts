import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TaskRecord } from '../../src/runtime/records.ts';
import { createMemoryStore } from '../../src/runtime/memory-store.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import { createDraft, type Commit, type Store } from '../../src/runtime/store.ts';

function makePath(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-store-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'session.db');
}

/** Opens a session's file until the test is over. */
function open(path: string, options?: { readonly readOnly?: boolean }): Store {
  const store = openSessionStore(path, options);
  onTestFinished(() => {
    try {
      store.close();
    } catch {
      // The test has closed it.
    }
  });
  return store;
}

function taskOf(id: string, description = 'Count the flock.'): TaskRecord {
  return {
    id,
    agentId: 'a1',
    description,
    state: 'created',
    states: [],
    createdAtMs: 0,
    timeoutMs: null,
    deadlineAtMs: null,
    messageId: 'm1',
    attempts: [],
    stale: false,
    requestIds: [],
    evidenceAtStart: { turns: 0, toolCalls: 0, lastActivityAtMs: null },
    lateEvents: [],
  };
}

const putTask = (id: string, description?: string) =>
  ({ table: 'task', record: taskOf(id, description) }) as const;

function commitOf(changes: Partial<Commit> & { readonly input?: string } = {}): Commit {
  const { input = 'test', ...rest } = changes;
  return {
    puts: [],
    deletes: [],
    snapshots: new Map(),
    journal: { atMs: 7, input, actors: [], moves: [] },
    ...rest,
  };
}

const idsOf = (store: Store) => store.all('task').map((task) => task.id);

describe.each([
  ['in memory', () => createMemoryStore()],
  ['in a file', () => open(makePath())],
])('a store %s', (_name, makeStore) => {
  it('gives back what was put, and nothing else', () => {
    const store = makeStore();

    store.commit(commitOf({ puts: [putTask('t1')] }));

    expect(store.get('task', 't1')).toEqual(taskOf('t1'));
    expect(store.get('task', 't2')).toBeUndefined();
    expect(store.get('agent', 't1')).toBeUndefined();
  });

  it('replaces a record and keeps its place in the order', () => {
    const store = makeStore();
    for (const id of ['b', 'c', 'a']) store.commit(commitOf({ puts: [putTask(id)] }));

    store.commit(commitOf({ puts: [putTask('b', 'Count again.')] }));

    expect(idsOf(store)).toEqual(['b', 'c', 'a']);
    expect(store.get('task', 'b')?.description).toBe('Count again.');
  });

  it('keeps the order of records that one commit put', () => {
    const store = makeStore();
    const ids = ['z', 'm', 'a', 'q', 'b', 'y'];

    store.commit(commitOf({ puts: ids.map((id) => putTask(id)) }));
    store.commit(commitOf({ puts: [putTask('0')] }));

    expect(idsOf(store)).toEqual([...ids, '0']);
  });

  it('forgets what was deleted; put again it comes last', () => {
    const store = makeStore();
    store.commit(commitOf({ puts: ['a', 'b', 'c'].map((id) => putTask(id)) }));

    store.commit(commitOf({ deletes: [{ table: 'task', id: 'a' }] }));
    expect(idsOf(store)).toEqual(['b', 'c']);
    store.commit(commitOf({ puts: [putTask('a')] }));

    expect(idsOf(store)).toEqual(['b', 'c', 'a']);
  });

  it('keeps snapshots in the order in which the actors began, and drops finished ones', () => {
    const store = makeStore();
    store.commit(commitOf({ snapshots: new Map([['z', { value: 1 }]]) }));
    store.commit(commitOf({ snapshots: new Map([['a', { value: 2 }]]) }));
    store.commit(commitOf({ snapshots: new Map([['z', { value: 3 }]]) }));
    expect(store.snapshots()).toEqual([
      ['z', { value: 3 }],
      ['a', { value: 2 }],
    ]);

    store.commit(commitOf({ snapshots: new Map([['z', null]]) }));

    expect(store.snapshots()).toEqual([['a', { value: 2 }]]);
    expect(store.snapshot('z')).toBeUndefined();
  });

  it('gives snapshots away that nobody else changes', () => {
    const store = makeStore();
    store.commit(commitOf({ snapshots: new Map([['a', { context: { taskId: 't1' } }]]) }));

    Object.assign(store.snapshot('a') as object, { context: null });

    expect(store.snapshot('a')).toEqual({ context: { taskId: 't1' } });
  });

  it('reads the journal on from a row, oldest first', () => {
    const store = makeStore();
    for (const input of ['one', 'two', 'three', 'four']) store.commit(commitOf({ input }));

    const rows = store.journal({ after: 1, limit: 2 });

    expect(rows.map((row) => [row.seq, row.input])).toEqual([
      [2, 'two'],
      [3, 'three'],
    ]);
    expect(rows[0]?.atMs).toBe(7);
  });

  it('keeps the newest rows, and the newest one of each actor that has a snapshot', () => {
    const store = makeStore();
    const touch = (input: string, actor: string, snapshot: unknown = { value: 1 }) =>
      store.commit(commitOf({ input, snapshots: new Map([[actor, snapshot]]) }));
    touch('idle begins', 'idle');
    touch('ended begins', 'ended');
    touch('idle goes on', 'idle');
    touch('ended ends', 'ended', null);
    for (const input of ['one', 'two', 'three']) touch(input, 'busy');

    store.commit(commitOf({ input: 'prune', keepRows: 2 }));

    const kept = ['idle goes on', 'three', 'prune'];
    expect(store.journal({ after: 0, limit: 9 }).map(({ input }) => input)).toEqual(kept);
    store.commit(commitOf({ input: 'next' }));
    expect(store.journal({ after: 0, limit: 9 }).map(({ input }) => input)).toEqual([
      ...kept,
      'next',
    ]);
  });
});

describe('the file of a session', () => {
  it('keeps everything for the next process', () => {
    const path = makePath();
    const before = open(path);
    before.commit(
      commitOf({ puts: [putTask('t1')], snapshots: new Map([['a', { value: 'idle' }]]) }),
    );
    before.close();

    const after = open(path);

    expect(after.get('task', 't1')).toEqual(taskOf('t1'));
    expect(after.snapshots()).toEqual([['a', { value: 'idle' }]]);
    expect(after.journal({ after: 0, limit: 9 })).toHaveLength(1);
  });

  it('is closed to others', () => {
    const path = makePath();
    open(path);

    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('keeps a commit whole or not at all (ST1)', () => {
    const store = open(makePath());
    store.commit(commitOf({ puts: [putTask('t1')], snapshots: new Map([['a', { value: 1 }]]) }));
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;

    const broken = commitOf({
      puts: [putTask('t1', 'changed'), putTask('t2')],
      snapshots: new Map<string, unknown>([
        ['a', { value: 2 }],
        ['b', cyclic],
      ]),
    });

    expect(() => store.commit(broken)).toThrow(
      expect.objectContaining({ code: 'disk_error', retryable: true }),
    );
    expect(store.all('task')).toEqual([taskOf('t1')]);
    expect(store.snapshots()).toEqual([['a', { value: 1 }]]);
    expect(store.journal({ after: 0, limit: 9 })).toHaveLength(1);
    store.commit(commitOf({ puts: [putTask('t3')] }));
    expect(idsOf(store)).toEqual(['t1', 't3']);
  });

  it('has commits share one, of which a failing one loses only itself', () => {
    const path = makePath();
    const store = open(path);
    const reader = open(path, { readOnly: true });
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;

    store.transaction(() => {
      store.commit(commitOf({ puts: [putTask('t1')] }));
      expect(() =>
        store.commit(commitOf({ puts: [putTask('t2')], snapshots: new Map([['a', cyclic]]) })),
      ).toThrow(expect.objectContaining({ code: 'disk_error' }));
      store.commit(commitOf({ puts: [putTask('t3')] }));
      expect(idsOf(reader)).toEqual([]);
    });

    expect(idsOf(reader)).toEqual(['t1', 't3']);
  });

  it('loses every commit of a transaction that throws, and works on', () => {
    const store = open(makePath());

    expect(() =>
      store.transaction(() => {
        store.commit(commitOf({ puts: [putTask('t1')] }));
        throw new Error('enough');
      }),
    ).toThrow('enough');

    expect(idsOf(store)).toEqual([]);
    store.commit(commitOf({ puts: [putTask('t2')] }));
    expect(idsOf(store)).toEqual(['t2']);
  });

  it('refuses a file of another version, loudly', () => {
    const path = makePath();
    open(path).close();
    const db = new DatabaseSync(path);
    db.exec('PRAGMA user_version = 99');
    db.close();

    expect(() => open(path)).toThrow(
      expect.objectContaining({
        code: 'invalid_setting',
        message: expect.stringMatching(/version 99.*version 5/) as string,
      }),
    );
  });

  it('says that a file which is no session cannot be opened', () => {
    const path = join(makePath(), 'in', 'no', 'directory.db');

    expect(() => open(path)).toThrow(expect.objectContaining({ code: 'disk_error' }));
  });

  it('can be read beside its writer, and then only read', () => {
    const path = makePath();
    const writer = open(path);
    writer.commit(commitOf({ puts: [putTask('t1')] }));

    const reader = open(path, { readOnly: true });
    writer.commit(commitOf({ puts: [putTask('t2')] }));

    expect(idsOf(reader)).toEqual(['t1', 't2']);
    expect(() => reader.commit(commitOf({ puts: [putTask('t3')] }))).toThrow(
      expect.objectContaining({ code: 'disk_error' }),
    );
    expect(idsOf(writer)).toEqual(['t1', 't2']);
  });

  it('names the file when something in it is not JSON', () => {
    const path = makePath();
    const store = open(path);
    store.commit(commitOf({ puts: [putTask('t1')], snapshots: new Map([['a1', {}]]) }));
    const db = new DatabaseSync(path);
    for (const table of ['record', 'snapshot', 'journal']) {
      db.exec(`UPDATE ${table} SET body = '{"id": "t'`);
    }
    db.close();
    const damage = expect.objectContaining({
      code: 'session_damaged',
      retryable: false,
      message: expect.stringContaining(path),
    });

    expect(() => store.get('task', 't1')).toThrow(damage);
    expect(() => store.all('task')).toThrow(damage);
    expect(() => store.snapshot('a1')).toThrow(damage);
    expect(() => store.snapshots()).toThrow(damage);
    expect(() => store.journal({ after: 0, limit: 1 })).toThrow(damage);
  });

  it('is not made by a reader', () => {
    expect(() => open(makePath(), { readOnly: true })).toThrow(
      expect.objectContaining({ code: 'disk_error' }),
    );
  });
});

describe('a draft', () => {
  it('reads its own writes over what is stored (ST2)', () => {
    const store = createMemoryStore();
    store.commit(commitOf({ puts: [putTask('t1'), putTask('t2')] }));
    const draft = createDraft(store);

    draft.change('task', 't1', { state: 'running' });
    draft.put('task', taskOf('t3'));
    draft.remove('task', 't2');
    draft.change('task', 'unknown', { state: 'running' });

    expect(draft.all('task').map(({ id, state }) => [id, state])).toEqual([
      ['t1', 'running'],
      ['t3', 'created'],
    ]);
    expect(draft.get('task', 't2')).toBeUndefined();
    expect(store.get('task', 't1')?.state).toBe('created');
  });

  it('says what changed: each record once, as it is at the end', () => {
    const draft = createDraft(createMemoryStore());

    draft.put('task', taskOf('t1'));
    draft.change('task', 't1', { state: 'running' });
    draft.put('task', taskOf('t2'));
    draft.remove('task', 't2');
    draft.remove('task', 't3');
    draft.put('task', taskOf('t3'));

    const { puts, deletes } = draft.changes();
    expect(puts.map(({ record }) => record.id)).toEqual(['t1', 't3']);
    expect(puts[0]?.record).toMatchObject({ state: 'running' });
    expect(deletes).toEqual([{ table: 'task', id: 't2' }]);
  });

  it('leaves the store as it was when it is dropped', () => {
    const store = createMemoryStore();
    const draft = createDraft(store);

    draft.put('task', taskOf('t1'));

    expect(store.all('task')).toEqual([]);
  });
});

describe('a store in memory', () => {
  it('goes on from what another one held, and leaves that one alone', () => {
    const first = createMemoryStore();
    first.commit(commitOf({ puts: [putTask('t1')], snapshots: new Map([['a', { value: 1 }]]) }));
    const held = first.state();

    const second = createMemoryStore({ from: held });
    second.commit(commitOf({ puts: [putTask('t2')], snapshots: new Map([['a', null]]) }));

    expect(idsOf(second)).toEqual(['t1', 't2']);
    expect(second.snapshot('a')).toBeUndefined();
    expect(idsOf(first)).toEqual(['t1']);
    expect(first.snapshot('a')).toEqual({ value: 1 });
    expect(first.state()).toBe(held);
  });

  it('loses what a transaction that throws has committed', () => {
    const store = createMemoryStore();
    store.commit(commitOf({ puts: [putTask('t1')] }));

    expect(() =>
      store.transaction(() => {
        store.commit(commitOf({ puts: [putTask('t2')] }));
        throw new Error('lost');
      }),
    ).toThrow('lost');

    expect(idsOf(store)).toEqual(['t1']);
  });
});
