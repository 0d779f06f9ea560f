/**
 * One child agent: the process it runs in, the one task it has, and whether it is alive.
 *
 * Owns: the agent's process state, its task slot, its liveness, and the questions it asked outside of
 * a task. Never: how a task ends (`task.ts` decides, this one only says what happened to the
 * process), where the process runs (a host), what was said.
 *
 * A1. `ready` only after the child's own `hello`; without it the spawn deadline fails the agent.
 * A2. A turn that starts or ends moves the process region only; it never reaches the task.
 * A3. At most one task; the slot frees when that task has settled and its child has let go of it, by
 *     its own word or with its turn; one that does not is bailed, and the Shepherd told.
 *     Tasks queued behind it are held as they were created, and begin in order, never within the turn
 *     that ended the one before.
 * A4. An agent that is lost fails its task; one that is closed cancels it.
 * A5. An ended agent (closed, failed, lost) takes no further event.
 * A6. A turn that ends with the task open and nothing outstanding is reminded of `shepherd_done`, as
 *     often as `doneNudges` says; then it is reported, once. An aborted or failed turn never is, nor
 *     one behind which something is on its way that wakes the child.
 * A7. A child of which a turn is expected, or that is in one, and that shows nothing for the whole of
 *     `stallAfterMs` has stalled. One that has asked and waits, or for whom a person is awaited, has not.
 * A8. A stalled child is looked at before anything is done. It is replaced only where that is allowed,
 *     its process is proven ended, and its task may have one more; else the Shepherd is told, once.
 * A9. An agent that is not to be kept is closed when its last task has settled and it has been at rest
 *     for the whole of `closeIdleAfterMs`; one that never had a task is kept.
 */
import type { ActorRefFrom } from 'xstate';
import { livenessRegion } from './agent/liveness.ts';
import { processRegion } from './agent/process.ts';
import { recoveryRegion } from './agent/recovery.ts';
import { agentSetup } from './agent/setup.ts';
import { slotRegion } from './agent/slot.ts';

export type * from './agent/types.ts';

export const agentMachine = agentSetup.createMachine({
  id: 'agent',
  description: 'One child agent: process, task slot, liveness and recovery, side by side.',
  context: ({ input }) => ({
    ...input,
    taskId: null,
    promptId: null,
    queue: [],
    nudgesLeft: 0,
    releasingId: null,
    drainDeadlineAtMs: null,
    idleCloseAtMs: null,
    call: null,
    requestIds: [],
    progressAtMs: null,
    suspectedAtMs: null,
    dispatchesLeft: input.maxFreshDispatches,
  }),
  type: 'parallel',
  on: {
    'session.resumed': { target: '.resumed', reenter: true, actions: 'resumeChildrenNext' },
    'children.resume': { actions: 'resumeChildren' },
    'xstate.done.actor.*': { actions: 'reapChild' },
  },
  states: {
    resumed: {
      type: 'history',
      history: 'deep',
      description: 'After a restart: every region back to where it was, timers re-armed.',
    },
    process: processRegion,
    slot: slotRegion,
    liveness: livenessRegion,
    recovery: recoveryRegion,
  },
});

export type AgentActor = ActorRefFrom<typeof agentMachine>;
