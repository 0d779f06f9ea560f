/** What a scenario of the demo is: who says what, what lets them go on, and how it must end. */
import type { Policy } from '../../runtime/policy.ts';
import type { Store } from '../../runtime/store.ts';
import type { Outline } from './report.ts';
import type { ModelStep } from './scripted-model.ts';

export interface Scenario {
  readonly name: string;
  /** With `ends`, its line in the README. */
  readonly shows: string;
  /** How it ends; `ok` in the report means just this. */
  readonly ends: string;
  /** What the Shepherd is asked: `for a survey`. */
  readonly asked: string;
  /** Numbers that differ from the product's. Without any the Shepherd runs the extension as it is installed. */
  readonly policy?: Partial<Policy>;
  /** Creates the parts of one run. */
  cast(): Cast;
  /** What a finished run must have led to; what it leaves out is not looked at. */
  mustEnd(found: Outline): Partial<Outline>;
}

export interface Cast {
  /** What each model says in its turns: `shepherd`, and agents by the name of their definition. */
  readonly steps: Readonly<Record<string, readonly ModelStep[]>>;
  /** Looks at the running session, many times, and lets models go on; a text ends the run as a fault. */
  readonly look?: (store: Store) => string | undefined;
  /** Whether what comes after the last task has come. Default: nothing comes. */
  readonly isOver?: (store: Store) => boolean;
}

/**
 * Hands a scenario's policy to the Shepherd's process, as JSON. No child inherits a variable whose name
 * begins so.
 */
export const policyVariable = 'SHEEPFOLD_DEMO_POLICY';

/** A place in a model's part that the scenario opens; whoever comes later goes through. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** The first task of an agent, by the name of its definition. */
export function taskOf(store: Store, agent: string) {
  const owner = agentOf(store, agent);
  return store.all('task').find(({ agentId }) => agentId === owner?.id);
}

function agentOf(store: Store, agent: string) {
  return store.all('agent').find(({ definition }) => definition.name === agent);
}

/** Its task waits although its process has nothing to do: what the one rule is about. */
export function isIdleAndWaiting(store: Store, agent: string): boolean {
  return taskOf(store, agent)?.state === 'waiting' && agentOf(store, agent)?.state === 'idle';
}
