/** The one task, or prompt, that an agent may have, and what waits behind it (A3, A6, A9). */
import { and, not } from 'xstate';
import { agentSetup } from './setup.ts';

/** The actions of a task that waits for the slot. */
const hold = ['openTask', 'queueTask', 'recordQueue'] as const;

/** What a turn that left its task open leads to (A6). */
const forgotten = [
  {
    guard: and(['isForgotten', 'mayRemind']),
    actions: ['remindChild', 'countReminder'],
  },
  {
    guard: 'isForgotten',
    target: '#agent.slot.occupied.reported',
    actions: 'reportForgotten',
  },
] as const;

export const slotRegion = agentSetup.createStateConfig({
  description: 'The one task this agent may have.',
  initial: 'free',
  on: {
    // A question that no task requires belongs to the agent itself.
    'request.open': { guard: 'isAlive', actions: ['openRequest', 'keepRequest'] },
    'request.settled': { actions: 'dropRequest' },
    // A held task that ended: the child has never heard of it.
    'task.settled': { guard: 'isQueued', actions: ['unqueueTask', 'recordQueue'] },
  },
  states: {
    free: {
      description: 'Can be given a task.',
      after: {
        idleClose: [
          { guard: 'isAtRest', actions: 'closeIdle' },
          { target: 'free', reenter: true, actions: 'countRest' },
        ],
      },
      on: {
        'child.called': {
          guard: 'isToBeClosed',
          target: 'free',
          reenter: true,
          actions: 'countRest',
        },
        'task.assign': [
          {
            guard: and(['isAlive', not('hasQueued')]),
            target: 'occupied',
            actions: ['openTask', 'takeTask', 'dispatchTask'],
          },
          { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
        ],
        // What the turn still says is about the task that it ended, not about the next one.
        'turn.settled': [
          {
            guard: 'isToBeClosed',
            target: 'free',
            reenter: true,
            actions: ['countRest', 'offerSlot'],
          },
          { actions: 'offerSlot' },
        ],
        'prompt.open': {
          guard: and(['isAtRest', not('hasQueued')]),
          target: 'prompted',
          actions: ['openPrompt', 'takePrompt'],
        },
        'queue.advance': {
          guard: and(['isAlive', 'hasQueued']),
          target: 'occupied',
          actions: ['takeQueued', 'recordQueue', 'dispatchTask'],
        },
      },
    },
    occupied: {
      description: 'Has a task that has not settled.',
      initial: 'expected',
      on: {
        'task.settled': [
          {
            guard: and(['isOwnTask', 'settledFromOutside', 'isInTurn']),
            target: 'draining',
            actions: ['releaseTask', 'letGo', 'countRest'],
          },
          {
            guard: and(['isOwnTask', 'settledFromOutside']),
            target: 'free',
            actions: ['releaseTask', 'dropTask', 'countRest', 'offerSlot'],
          },
          {
            guard: and(['isOwnTask', 'isInTurn']),
            target: 'free',
            actions: ['dropTask', 'countRest'],
          },
          {
            guard: 'isOwnTask',
            target: 'free',
            actions: ['dropTask', 'countRest', 'offerSlot'],
          },
        ],
        'task.assign': { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
        'task.waiting': { target: '.waiting' },
        // The fresh child is given the task itself; what its predecessor was called for is in it.
        'child.bailed': {
          guard: not('isWaiting'),
          target: '.expected',
        },
        'actor.crashed': {
          actions: { type: 'tellTask', params: { type: 'actor.crashed' } },
        },
      },
      states: {
        expected: {
          description:
            'Its `shepherd_done` is expected. A turn that ends without it leads to a reminder.',
          on: {
            'turn.settled': [...forgotten],
            'child.called': { target: 'called', actions: 'keepCall' },
          },
        },
        called: {
          description:
            'Something that wakes the child is on its way to it: an answer, a question, a reminder. ' +
            'A turn that ends meanwhile is not the last one.',
          on: {
            'child.called': { actions: 'keepCall' },
            'call.settled': { guard: 'isCall', target: 'expected', actions: 'dropCall' },
            'turn.started': { guard: 'isAfterCall', target: 'expected', actions: 'dropCall' },
          },
        },
        waiting: {
          description: 'Its task requires a reply; a turn that ends here is as it should be.',
          on: {
            'child.called': { actions: 'keepCall' },
            'call.settled': { guard: 'isCall', actions: 'dropCall' },
            'turn.started': { guard: 'isAfterCall', actions: 'dropCall' },
            'task.resumed': [
              { guard: 'isCalled', target: 'called', actions: 'restoreReminders' },
              { target: 'expected', actions: 'restoreReminders' },
            ],
          },
        },
        reported: {
          description: 'Reminders did not help; the Shepherd has been told.',
        },
      },
    },
    prompted: {
      description: 'Has a prompt, which ends with the turn that it starts.',
      on: {
        'turn.started': { actions: 'passTurnOn' },
        'turn.settled': { actions: 'passTurnOn' },
        'actor.crashed': {
          actions: { type: 'tellTask', params: { type: 'actor.crashed' } },
        },
        'task.assign': { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
        'prompt.settled': {
          target: 'free',
          actions: ['dropPrompt', 'countRest', 'offerSlot'],
        },
      },
    },
    draining: {
      description: 'The task settled from outside; the child’s turn on it is being stopped.',
      after: {
        drainDeadline: { target: 'free', actions: ['reportBailed', 'bail', 'released'] },
      },
      on: {
        'release.told': { target: 'draining', reenter: true, actions: 'awaitRelease' },
        'task.released': {
          guard: 'isReleasing',
          target: 'free',
          actions: ['released', 'offerSlot'],
        },
        'turn.settled': { target: 'free', actions: ['released', 'offerSlot'] },
        'task.assign': { guard: and(['isAlive', 'mayQueue']), actions: [...hold] },
      },
    },
  },
});
