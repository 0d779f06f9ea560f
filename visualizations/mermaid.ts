/** A chart as a Mermaid state diagram, flat enough to be read on a code host. */
import type { Chart, ChartState, ChartTransition } from './chart.ts';

export function mermaidOf(name: string, { root, transitions }: Chart): string {
  const shown = transitions.filter(({ on }) => !isInternal(on));
  return [
    `%% ${name}: made by npm run visualize; edits are lost.`,
    'stateDiagram-v2',
    ...inner(root, 1),
    ...merge(shown).map((line) => `  ${line}`),
    '',
  ].join('\n');
}

/** What the runtime sends for its own sake says nothing about the chart. */
const isInternal = (on: string): boolean =>
  on.startsWith('xstate.') || on === 'session.resumed' || on.endsWith('.resume');

function inner(state: ChartState, depth: number): string[] {
  const pad = '  '.repeat(depth);
  const states = state.states.filter(({ type }) => type !== 'history');
  const blocks = states.map((child) => {
    const lines = [`${pad}state "${child.path.at(-1) ?? ''}" as ${idOf(child.path)}`];
    if (child.states.length === 0) return lines;
    return [`${lines[0] ?? ''} {`, ...inner(child, depth + 1), `${pad}}`];
  });
  const initial = state.initial === undefined ? [] : [`${pad}[*] --> ${idOf(state.initial)}`];
  const finals = states.flatMap(({ type, path }) =>
    type === 'final' ? [`${pad}${idOf(path)} --> [*]`] : [],
  );
  const separator = state.type === 'parallel' ? [`${pad}--`] : [];
  return [
    ...initial,
    ...blocks.flatMap((block, index) => (index === 0 ? block : [...separator, ...block])),
    ...finals,
  ];
}

/** Transitions between the same two states are one arrow, with a line for each. */
function merge(transitions: readonly ChartTransition[]): string[] {
  const arrows = new Map<string, string[]>();
  for (const transition of transitions) {
    const { from, to } = transition;
    if (from.length === 0) continue;
    const arrow = `${idOf(from)} --> ${idOf(to ?? from)}`;
    arrows.set(arrow, [...(arrows.get(arrow) ?? []), labelOf(transition)]);
  }
  return [...arrows].map(([arrow, labels]) => `${arrow}: ${[...new Set(labels)].join('\\n')}`);
}

function labelOf({ on, guard, isDelayed }: ChartTransition): string {
  const condition = guard === undefined ? '' : ` [${guard}]`;
  // A colon and a semicolon would end the label.
  return `${isDelayed ? '⏱ ' : ''}${on}${condition}`.replaceAll(/[:;]/g, ' ');
}

const idOf = (path: readonly string[]): string => path.join('__').replaceAll('-', '_');
