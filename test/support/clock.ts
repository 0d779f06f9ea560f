/** A clock that tests move, and the real charts on it: timers fire in due order, nothing sleeps. */
import { createActor, fromTransition, type AnyActorRef, type EventObject } from 'xstate';
import { createCharts, type Charts, type Fact } from '../../src/runtime/charts.ts';
import { createActorClock, type ActorClock } from '../../src/runtime/clock.ts';

export interface SimulatedClock extends ActorClock {
  /**
   * Passes time: every timer due by `untilMs` fires in the order of the instants, also those that are
   * armed on the way. Time stands at a timer's own instant when it fires, at now for overdue ones.
   */
  advanceTo(untilMs: number): void;
}

export function createSimulatedClock(startMs = 0): SimulatedClock {
  const clock = createActorClock(startMs);
  return {
    ...clock,
    advanceTo(untilMs) {
      for (let due = clock.takeDue(untilMs); due !== undefined; due = clock.takeDue(untilMs)) {
        clock.moveTo(Math.max(clock.now(), due.atMs));
        due.fire();
      }
      clock.moveTo(untilMs);
    },
  };
}

/** A fact and the instant at which a chart recorded it. */
export type TimedFact = Fact & { readonly recordedAtMs: number };

/** The charts with the runtime's own meaning of time and actions; their facts are kept here. */
export interface ChartBench {
  readonly clock: SimulatedClock;
  readonly charts: Charts;
  /** Owns what a test starts: `createActor(charts.task, { parent: owner, … })`. */
  readonly owner: AnyActorRef;
  readonly facts: readonly TimedFact[];
  /** What the owner was told by the actors below it, in order. */
  told(): readonly EventObject[];
}

export function openCharts(startMs = 0): ChartBench {
  const clock = createSimulatedClock(startMs);
  const facts: TimedFact[] = [];
  const charts = createCharts({
    record: (fact) => facts.push({ ...fact, recordedAtMs: clock.now() }),
    now: () => clock.now(),
    find: () => undefined,
  });
  const listening = fromTransition(
    (heard: readonly EventObject[], event: EventObject) => [...heard, event],
    [],
  );
  const owner = createActor(listening, { clock }).start();
  return {
    clock,
    charts,
    owner,
    facts,
    told: () => owner.getSnapshot().context.filter((event) => !event.type.startsWith('xstate.')),
  };
}

/** What is left of an actor after a crash: its snapshot, by way of JSON. */
export function persist(actor: AnyActorRef): never {
  return JSON.parse(JSON.stringify(actor.getPersistedSnapshot())) as never;
}
