import { describe, expect, it } from 'vitest';
import type { AgentEvent, AgentInput } from '../../machines/index.ts';
import {
  agentId,
  ask,
  assign,
  close,
  exited,
  startAgent,
  taskId,
  taskOf,
  turnSettled,
  type Agent,
} from '../support/agent-chart.ts';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';

const minute = 60_000;
const afterMs = 5 * minute;
const hour = 60 * minute;

function working(changes: Partial<AgentInput> = {}): { bench: ChartBench; agent: Agent } {
  const { bench, agent } = given(changes);
  agent.send(turnStarted());
  return { bench, agent };
}

/** Has a task, and has not begun it. */
function given(changes: Partial<AgentInput> = {}): { bench: ChartBench; agent: Agent } {
  const bench = openCharts();
  const agent = startAgent(bench, undefined, { stallAfterMs: afterMs, ...changes });
  agent.send({ type: 'agent.hello', atMs: 0 });
  agent.send(assign());
  taskOf(agent).send({ type: 'task.started', atMs: 0 });
  return { bench, agent };
}

const turnStarted = (atMs = 0): AgentEvent => ({ type: 'turn.started', atMs });
const active = (atMs: number): AgentEvent => ({ type: 'child.active', atMs });
const verified = (
  changes: Partial<Extract<AgentEvent, { type: 'stall.verified' }>> = {},
): AgentEvent => ({
  type: 'stall.verified',
  atMs: 0,
  presence: 'present',
  movedAtMs: 0,
  ...changes,
});
const bailed = (atMs: number): AgentEvent => ({
  type: 'child.bailed',
  atMs,
  spawnDeadlineAtMs: atMs + 20_000,
});

const livenessOf = (agent: Agent) => agent.getSnapshot().value.liveness;
const recoveryOf = (agent: Agent) => agent.getSnapshot().value.recovery;
const said = (bench: ChartBench) =>
  bench.facts.flatMap((fact) =>
    /stall|bail|fresh|recovered|surfaced/.test(fact.type)
      ? [fact.type === 'agent.surfaced' ? `${fact.type} ${fact.reason}` : fact.type]
      : [],
  );

/** Silent until its process and transcript have been asked for. */
function suspected(changes: Partial<AgentInput> = {}) {
  const { bench, agent } = working({ stallRecovery: 'auto', ...changes });
  bench.clock.advanceTo(afterMs + 1);
  expect(recoveryOf(agent)).toBe('suspected');
  bench.clock.advanceTo(afterMs + 5_001);
  expect(recoveryOf(agent)).toBe('verifying');
  return { bench, agent };
}

describe('A7. Silence', () => {
  it('is a stall once it is older than the threshold, not when it is as old', () => {
    const { bench, agent } = working();
    bench.clock.advanceTo(afterMs);
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
    bench.clock.advanceTo(afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
    expect(said(bench)).toEqual(['agent.stalled']);
  });

  it('is broken by each sign of life, 25 minutes of a tool that reports activity too', () => {
    const { bench, agent } = working();
    for (let atMs = minute; atMs <= 25 * minute; atMs += minute) {
      bench.clock.advanceTo(atMs);
      agent.send(active(atMs));
    }
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
    bench.clock.advanceTo(30 * minute + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('is not counted backwards by news that comes late', () => {
    const { bench, agent } = working();
    bench.clock.advanceTo(2 * minute);
    agent.send(active(2 * minute));
    agent.send(active(minute));
    bench.clock.advanceTo(7 * minute);
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
  });

  it('says nothing between turns', () => {
    const { bench, agent } = working();
    agent.send(turnSettled);
    bench.clock.advanceTo(10 * hour);
    expect(livenessOf(agent)).toEqual({ active: 'resting' });
    expect(said(bench)).toEqual([]);
  });

  it('is a stall, too, of a child that does not even begin what it was given', () => {
    const { bench, agent } = given();
    bench.clock.advanceTo(afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('is a stall, too, of an idle child that does not hear what it was told', () => {
    const { bench, agent } = working();
    agent.send(turnSettled);
    bench.clock.advanceTo(hour);
    agent.send({ type: 'child.called', messageId: 'm1', atMs: hour });
    bench.clock.advanceTo(hour + afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('says nothing when nobody watches', () => {
    const { bench, agent } = working({ stallAfterMs: null });
    bench.clock.advanceTo(100 * hour);
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
  });

  it.each([
    ['its task requires a reply', (agent: Agent) => taskOf(agent).send(ask('r1', taskId) as never)],
    ['it has a question of its own', (agent: Agent) => agent.send(ask('r1'))],
    ['a person is awaited', (agent: Agent) => agent.send({ type: 'human.awaited', atMs: minute })],
  ])('is none while %s', (_why, begin) => {
    const { bench, agent } = working();
    bench.clock.advanceTo(minute);
    begin(agent);
    bench.clock.advanceTo(afterMs + 1);
    expect(livenessOf(agent)).toEqual({ active: 'exempt' });
    bench.clock.advanceTo(9 * minute);
    expect(said(bench)).toEqual([]);
  });

  it('counts anew from the end of what exempted it', () => {
    const { bench, agent } = working();
    agent.send({ type: 'human.awaited', atMs: 0 });
    bench.clock.advanceTo(hour);
    agent.send({ type: 'human.answered', atMs: hour });
    bench.clock.advanceTo(hour + afterMs);
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
    bench.clock.advanceTo(hour + afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('counts anew from the answer to its question', () => {
    const { bench, agent } = working();
    taskOf(agent).send(ask('r1', taskId) as never);
    bench.clock.advanceTo(9 * minute);
    const answer = {
      type: 'reply.received',
      replyTo: 'r1',
      fromId: 'a2',
      messageId: 'm2',
    } as const;
    taskOf(agent)
      .getSnapshot()
      .children['r1']?.send({ ...answer, atMs: 9 * minute } as never);
    bench.clock.advanceTo(9 * minute + afterMs);
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
    bench.clock.advanceTo(9 * minute + afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('is no stall of a child that is only asked: that exempts nobody', () => {
    const { bench, agent } = working();
    agent.send({ type: 'child.called', messageId: 'm1', atMs: 0 });
    bench.clock.advanceTo(afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('begins when a provider that refuses takes requests again', () => {
    const { bench, agent } = working();
    agent.send({ type: 'provider.throttled', untilMs: 20 * minute });
    bench.clock.advanceTo(20 * minute + afterMs);
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
    bench.clock.advanceTo(20 * minute + afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('begins when a host is back that has slept for 8 hours', () => {
    const { bench, agent } = working();
    // The timers that fell due meanwhile fire only when this is known.
    bench.clock.moveTo(8 * hour);
    agent.send({ type: 'host.away', atMs: 8 * hour });
    bench.clock.advanceTo(8 * hour + afterMs);
    expect(livenessOf(agent)).toEqual({ active: 'watched' });
    expect(said(bench)).toEqual([]);
  });

  it('keeps its instant over a restart', () => {
    const { bench, agent } = working();
    bench.clock.advanceTo(2 * minute);
    agent.send(active(2 * minute));
    const snapshot = persist(agent);

    const later = openCharts(3 * minute);
    const again = startAgent(later, snapshot);
    again.send({ type: 'session.resumed' });
    later.clock.advanceTo(7 * minute);
    expect(livenessOf(again)).toEqual({ active: 'watched' });
    later.clock.advanceTo(7 * minute + 1);
    expect(livenessOf(again)).toBe('stalled');
  });
});

describe('A8. A stalled child', () => {
  it('is let be when what it did was only on its way', () => {
    const { bench, agent } = working();
    bench.clock.advanceTo(afterMs + 1);
    agent.send(active(afterMs));
    expect(agent.getSnapshot().value).toMatchObject({
      liveness: { active: 'watched' },
      recovery: 'none',
    });
    expect(said(bench)).toEqual(['agent.stalled', 'agent.stall_cleared']);
  });

  it('is let be when its transcript has moved', () => {
    const { bench, agent } = suspected();
    agent.send(verified({ movedAtMs: 4 * minute }));
    expect(agent.getSnapshot().value).toMatchObject({
      liveness: { active: 'watched' },
      recovery: 'none',
    });
    bench.clock.advanceTo(4 * minute + afterMs + 1);
    expect(livenessOf(agent)).toBe('stalled');
  });

  it('is no stall of ours when its process has ended: that is told by itself', () => {
    const { bench, agent } = suspected();
    agent.send(verified({ presence: 'gone' }));
    expect(recoveryOf(agent)).toBe('none');
    agent.send(exited);
    expect(agent.getSnapshot().matches({ process: 'lost' })).toBe(true);
    expect(said(bench)).not.toContain('agent.bail');
  });

  it('is told of and left to the Shepherd where that is set', () => {
    const { bench, agent } = suspected({ stallRecovery: 'notify' });
    agent.send(verified());
    expect(recoveryOf(agent)).toBe('surfaced');
    expect(said(bench)).toEqual([
      'agent.stalled',
      'agent.verify_stall',
      'agent.surfaced not_automatic',
    ]);
    bench.clock.advanceTo(10 * hour);
    expect(said(bench)).toHaveLength(3);
  });

  it('is replaced: bailed, its end is no loss, a fresh one is launched and recovers', () => {
    const { bench, agent } = suspected();
    agent.send(verified());
    expect(recoveryOf(agent)).toBe('bailing');
    // It took the abort of its turn.
    agent.send(turnSettled);
    agent.send(exited);
    expect(agent.getSnapshot().matches({ process: 'ready' })).toBe(true);
    agent.send(bailed(6 * minute));
    expect(agent.getSnapshot().value).toMatchObject({
      process: 'starting',
      slot: { occupied: 'expected' },
      liveness: { active: 'called' },
      recovery: 'dispatching',
    });
    expect(agent.getSnapshot().context).toMatchObject({ launch: 2, dispatchesLeft: 0 });
    agent.send({ type: 'agent.hello', atMs: 6 * minute + 1_000 });
    expect(recoveryOf(agent)).toBe('recovered');
    expect(taskOf(agent).getSnapshot().value).toEqual({ open: 'running' });
    expect(said(bench)).toEqual([
      'agent.stalled',
      'agent.verify_stall',
      'agent.bail',
      'agent.launch_fresh',
      'agent.recovered',
    ]);
  });

  it('that stalls again is left to the Shepherd when its task has had its fresh child', () => {
    const { bench, agent } = suspected();
    agent.send(verified());
    agent.send(bailed(6 * minute));
    agent.send({ type: 'agent.hello', atMs: 6 * minute });
    agent.send(turnStarted(6 * minute));
    bench.clock.advanceTo(12 * minute);
    agent.send(verified());
    expect(recoveryOf(agent)).toBe('surfaced');
    expect(said(bench).at(-1)).toBe('agent.surfaced cap_reached');
    expect(said(bench).filter((fact) => fact.startsWith('agent.surfaced'))).toHaveLength(1);
  });

  it.each([
    ['its process cannot be seen', verified({ presence: 'unknown' }), 'no_evidence'],
    ['no fresh child is allowed', verified(), 'cap_reached'],
  ])('is left to the Shepherd when %s', (_why, event, reason) => {
    const maxFreshDispatches = reason === 'cap_reached' ? 0 : 1;
    const { bench, agent } = suspected({ maxFreshDispatches });
    agent.send(event);
    expect(said(bench).at(-1)).toBe(`agent.surfaced ${reason}`);
  });

  it('is left to the Shepherd when it has no task', () => {
    const bench = openCharts();
    const agent = startAgent(bench, undefined, { stallAfterMs: afterMs, stallRecovery: 'auto' });
    agent.send({ type: 'agent.hello', atMs: 0 });
    agent.send(turnStarted());
    bench.clock.advanceTo(afterMs + 5_001);
    agent.send(verified());
    expect(said(bench).at(-1)).toBe('agent.surfaced no_task');
  });

  it('is left to the Shepherd when its end cannot be proven', () => {
    const { bench, agent } = suspected();
    agent.send(verified());
    agent.send({ type: 'bail.failed' });
    expect(recoveryOf(agent)).toBe('surfaced');
    expect(said(bench).at(-1)).toBe('agent.surfaced bail_failed');
    expect(agent.getSnapshot().matches({ process: 'ready' })).toBe(true);
  });

  it('is closed when its task has ended while it was bailed', () => {
    const { bench, agent } = suspected();
    agent.send(verified());
    taskOf(agent).send({ type: 'task.done', status: 'completed', override: false, atMs: 1 });
    agent.send(bailed(6 * minute));
    expect(agent.getSnapshot().value).toMatchObject({ process: 'closed', recovery: 'none' });
    expect(bench.told()).toContainEqual({ type: 'agent.ended', agentId, state: 'closed' });
  });

  it('is closed by whoever asks for it while it is bailed, and by nobody twice', () => {
    const { bench, agent } = suspected();
    agent.send(verified());
    agent.send(close);
    expect(agent.getSnapshot().value).toMatchObject({ process: 'closing', recovery: 'none' });
    agent.send(bailed(6 * minute));
    expect(agent.getSnapshot().matches({ process: 'closing' })).toBe(true);
    expect(said(bench)).not.toContain('agent.launch_fresh');
  });

  it('keeps the question that its task waits for, and the wait', () => {
    const { agent } = suspected();
    taskOf(agent).send(ask('r1', taskId) as never);
    agent.send(verified());
    agent.send(bailed(6 * minute));
    expect(agent.getSnapshot().matches({ slot: { occupied: 'waiting' } })).toBe(true);
    expect(taskOf(agent).getSnapshot().matches({ open: 'waiting' })).toBe(true);
  });

  it('fails its task when the fresh child never says hello', () => {
    const { bench, agent } = suspected();
    agent.send(verified());
    agent.send(bailed(6 * minute));
    bench.clock.advanceTo(6 * minute + 20_000);
    expect(agent.getSnapshot().matches({ process: 'failed' })).toBe(true);
    expect(bench.facts).toContainEqual(
      expect.objectContaining({
        type: 'task.settled',
        outcome: expect.objectContaining({ status: 'failed' }) as unknown,
      }),
    );
  });

  it('gives a later task its own fresh children', () => {
    const { agent } = suspected();
    agent.send(verified());
    agent.send(bailed(6 * minute));
    agent.send({ type: 'agent.hello', atMs: 6 * minute });
    taskOf(agent).send({ type: 'task.done', status: 'completed', override: false, atMs: 1 });
    agent.send(assign('t2'));
    expect(agent.getSnapshot().context).toMatchObject({ taskId: 't2', dispatchesLeft: 1 });
  });

  it.each(['suspected', 'verifying', 'bailing', 'dispatching'] as const)(
    'goes on over a restart while it is %s',
    (at) => {
      const { bench, agent } = working({ stallRecovery: 'auto' });
      bench.clock.advanceTo(afterMs + 1);
      if (at !== 'suspected') bench.clock.advanceTo(afterMs + 5_001);
      if (at === 'bailing' || at === 'dispatching') agent.send(verified());
      if (at === 'dispatching') agent.send(bailed(afterMs + 5_001));
      const before = agent.getSnapshot().value;
      const snapshot = persist(agent);

      const later = openCharts(afterMs + 5_002);
      const again = startAgent(later, snapshot);
      expect(again.getSnapshot().value).toEqual(before);
      again.send({ type: 'session.resumed' });
      later.clock.advanceTo(afterMs + 5_002);
      expect(recoveryOf(again)).toBe(at === 'suspected' ? 'verifying' : at);
      expect(said(later)).toEqual(at === 'suspected' ? ['agent.verify_stall'] : []);
    },
  );
});
