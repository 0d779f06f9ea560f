/**
 * A laid out chart as SVG, for people: light and dark by themselves, in a page by its theme.
 *
 * A state's group has `data-state`, its id in XState; a transition has `data-edge`, `from|event|to`, with more of
 * them after a blank where several share an arrow. A viewer lights them up: `is-active`, `is-taken`.
 */
import type { ChartTransition } from './chart.ts';
import { drawRect, drawWay, escaped, inset, svgDocument, type Box, type Point } from './drawing.ts';
import {
  titleHeight,
  type DrawnEdge,
  type DrawnState,
  type OwnLine,
  type Picture,
} from './layout.ts';
import { lineHeight } from './text-box.ts';

const style = `
  .sheepfold-drawing .state > rect { fill: var(--inner); stroke: var(--line); stroke-width: 1.25; }
  .sheepfold-drawing .compound > rect { fill: var(--box); }
  .sheepfold-drawing .region > rect { stroke-dasharray: 6 4; }
  .sheepfold-drawing .final > rect.rim { fill: none; }
  .sheepfold-drawing .edge.delayed path { stroke: var(--delay); stroke-dasharray: 5 3; }
  .sheepfold-drawing .edge.delayed .head { fill: var(--delay); stroke: none; }
  .sheepfold-drawing .label { fill: var(--box); }
  .sheepfold-drawing .event { font-weight: 600; }
  .sheepfold-drawing .delay { fill: var(--delay); font-weight: 600; }
  .sheepfold-drawing .guard { fill: var(--guard); font-size: 11px; }
  .sheepfold-drawing .action { fill: var(--action); font-size: 11px; }
  .sheepfold-drawing .initial { fill: var(--text); }
  .sheepfold-drawing .state.is-active > rect { stroke: var(--hot); stroke-width: 2.5; }
  .sheepfold-drawing .state.is-active:not(.compound) > rect { fill: var(--hot-back); }
  .sheepfold-drawing .edge.is-taken path { stroke: var(--hot); stroke-width: 2.5; }
  .sheepfold-drawing .edge.is-taken .head { fill: var(--hot); stroke: none; }
  .sheepfold-drawing text.is-taken { fill: var(--hot); text-decoration: underline; }
`;

/** @param name the machine's id. */
export function drawSvg(name: string, picture: Picture): string {
  const { width, height, states, initials, starts, edges } = picture;
  const idOf = (path: readonly string[]): string => [name, ...path].join('.');
  const body = [
    ...states.map((state) => drawState(state, { name, idOf })),
    ...initials.map(drawInitial),
    ...starts.map((way) => `<g class="edge start">${drawWay(way)}</g>`),
    // Ways first: no line crosses a word.
    ...edges.map((edge) => drawEdge(edge, idOf)),
    ...edges.map((edge) => drawLabel(edge, idOf)),
  ];
  return svgDocument({ label: `Statechart ${name}`, width, height, style, body });
}

interface Naming {
  readonly name: string;
  readonly idOf: (path: readonly string[]) => string;
}

function drawState({ state, isRegion, own, ...box }: DrawnState, { name, idOf }: Naming): string {
  const kinds = [
    'state',
    state.states.length > 0 ? 'compound' : '',
    isRegion ? 'region' : '',
    state.type === 'final' ? 'final' : '',
  ].filter((kind) => kind !== '');
  const title = state.path.at(-1) ?? name;
  const isFinal = state.type === 'final';
  return [
    `<g class="${kinds.join(' ')}" data-state="${escaped(idOf(state.path))}">`,
    state.description === undefined ? '' : `<title>${escaped(state.description)}</title>`,
    drawRect(box, 7),
    isFinal ? drawRect(inset(box, 3), 5, 'rim') : '',
    `<text class="title" x="${box.x + 12}" y="${box.y + 18}">${escaped(title)}</text>`,
    ...drawLines(own, { x: box.x + 12, y: box.y + titleHeight + 11 }, idOf),
    '</g>',
  ].join('');
}

function drawInitial({ x, y, width }: Box): string {
  const radius = width / 2;
  return `<circle class="initial" cx="${x + radius}" cy="${y + radius}" r="${radius}"/>`;
}

function drawEdge({ transitions, isDelayed, ways }: DrawnEdge, idOf: Naming['idOf']): string {
  const names = edgeNames(transitions, idOf);
  return `<g class="edge${isDelayed ? ' delayed' : ''}" data-edge="${escaped(names)}">${ways
    .map((way) => drawWay(way))
    .join('')}</g>`;
}

function drawLabel({ label, lines }: DrawnEdge, idOf: Naming['idOf']): string {
  const room = { ...label, x: label.x - 2, width: label.width + 4 };
  return `<g>${drawRect(room, 3, 'label')}${drawLines(lines, { x: label.x, y: label.y + 11 }, idOf).join('')}</g>`;
}

function drawLines(lines: readonly OwnLine[], at: Point, idOf: Naming['idOf']): readonly string[] {
  return lines.map(({ text, kind, transitions }, index) => {
    const name = escaped(edgeNames(transitions, idOf));
    const y = at.y + index * lineHeight;
    return `<text class="${kind}" data-edge="${name}" x="${at.x}" y="${y}">${escaped(text)}</text>`;
  });
}

function edgeNames(transitions: readonly ChartTransition[], idOf: Naming['idOf']): string {
  return transitions.map((transition) => edgeName(transition, idOf)).join(' ');
}

/** As the journal and XState name it. */
function edgeName({ from, to, on, isDelayed }: ChartTransition, idOf: Naming['idOf']): string {
  const event = isDelayed ? `xstate.${on.replace(' ', '.')}.${idOf(from)}` : on;
  return `${idOf(from)}|${event}|${to === undefined ? '' : idOf(to)}`;
}
