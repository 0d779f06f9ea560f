/** What is being done about a stalled child (A8). */
import { and, or } from 'xstate';
import { agentSetup } from './setup.ts';

export const recoveryRegion = agentSetup.createStateConfig({
  description: 'What is being done about a stalled child.',
  initial: 'none',
  states: {
    none: {
      description: 'Nothing to recover from.',
      on: { 'stall.suspected': 'suspected' },
    },
    suspected: {
      description: 'It may have shown something that is still on its way.',
      after: { secondLook: { target: 'verifying', actions: 'verifyStall' } },
      on: { 'stall.cleared': 'none' },
    },
    verifying: {
      description: 'Its process and its transcript are looked at.',
      on: {
        'stall.cleared': 'none',
        'stall.verified': [
          { guard: or(['hasMoved', 'isGone']), target: 'none' },
          {
            guard: and(['mayReplace', 'hasTask']),
            target: 'bailing',
            actions: 'bailChild',
          },
          { target: 'surfaced', actions: 'surfaceStall' },
        ],
      },
    },
    bailing: {
      description: 'Its turn is aborted and its process ended; that end is no loss of the agent.',
      on: {
        'child.bailed': [{ guard: 'hasTask', target: 'dispatching' }, { target: 'none' }],
        'bail.failed': { target: 'surfaced', actions: 'surfaceStall' },
        'agent.close': 'none',
      },
    },
    dispatching: {
      description: 'A fresh child is being started; it has the task and a brief.',
      on: {
        'agent.hello': { target: 'recovered', actions: 'recordRecovered' },
        'agent.close': 'none',
      },
    },
    recovered: {
      description: 'A fresh child has taken over.',
      on: { 'stall.suspected': 'suspected' },
    },
    surfaced: {
      description: 'The Shepherd has been told, and decides.',
      on: { 'stall.cleared': 'none' },
    },
  },
});
