/** A chart as a plain XState config, with names for guards and actions: what tools can import. */
import type { Chart, ChartState, ChartTransition } from './chart.ts';

interface ConfigTransition {
  readonly target?: string;
  readonly guard?: string;
  readonly actions?: readonly string[];
}

export interface ConfigState {
  readonly id?: string;
  readonly description?: string;
  readonly type?: string;
  readonly initial?: string;
  readonly on?: Readonly<Record<string, readonly ConfigTransition[]>>;
  readonly after?: Readonly<Record<string, readonly ConfigTransition[]>>;
  readonly states?: Readonly<Record<string, ConfigState>>;
}

export function configOf(name: string, { root, transitions }: Chart): ConfigState {
  const state = ({ path, type, initial, description, states }: ChartState): ConfigState => {
    const own = transitions.filter(({ from }) => from.join('.') === path.join('.'));
    const on = grouped(own.filter(({ isDelayed }) => !isDelayed));
    const after = grouped(own.filter(({ isDelayed }) => isDelayed));
    return {
      ...(path.length === 0 ? { id: name } : {}),
      ...(description === undefined ? {} : { description }),
      ...(type === 'parallel' || type === 'final' || type === 'history' ? { type } : {}),
      ...(initial === undefined ? {} : { initial: initial.at(-1) ?? '' }),
      ...(Object.keys(on).length === 0 ? {} : { on }),
      ...(Object.keys(after).length === 0 ? {} : { after }),
      ...(states.length === 0
        ? {}
        : {
            states: Object.fromEntries(
              states.map((child) => [child.path.at(-1) ?? '', state(child)]),
            ),
          }),
    };
  };

  function grouped(own: readonly ChartTransition[]): Record<string, ConfigTransition[]> {
    const groups: Record<string, ConfigTransition[]> = {};
    for (const { on, to, guard, actions } of own) {
      (groups[on.replace(/^after /, '')] ??= []).push({
        ...(to === undefined ? {} : { target: `#${[name, ...to].join('.')}` }),
        ...(guard === undefined ? {} : { guard }),
        ...(actions.length === 0 ? {} : { actions }),
      });
    }
    return groups;
  }

  return state(root);
}
