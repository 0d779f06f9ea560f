import { describe, expect, it } from 'vitest';
import { herdRows, herdSummary } from '../../src/pi/render/herd-rows.ts';
import { columns } from '../../src/pi/render/text.ts';
import type { AgentStatus, TaskStatus } from '../../src/runtime/shepherd.ts';

const nowMs = 10 * 60_000;

function agent(label: string, changes: Partial<AgentStatus> = {}): AgentStatus {
  const id = `shepherd-agent-${label}`;
  return { id, agent: 'scout', label, state: 'idle', model: null, createdAtMs: 0, ...changes };
}

function task(state: TaskStatus['state'], changes: Partial<TaskStatus> = {}): TaskStatus {
  const base = { id: 't', agentId: 'a', description: 'Count.', states: [], requests: [] };
  return { ...base, state, ...changes };
}

const waiting = task('waiting', { waitingMs: 4 * 60_000 + 59_000, waitingOn: 'planner: plan' });

const draw = (agents: readonly AgentStatus[], width = 60): string[] =>
  herdRows(agents, { width, nowMs });

describe('the rows of a herd', () => {
  it('are none without a living agent', () => {
    expect(draw([])).toEqual([]);
    expect(draw([agent('one', { state: 'lost' }), agent('two', { state: 'closed' })])).toEqual([]);
  });

  it('say what each does, for how long, and for whom it waits', () => {
    expect(
      draw([
        agent('one', { state: 'working', task: task('running'), createdAtMs: nowMs - 65_000 }),
        agent('two', { task: waiting }),
        agent('three'),
      ]),
    ).toEqual([
      '╭─ shepherd ─── 1 working · 1 waiting ─────────────────────╮',
      '│ ⠋ 01:05  scout: one                              running │',
      '│ … 10:00  scout: two ⏳4m ←planner: plan          waiting │',
      '│ ○ 10:00  scout: three                               idle │',
      '╰──────────────────────────────────────────────────────────╯',
    ]);
  });

  it('mark a wait that is stale', () => {
    expect(draw([agent('one', { task: { ...waiting, stale: true } })])[1]).toContain(
      'waiting (stale) │',
    );
  });

  it('never exceed the width, whatever the names are, and keep the state', () => {
    const names = ['🐑'.repeat(40), '羊'.repeat(40), 'a\nb\u001b[31mc', 'é'.repeat(64)];
    for (let width = 8; width < 100; width += 7) {
      const rows = draw(
        names.map((name) => agent(name, { task: waiting })),
        width,
      );
      for (const row of rows) expect(columns(row)).toBeLessThanOrEqual(width);
    }
    expect(draw([agent(names[0] ?? '', { task: waiting })], 22)[1]).toMatch(/waiting │$/);
  });

  it('mark a child that has stalled, and say since when it shows nothing', () => {
    const stalled = agent('one', {
      state: 'working',
      task: task('running'),
      stalledMs: 6 * 60_000,
    });
    expect(draw([stalled])[1]).toMatch(/^│ ✗ .*stalled 6m │$/);
  });

  it('are ten at most, and count the rest', () => {
    const rows = draw(Array.from({ length: 30 }, (_, n) => agent(`n${n}`)));

    expect(rows).toHaveLength(10);
    expect(rows[8]).toContain('and 23 more');
  });
});

it('the summary counts working and waiting, else those that are there', () => {
  expect(herdSummary([agent('one'), agent('two')])).toBe('2 active');
  expect(herdSummary([agent('one', { state: 'working', task: waiting })])).toBe('1 waiting');
});
