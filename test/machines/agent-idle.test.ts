import { describe, expect, it } from 'vitest';
import {
  ask,
  assign,
  startAgent,
  startAtWork,
  taskOf,
  turnSettled,
  turnStarted,
  type Agent,
} from '../support/agent-chart.ts';
import { openCharts, persist } from '../support/clock.ts';

const kept = { closeIdleAfterMs: 10_000 };

function finished(changes: { readonly closeIdleAfterMs: number | null } = kept) {
  const bench = openCharts();
  const agent = startAtWork(bench, null, changes);
  taskOf(agent).send({ type: 'task.done', status: 'completed', override: false, atMs: 1_000 });
  agent.send({ ...turnSettled, atMs: 2_000 } as typeof turnSettled);
  return { bench, agent };
}

const isClosing = (agent: Agent) => agent.getSnapshot().matches({ process: 'closing' });

describe('A9. An agent that is not to be kept', () => {
  it('is closed when it has been at rest for the whole time since its task', () => {
    const { bench, agent } = finished();
    bench.clock.advanceTo(11_999);
    expect(isClosing(agent)).toBe(false);
    bench.clock.advanceTo(12_000);
    expect(isClosing(agent)).toBe(true);
  });

  it('is kept when the setting says so, and when it never had a task', () => {
    const { bench, agent } = finished({ closeIdleAfterMs: null });
    bench.clock.advanceTo(1_000_000);
    expect(isClosing(agent)).toBe(false);

    const other = openCharts();
    const fresh = startAgent(other, undefined, kept);
    fresh.send({ type: 'agent.hello', atMs: 1 });
    other.clock.advanceTo(1_000_000);
    expect(isClosing(fresh)).toBe(false);
  });

  it.each([
    ['is given another task', (agent: Agent) => agent.send(assign('t2'))],
    ['works', (agent: Agent) => agent.send(turnStarted)],
    ['has asked something', (agent: Agent) => agent.send(ask('r1'))],
  ])('is kept while it %s', (_what, keep) => {
    const { bench, agent } = finished();
    bench.clock.advanceTo(5_000);
    keep(agent);
    bench.clock.advanceTo(40_000);
    expect(isClosing(agent)).toBe(false);
  });

  it('counts anew from the end of what it did meanwhile, and from what it is told', () => {
    const { bench, agent } = finished();
    agent.send(turnStarted);
    bench.clock.advanceTo(30_000);
    agent.send({ ...turnSettled, atMs: 30_000 } as typeof turnSettled);
    bench.clock.advanceTo(35_000);
    agent.send({ type: 'child.called', messageId: 'm1', atMs: 35_000 });
    bench.clock.advanceTo(44_999);
    expect(isClosing(agent)).toBe(false);
    bench.clock.advanceTo(45_000);
    expect(isClosing(agent)).toBe(true);
  });

  it('is closed at the same instant after a restart', () => {
    const { agent } = finished();
    const later = openCharts(5_000);
    const again = startAgent(later, persist(agent));
    again.send({ type: 'session.resumed' });
    later.clock.advanceTo(11_999);
    expect(isClosing(again)).toBe(false);
    later.clock.advanceTo(12_000);
    expect(isClosing(again)).toBe(true);
  });
});
