/** Paths through charts: the one place where tests meet `@xstate/graph`. */
import { getShortestPaths } from '@xstate/graph';
import type { SnapshotFrom } from 'xstate';
import { taskMachine, type TaskEvent, type TaskInput } from '../../machines/index.ts';

/** The task chart for pure transitions: `sendParent` has nobody to send to there. */
export const soloTask = taskMachine.provide({
  actions: { tellOwner: () => {}, tellWait: () => {} },
});

type TaskSnapshot = SnapshotFrom<typeof soloTask>;

export interface TaskPath {
  /** State value that the path ends in. */
  readonly value: unknown;
  /** What happens on the way, without XState's own first event. */
  readonly events: readonly TaskEvent[];
}

/** The shortest way into every state that differs in value, in its dispatch, or in its open requests. */
export function shortestTaskPaths(
  input: TaskInput,
  eventsOf: (state: TaskSnapshot) => readonly TaskEvent[],
): readonly TaskPath[] {
  const paths = getShortestPaths(soloTask, {
    input,
    events: (state) => [...eventsOf(state)],
    serializeState: ({ value, context }) =>
      JSON.stringify([
        value,
        context.dispatchedAtMs,
        context.requests.map((request) => request.requestId),
      ]),
    limit: 2_000,
  });
  return paths.map((path) => ({
    value: path.state.value,
    events: path.steps.map((step) => step.event).filter((event) => !isInit(event)),
  }));
}

function isInit(event: { readonly type: string }): boolean {
  return event.type === 'xstate.init';
}
