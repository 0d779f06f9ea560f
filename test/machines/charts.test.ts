import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { describe, expect, it } from 'vitest';
import * as machines from '../../machines/index.ts';

const charts = Object.entries(machines).filter(([name]) => name.endsWith('Machine')) as [
  string,
  AnyStateMachine,
][];

/** Everything an action, guard, delay or actor can be written as in a state's own definition. */
interface Written {
  readonly description?: unknown;
  readonly type?: unknown;
  readonly entry?: unknown;
  readonly exit?: unknown;
  readonly invoke?: unknown;
  readonly always?: unknown;
  readonly on?: Record<string, unknown>;
  readonly after?: Record<string, unknown>;
}

function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function transitionsOf(written: Written): readonly Record<string, unknown>[] {
  return [written.on, written.after, { always: written.always }]
    .flatMap((group) => Object.values(group ?? {}))
    .flatMap(listOf) as Record<string, unknown>[];
}

/** The name of an action or guard; anything that has none comes back as it is. */
function nameOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'type' in value ? value.type : value;
}

/** Guards, those inside of `and`, `or` and `not` too. */
function guardsOf(guard: unknown): readonly unknown[] {
  if (typeof guard !== 'function' || !('guards' in guard)) return [nameOf(guard)];
  return listOf(guard.guards).flatMap(guardsOf);
}

function writtenIn(machine: AnyStateMachine) {
  const states = nodesOf(machine.root).map((node) => ({
    id: node.id,
    node,
    written: node.config as Written,
  }));
  const transitions = states.flatMap(({ written }) => transitionsOf(written));
  return {
    states,
    actions: transitions.flatMap((transition) => listOf(transition['actions']).map(nameOf)),
    guards: transitions.flatMap((transition) => listOf(transition['guard']).flatMap(guardsOf)),
    delays: states.flatMap(({ written }) => Object.keys(written.after ?? {})),
  };
}

describe.each(charts)('%s', (_name, machine) => {
  const { states, actions, guards, delays } = writtenIn(machine);

  it('says what it is and what each of its states means', () => {
    const silent = states.filter(({ written }) => typeof written.description !== 'string');

    expect(silent.map(({ id }) => id)).toEqual([]);
  });

  it('names every action, guard and delay, so that pictures say something', () => {
    for (const name of [...actions, ...guards, ...delays]) expect(name).toMatch(/^[a-z][a-zA-Z]+$/);
  });

  it('implements what it names', () => {
    const { implementations } = machine;

    expect(Object.keys(implementations.actions)).toEqual(expect.arrayContaining(actions));
    expect(Object.keys(implementations.guards)).toEqual(expect.arrayContaining(guards));
    expect(Object.keys(implementations.delays)).toEqual(expect.arrayContaining(delays));
  });

  it.each([
    ['actions', actions],
    ['guards', guards],
    ['delays', delays],
  ] as const)('uses all %s that it implements', (kind, used) => {
    expect(new Set(used)).toEqual(new Set(Object.keys(machine.implementations[kind])));
  });

  it('does nothing on entry or exit and invokes nothing: states can be entered again', () => {
    const acting = states.filter(({ written }) =>
      [written.entry, written.exit, written.invoke].some((part) => listOf(part).length > 0),
    );

    expect(acting.map(({ id }) => id)).toEqual([]);
  });

  it('has no final state inside of a parallel one', () => {
    const isBelowParallel = (node: AnyStateNode): boolean =>
      node.parent !== undefined &&
      (node.parent.type === 'parallel' || isBelowParallel(node.parent));
    const lost = states.filter(({ node }) => node.type === 'final' && isBelowParallel(node));

    expect(lost.map(({ id }) => id)).toEqual([]);
  });

  it('takes no event by a wildcard, except from its own children', () => {
    const taken = states.flatMap(({ written }) => Object.keys(written.on ?? {}));
    const wild = taken.filter((type) => type.includes('*'));

    expect(wild.filter((type) => !/^xstate\.(?:done|error)\.actor\.\*$/.test(type))).toEqual([]);
  });
});

it('has a chart for each kind of actor', () => {
  expect(charts.map(([name]) => name).toSorted()).toEqual([
    'agentMachine',
    'promptMachine',
    'requestMachine',
    'sessionMachine',
    'taskMachine',
    'watcherMachine',
  ]);
});

it('spells the states of a task as the contract does', () => {
  const leaves = nodesOf(machines.taskMachine.root as AnyStateNode)
    .filter((node) => node.type === 'atomic' || node.type === 'final')
    .map((node) => (node.parent?.key === 'waiting' ? `waiting.${node.key}` : node.key));

  expect(leaves.toSorted()).toEqual([
    'blocked',
    'cancelled',
    'completed',
    'created',
    'failed',
    'running',
    'timed_out',
    'waiting.fresh',
    'waiting.stale',
  ]);
});
