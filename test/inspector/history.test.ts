import { describe, expect, it } from 'vitest';
import type { RowReport } from '../../src/inspector/report.ts';
import {
  appendRows,
  createHistory,
  mailsUpTo,
  marksAt,
  moveAt,
  rowIndexAt,
  stateAt,
} from '../../src/inspector/web/history.ts';
import { formatLink, parseLink } from '../../src/inspector/web/link.ts';
import { activeStates, isOver, stateLabel, toneOf } from '../../src/inspector/web/states.ts';
import { createNames, duration } from '../../src/inspector/web/text.ts';
import { isWantedMail, isWantedRow, type Filters } from '../../src/inspector/web/wanted.ts';

const row = (seq: number, more: Partial<RowReport> = {}): RowReport => ({
  seq,
  atMs: seq * 1_000,
  input: 'timer',
  actors: [],
  taken: [],
  moves: [],
  receipts: [],
  ...more,
});

const task = (value: unknown) => ({ id: 't', machine: 'task', under: 'a', value }) as const;
const move = { messageId: 'm', kind: 'message', from: 'a', to: 'b' } as const;

function historyOf(...rows: readonly RowReport[]) {
  const history = createHistory();
  appendRows(history, rows);
  return history;
}

describe('a moment of the past', () => {
  it('shows each actor as the last step up to it left it', () => {
    const history = historyOf(
      row(1),
      row(3, { actors: [task('running')] }),
      row(5, { actors: [task('completed')] }),
    );
    const at = (seq: number) => stateAt(history.actors.get('t'), seq)?.value;

    expect([1, 3, 4, 5, 99].map(at)).toEqual([
      undefined,
      'running',
      'running',
      'completed',
      'completed',
    ]);
    expect([0, 1, 2, 4, 5].map((seq) => rowIndexAt(history, seq))).toEqual([-1, 0, 0, 1, 2]);
  });

  it('has the transition that an actor took last, whoever else moved since', () => {
    const taken = { actorId: 't', event: 'task.started', from: 'task.a', to: ['task.b'] };
    const history = historyOf(
      row(1, { actors: [task('a')] }),
      row(2, { actors: [task('b')], taken: [taken, { ...taken, actorId: 'other' }] }),
      row(3, { actors: [task('b')] }),
    );
    const actor = history.actors.get('t');

    expect(actor && moveAt(actor, 3)).toEqual({ seq: 2, atMs: 2_000, taken: [taken] });
    expect(actor && moveAt(actor, 1)).toBeUndefined();
  });

  it('has the mail sent so far, and what had become of it', () => {
    const history = historyOf(
      row(1, { moves: [{ ...move, to: 'a name' }, move] }),
      row(2, { receipts: [{ messageId: 'm', receipt: 'delivered' }] }),
      row(3, { receipts: [{ messageId: 'm', receipt: 'seen' }] }),
      row(4, { moves: [{ ...move, messageId: 'n' }] }),
    );
    const [mail] = history.mails;

    // Passed on in the step in which it came, it is one envelope, and went to who got it.
    expect(mail).toMatchObject({ id: 'm', from: 'a', to: 'b' });
    expect([0, 1, 3, 4].map((seq) => mailsUpTo(history, seq))).toEqual([0, 1, 1, 2]);
    expect([1, 2, 3].map((seq) => mail && marksAt(mail, seq).map(({ mark }) => mark))).toEqual([
      [],
      ['delivered'],
      ['delivered', 'seen'],
    ]);
  });

  it('marks what was refused, came late, or found nobody', () => {
    const history = historyOf(
      row(1, {
        moves: [
          move,
          { messageId: 'v', kind: 'verdict', from: 'shepherd', to: 'a', about: 'm', code: 'no' },
        ],
      }),
      row(2, { moves: [{ ...move, messageId: 'late', isLate: true }] }),
      row(3, { moves: [{ ...move, messageId: 'late', isDead: true }] }),
    );

    expect(history.mailById.get('m')?.marks).toEqual([{ seq: 1, mark: 'refused', code: 'no' }]);
    expect(history.mailById.get('late')?.marks).toEqual([
      { seq: 2, mark: 'late' },
      { seq: 3, mark: 'dead' },
    ]);
  });

  it('is the same when steps come again', () => {
    const rows = [row(1, { actors: [task('a')], moves: [move] }), row(2)];
    const history = historyOf(...rows);

    appendRows(history, rows);

    expect(history).toEqual(historyOf(...rows));
  });
});

describe('a state', () => {
  it('is active with all that it is in', () => {
    expect(activeStates('task', { open: { waiting: 'stale' } })).toEqual([
      'task.open',
      'task.open.waiting',
      'task.open.waiting.stale',
    ]);
    expect(activeStates('agent', { process: 'lost', slot: 'free' })).toEqual([
      'agent.process',
      'agent.process.lost',
      'agent.slot',
      'agent.slot.free',
    ]);
  });

  it.each([
    ['task', { open: { waiting: 'stale' } }, 'waiting, stale', 'waiting', false],
    ['task', { open: 'running' }, 'running', 'active', false],
    ['task', 'completed', 'completed', 'good', true],
    ['task', 'timed_out', 'timed_out', 'bad', true],
    ['agent', { process: { ready: 'idle' }, slot: 'free' }, 'idle', 'quiet', false],
    ['agent', { process: 'lost', slot: 'free' }, 'lost', 'bad', true],
    ['session', 'open', 'open', 'active', false],
    ['session', 'closed', 'closed', 'quiet', false],
    ['request', 'answered', 'answered', 'good', true],
  ] as const)('of %s %j is called %s', (machine, value, label, tone, over) => {
    expect(stateLabel(machine, value)).toBe(label);
    expect(toneOf(label)).toBe(tone);
    expect(isOver(machine, label)).toBe(over);
  });
});

describe('a link', () => {
  it.each([
    '#',
    '#task=t1',
    '#view=mail&task=t1&at=7',
    '#view=steps&actor=a1&agent=a1&kind=reply&search=two+words',
  ])('%s says the same again', (hash) => {
    expect(formatLink(parseLink(hash))).toBe(hash);
  });

  it('to a task opens its page, and its chart', () => {
    expect(parseLink('#task=t1&at=4')).toMatchObject({ view: 'task', actor: 't1', at: 4 });
  });

  it.each(['#at=x', '#at=-1', '#at=1.5', '#view=nowhere', '#%'])('%s does no harm', (hash) => {
    expect(parseLink(hash)).toMatchObject({ view: 'mail', at: undefined });
  });
});

describe('the filters', () => {
  const names = createNames({
    agents: [{ id: 'a', agent: 'scout', label: 'north', state: 'idle' }],
    tasks: [{ id: 't', agentId: 'a', description: 'Count the sheep.', state: 'running' }],
  });
  const none: Filters = { agent: undefined, task: undefined, kind: undefined, search: '' };
  const { mails } = historyOf(
    row(1, { moves: [move, { ...move, messageId: 'r', kind: 'receipt' }] }),
    row(2, { moves: [{ ...move, messageId: 'x', from: 'c', to: 'd', taskId: 'other' }] }),
  );
  const idsOf = (filters: Partial<Filters>) =>
    mails.filter((mail) => isWantedMail(mail, { ...none, ...filters }, names)).map(({ id }) => id);

  it('leave the conversation, unless more is asked for', () => {
    expect(idsOf({})).toEqual(['m', 'x']);
    expect(idsOf({ kind: 'everything' })).toEqual(['m', 'r', 'x']);
    expect(idsOf({ kind: 'receipt' })).toEqual(['r']);
  });

  it('take an agent, a task, and words of people', () => {
    expect(idsOf({ agent: 'd' })).toEqual(['x']);
    expect(idsOf({ task: 't' })).toEqual(['m']);
    expect(idsOf({ search: 'NORTH' })).toEqual(['m']);
  });

  it('find a step by what it touched', () => {
    const step = row(1, { actors: [task('running')] });
    const isWanted = (filters: Partial<Filters>) =>
      isWantedRow(step, { ...none, ...filters }, names);

    expect(isWanted({ task: 't' })).toBe(true);
    expect(isWanted({ task: 'other' })).toBe(false);
    expect(isWanted({ agent: 'a' })).toBe(true);
    expect(isWanted({ search: 'sheep' })).toBe(true);
    expect(isWanted({ search: 'goat' })).toBe(false);
  });
});

it.each([
  [840, '840 ms'],
  [4_200, '4.2 s'],
  [185_000, '3 min 5 s'],
  [7_800_000, '2 h 10 min'],
])('%d ms is called %s', (ms, words) => {
  expect(duration(ms)).toBe(words);
});
