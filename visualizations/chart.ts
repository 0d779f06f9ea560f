/** A machine as plain data: its states in order, and each transition once, with words for guard and actions. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';

export interface ChartTransition {
  /** Path of the state that it leaves, and of the one that it enters; none stays where it is. */
  readonly from: readonly string[];
  readonly to: readonly string[] | undefined;
  /** The event, or what passes: `after spawnDeadline`. */
  readonly on: string;
  readonly isDelayed: boolean;
  readonly guard: string | undefined;
  readonly actions: readonly string[];
}

export interface ChartState {
  readonly path: readonly string[];
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly initial: readonly string[] | undefined;
  readonly description: string | undefined;
  readonly states: readonly ChartState[];
}

export interface Chart {
  readonly root: ChartState;
  readonly transitions: readonly ChartTransition[];
}

export function chartOf(machine: AnyStateMachine): Chart {
  const transitions: ChartTransition[] = [];
  return { root: stateOf(machine.root, transitions), transitions };
}

function stateOf(node: AnyStateNode, transitions: ChartTransition[]): ChartState {
  for (const [descriptor, candidates] of node.transitions) {
    for (const { target, guard, actions, reenter } of candidates) {
      const delay = /^xstate\.after\.(.+?)\./.exec(descriptor)?.[1];
      const [to] = target ?? [];
      transitions.push({
        from: node.path,
        to: to === undefined || (to === node && !reenter) ? undefined : to.path,
        on: delay === undefined ? descriptor : `after ${delay}`,
        isDelayed: delay !== undefined,
        guard: guard === undefined ? undefined : guardText(guard),
        actions: actions.map(actionText).filter((text) => text !== ''),
      });
    }
  }
  const [initial] = node.type === 'compound' ? node.initial.target : [];
  return {
    path: node.path,
    type: node.type,
    initial: initial?.path,
    description: node.description,
    states: Object.values(node.states).map((child) => stateOf(child, transitions)),
  };
}

/** `isAlive and not hasQueued`. A guard that is made of others keeps them on the function. */
function guardText(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  if (typeof guard === 'function') {
    const parts: unknown = Reflect.get(guard, 'guards');
    const names = Array.isArray(parts) ? parts.map(guardText) : [];
    const kind = kindOf(guard);
    if (kind === 'not') return `not ${names[0] ?? ''}`;
    return names.length === 0 ? 'a condition' : names.join(` ${kind} `);
  }
  if (typeof guard === 'object' && guard !== null && 'type' in guard) return String(guard.type);
  return 'a condition';
}

/** XState marks them `xstate.and` and so on. */
function kindOf(guard: object): string {
  const check: unknown = Reflect.get(guard, 'check');
  const name = typeof check === 'function' ? check.name : '';
  return /not/i.test(name) ? 'not' : /or/i.test(name) ? 'or' : 'and';
}

/** The name of an action, with what it is given: `tellTask agent.lost`. */
function actionText(action: unknown): string {
  if (typeof action === 'string') return action;
  if (typeof action !== 'object' || action === null || !('type' in action)) return '';
  const { type } = action;
  const params: unknown = 'params' in action ? action.params : undefined;
  const given = typeof params === 'object' && params !== null ? Object.values(params) : [];
  return [String(type), ...given.map(String)].join(' ');
}
