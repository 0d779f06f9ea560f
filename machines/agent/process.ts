/** The child's process, as far as it has been observed (A1, A2, A4, A5). */
import { agentSetup } from './setup.ts';

/** The actions of an agent that ends by itself: its task fails, its questions are withdrawn (A4). */
function end(state: 'failed' | 'lost') {
  return [
    { type: 'tellTask', params: { type: 'agent.lost' } },
    'cancelRequests',
    { type: 'recordAgentState', params: { state } },
    { type: 'tellSession', params: { state } },
  ] as const;
}

/** The actions of an agent whose process is ended on purpose. */
const close = [
  'cancelRequests',
  'endProcess',
  { type: 'recordAgentState', params: { state: 'closing' } },
] as const;

export const processRegion = agentSetup.createStateConfig({
  description: 'The child’s process, as far as it has been observed.',
  initial: 'starting',
  states: {
    starting: {
      description: 'Launched; the child has not said hello yet.',
      after: {
        spawnDeadline: {
          target: 'failed',
          actions: ['endProcess', ...end('failed')],
        },
      },
      on: {
        'agent.hello': {
          target: 'ready',
          actions: { type: 'recordAgentState', params: { state: 'idle' } },
        },
        'launch.failed': {
          target: 'failed',
          actions: [...end('failed')],
        },
        'process.exited': {
          target: 'failed',
          actions: [...end('failed')],
        },
        'agent.close': {
          target: 'closing',
          actions: [{ type: 'tellTask', params: { type: 'agent.closed' } }, ...close],
        },
      },
    },
    ready: {
      description: 'The child said hello and can be given work.',
      tags: 'ready',
      initial: 'idle',
      on: {
        'process.exited': [
          // Its end is what is wanted; whether all of it is gone is for `child.bailed` to say.
          { guard: 'isBailing' },
          { target: 'lost', actions: [...end('lost')] },
        ],
        'child.bailed': [
          {
            guard: 'hasTask',
            target: 'starting',
            actions: [
              'beginLaunch',
              { type: 'recordAgentState', params: { state: 'starting' } },
              'launchFresh',
            ],
          },
          // Its task ended meanwhile: nothing is left that a fresh child could do.
          {
            target: 'closed',
            actions: [
              'cancelRequests',
              { type: 'recordAgentState', params: { state: 'closed' } },
              { type: 'tellSession', params: { state: 'closed' } },
            ],
          },
        ],
        'agent.close': {
          target: 'closing',
          actions: [{ type: 'tellTask', params: { type: 'agent.closed' } }, ...close],
        },
        'agent.bail': {
          target: 'closing',
          actions: [{ type: 'tellTask', params: { type: 'agent.closed' } }, ...close],
        },
      },
      states: {
        idle: {
          description: 'No turn runs. Says nothing about the task.',
          on: {
            'turn.started': {
              target: 'working',
              actions: { type: 'recordAgentState', params: { state: 'working' } },
            },
          },
        },
        working: {
          description: 'A turn runs.',
          on: {
            'turn.settled': {
              target: 'idle',
              actions: { type: 'recordAgentState', params: { state: 'idle' } },
            },
            'human.awaited': {
              target: 'blocked',
              actions: { type: 'recordAgentState', params: { state: 'blocked' } },
            },
          },
        },
        blocked: {
          description: 'The turn waits for a person: a permission or a dialog.',
          on: {
            'human.answered': {
              target: 'working',
              actions: { type: 'recordAgentState', params: { state: 'working' } },
            },
            'turn.settled': {
              target: 'idle',
              actions: { type: 'recordAgentState', params: { state: 'idle' } },
            },
          },
        },
      },
    },
    closing: {
      description: 'Its process group is being ended; not closed before that is verified.',
      on: {
        // Asked once more: an end that could not be confirmed is tried again.
        'agent.close': { actions: 'endProcess' },
        'process.exited': {
          target: 'closed',
          actions: [
            { type: 'recordAgentState', params: { state: 'closed' } },
            { type: 'tellSession', params: { state: 'closed' } },
          ],
        },
      },
    },
    closed: { tags: 'ended', description: 'Ended on purpose, and proven gone.' },
    failed: { tags: 'ended', description: 'Never became ready.' },
    lost: { tags: 'ended', description: 'Its process ended by itself.' },
  },
});
