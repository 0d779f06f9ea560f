/** Whether a child of which something is expected shows progress (A7). */
import { and, not } from 'xstate';
import { agentSetup } from './setup.ts';

/** What shows that a child goes on, or must be given its time anew (A7). */
const signs = [
  'turn.started',
  'child.active',
  'agent.hello',
  'human.answered',
  'task.resumed',
  'request.settled',
  'host.away',
  'child.called',
] as const;

/** The transitions that each sign of life leads to. */
function onSigns<T>(transition: T): Record<(typeof signs)[number], T> {
  return Object.fromEntries(signs.map((sign) => [sign, transition])) as Record<
    (typeof signs)[number],
    T
  >;
}

/** The actions when silence has lasted too long. */
const silent = ['noteSuspicion', 'recordStalled', 'suspect'] as const;

/** The actions when a stalled child shows something again. */
const goesOn = ['noteProgress', 'recordCleared', 'clear'] as const;

/** What begins the expectation of a turn: a task that the slot takes, or something that wakes. */
const expectTurn = {
  'task.assign': {
    guard: and(['isAlive', 'isFree', not('hasQueued')]),
    target: '#agent.liveness.active.called',
    actions: 'noteProgress',
  },
  'queue.advance': {
    guard: and(['isAlive', 'isFree', 'hasQueued']),
    target: '#agent.liveness.active.called',
    actions: 'noteProgress',
  },
} as const;

export const livenessRegion = agentSetup.createStateConfig({
  description: 'Whether a child of which something is expected shows progress.',
  initial: 'active',
  on: {
    'child.bailed': '.active.called',
    'stall.rules': { actions: 'takeStallRules' },
  },
  states: {
    active: {
      description: 'Nothing speaks against the agent being alive.',
      initial: 'resting',
      states: {
        resting: {
          description: 'No turn runs, and none is expected: silence says nothing.',
          on: {
            ...expectTurn,
            'child.called': { guard: 'isAlive', target: 'called', actions: 'noteProgress' },
            'turn.started': { guard: 'isAlive', target: 'watched', actions: 'noteProgress' },
          },
        },
        called: {
          description: 'It has been given something that wakes it; its turn is expected.',
          after: {
            stallDeadline: [
              { guard: not('isAlive'), target: 'resting' },
              { target: '#agent.liveness.stalled', actions: [...silent] },
            ],
          },
          on: {
            ...onSigns({ target: 'called', reenter: true, actions: 'noteProgress' }),
            'stall.rules': { target: 'called', reenter: true, actions: 'takeStallRules' },
            'turn.started': { target: 'watched', actions: 'noteProgress' },
            'task.settled': { guard: 'isOwnTask', target: 'resting' },
          },
        },
        watched: {
          description: 'A turn runs; each sign of progress starts its time anew.',
          after: {
            stallDeadline: [
              { guard: not('isAlive'), target: 'resting' },
              { guard: 'isExempt', target: 'exempt' },
              { target: '#agent.liveness.stalled', actions: [...silent] },
            ],
          },
          on: {
            ...onSigns({ target: 'watched', reenter: true, actions: 'noteProgress' }),
            'stall.rules': { target: 'watched', reenter: true, actions: 'takeStallRules' },
            'provider.throttled': {
              target: 'watched',
              reenter: true,
              actions: 'awaitProvider',
            },
            'turn.settled': [
              { guard: 'isCalled', target: 'called', actions: 'noteProgress' },
              { target: 'resting' },
            ],
          },
        },
        exempt: {
          description: 'A turn runs and waits: for the answer to its question, or for a person.',
          on: {
            ...onSigns({ target: 'watched', actions: 'noteProgress' }),
            'turn.settled': [
              { guard: 'isCalled', target: 'called', actions: 'noteProgress' },
              { target: 'resting' },
            ],
          },
        },
      },
    },
    stalled: {
      tags: 'stalled',
      description: 'Something is expected of the child, and it has shown nothing for too long.',
      on: {
        // The end of a turn that is aborted for good is no sign that it goes on.
        ...onSigns({
          guard: 'isLetBe',
          target: 'active.watched',
          actions: [...goesOn],
        }),
        'turn.settled': {
          guard: 'isLetBe',
          target: 'active.resting',
          actions: [...goesOn],
        },
        'task.settled': {
          guard: and(['isOwnTask', not('isInTurn'), 'isLetBe']),
          target: 'active.resting',
          actions: [...goesOn],
        },
        'stall.verified': {
          guard: 'hasMoved',
          target: 'active.watched',
          actions: ['noteMove', 'recordCleared'],
        },
      },
    },
  },
});
