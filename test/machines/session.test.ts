import { createActor } from 'xstate';
import { describe, expect, it } from 'vitest';
import type { AgentInput } from '../../machines/index.ts';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';

function agentOf(agentId: string): AgentInput {
  return {
    agentId,
    launch: 1,
    spawnDeadlineAtMs: 20_000,
    drainAfterMs: 10_000,
    doneNudges: 1,
    stallAfterMs: null,
    stallRecovery: 'notify',
    maxFreshDispatches: 1,
    closeIdleAfterMs: null,
  };
}

function startSession(bench: ChartBench, snapshot?: never) {
  const session = createActor(bench.charts.session, {
    id: 'session',
    clock: bench.clock,
    input: { sessionId: 's' },
    ...(snapshot === undefined ? {} : { snapshot }),
  });
  session.subscribe({ error: () => {} });
  return session.start();
}

type Session = ReturnType<typeof startSession>;

/** An agent under this session, as the runtime starts one when it hears `agent.start`. */
function startAgent(
  bench: ChartBench,
  session: Session,
  agentId: string,
  chart = bench.charts.agent,
) {
  const agent = createActor(chart, { parent: session, id: agentId, input: agentOf(agentId) });
  agent.subscribe({ error: () => {} });
  return agent.start();
}

const kinds = (bench: ChartBench) => bench.facts.map((fact) => fact.type);
const close = { type: 'session.close', atMs: 1 } as const;
const ended = (agentId: string) => ({ type: 'agent.ended', agentId, state: 'closed' }) as const;

describe('S1. Agents and watchers start and end by events; each is restored alone', () => {
  it('has an agent, a watcher and a question of the Shepherd started', () => {
    const bench = openCharts();
    const session = startSession(bench);
    const request = {
      requestId: 'q1',
      askerId: 'shepherd',
      recipientId: 'a1',
      taskId: null,
      openedAtMs: 0,
      deadlineAtMs: 1,
    };
    const watcher = { watcherId: 'w1', taskIds: ['t1'], coalesceMs: 25 };

    session.send({ type: 'agent.spawn', agent: agentOf('a1') });
    session.send({ type: 'watcher.open', watcher });
    session.send({ type: 'request.open', request });

    expect(bench.facts).toMatchObject([
      { type: 'agent.start', agent: agentOf('a1') },
      { type: 'watcher.start', watcher },
      { type: 'request.start', request },
    ]);
    expect(session.getSnapshot().context.liveAgents).toBe(1);
  });

  it('hears of the end of an agent that was started under it', () => {
    const bench = openCharts();
    const session = startSession(bench);
    session.send({ type: 'agent.spawn', agent: agentOf('a1') });
    const agent = startAgent(bench, session, 'a1');

    agent.send({ type: 'launch.failed', atMs: 5 });

    expect(kinds(bench)).toContain('agent.ended');
    expect(session.getSnapshot().context.liveAgents).toBe(0);
  });

  it('keeps agents out of its own snapshot, so that each is restored alone', () => {
    const bench = openCharts();
    const session = startSession(bench);
    session.send({ type: 'agent.spawn', agent: agentOf('a1') });
    const agent = startAgent(bench, session, 'a1');
    agent.send({ type: 'agent.hello', atMs: 1 });

    const later = openCharts(2);
    const resumed = startSession(later, persist(session));
    const restored = createActor(later.charts.agent, {
      parent: resumed,
      id: 'a1',
      input: agentOf('a1'),
      snapshot: persist(agent),
    }).start();

    expect((persist(session) as { children: object }).children).toEqual({});
    expect(restored.getSnapshot().matches({ process: { ready: 'idle' } })).toBe(true);
    restored.send({ type: 'process.exited', atMs: 3 });
    expect(resumed.getSnapshot().context.liveAgents).toBe(0);
  });

  it('has finished watchers and questions reaped, in every state', () => {
    const bench = openCharts();
    const session = startSession(bench);
    session.send(close);
    expect(session.getSnapshot().value).toBe('closed');

    session.send({ type: 'watcher.done', watcherId: 'w1' });
    session.send({ type: 'request.settled', requestId: 'q1', outcome: 'answered', atMs: 1 });

    expect(kinds(bench)).toEqual(['watcher.reap', 'request.reap']);
  });
});

describe('S2. An actor that throws is contained', () => {
  it('hears of it and lives on, and so do the others', () => {
    const bench = openCharts();
    const session = startSession(bench);
    const broken = bench.charts.agent.provide({
      actions: {
        recordAgentState: () => {
          throw new Error('bad grass');
        },
      },
    });
    const ill = startAgent(bench, session, 'ill', broken as typeof bench.charts.agent);
    const well = startAgent(bench, session, 'well');

    ill.send({ type: 'agent.hello', atMs: 1 });
    well.send({ type: 'agent.hello', atMs: 1 });

    expect(ill.getSnapshot().status).toBe('error');
    expect(bench.facts).toContainEqual(
      expect.objectContaining({
        type: 'actor.crashed',
        actorId: 'ill',
        error: expect.objectContaining({ message: 'bad grass' }),
      }),
    );
    expect(session.getSnapshot()).toMatchObject({ status: 'active', value: 'open' });
    expect(well.getSnapshot().hasTag('ready')).toBe(true);
  });
});

describe('S3. A closing session starts nothing and is closed with its last agent', () => {
  it('is closed at once without agents', () => {
    const bench = openCharts();
    const session = startSession(bench);

    session.send(close);

    expect(session.getSnapshot().value).toBe('closed');
  });

  it('asks every agent to close and waits for the last one', () => {
    const bench = openCharts();
    const session = startSession(bench);
    for (const id of ['a1', 'a2']) session.send({ type: 'agent.spawn', agent: agentOf(id) });

    session.send(close);
    expect(kinds(bench).at(-1)).toBe('agents.close');
    session.send(ended('a2'));
    expect(session.getSnapshot().value).toBe('closing');
    session.send(ended('a1'));

    expect(session.getSnapshot().value).toBe('closed');
  });

  it.each(['closing', 'closed'])('starts nothing while %s', (state) => {
    const bench = openCharts();
    const session = startSession(bench);
    if (state === 'closing') session.send({ type: 'agent.spawn', agent: agentOf('a1') });
    session.send(close);
    const before = bench.facts.length;

    session.send({ type: 'agent.spawn', agent: agentOf('a2') });
    session.send({
      type: 'watcher.open',
      watcher: { watcherId: 'w1', taskIds: ['t1'], coalesceMs: 25 },
    });

    expect(session.getSnapshot().value).toBe(state);
    expect(bench.facts).toHaveLength(before);
  });
});

describe('S4. Whoever opens a session again finds it open', () => {
  it('is open after its end', () => {
    const before = openCharts();
    const session = startSession(before);
    session.send(close);

    const bench = openCharts();
    const reopened = startSession(bench, persist(session));
    reopened.send({ type: 'session.reopened' });
    reopened.send({ type: 'agent.spawn', agent: agentOf('a1') });

    expect(reopened.getSnapshot()).toMatchObject({ value: 'open', context: { liveAgents: 1 } });
  });

  it('is open after its parent died while it closed; agents go on ending', () => {
    const before = openCharts();
    const session = startSession(before);
    for (const id of ['a1', 'a2']) session.send({ type: 'agent.spawn', agent: agentOf(id) });
    session.send(close);

    const reopened = startSession(openCharts(), persist(session));
    reopened.send({ type: 'session.reopened' });
    reopened.send(ended('a1'));

    expect(reopened.getSnapshot()).toMatchObject({ value: 'open', context: { liveAgents: 1 } });
  });
});
