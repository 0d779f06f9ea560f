/**
 * Where everything of a chart goes: boxes for states, ways for transitions, room for every word.
 *
 * LY1. Every label has room of its own; what it says is wrapped before, never cut.
 * LY2. The same chart gives the same picture: sizes are counted, places are rounded.
 */
import elk, {
  type ElkEdgeSection,
  type ElkExtendedEdge,
  type ElkNode,
} from 'elkjs/lib/elk.bundled.js';
import type { Chart, ChartState, ChartTransition } from './chart.ts';
import type { Box, Point } from './drawing.ts';
import { boxOf, lineHeight, widthOf, wrap, type TextLine } from './text-box.ts';

export interface DrawnState extends Box {
  readonly state: ChartState;
  readonly isRegion: boolean;
  /** What it does without leaving itself. */
  readonly own: readonly OwnLine[];
}

export interface OwnLine extends TextLine {
  /** Those that it speaks of. */
  readonly transitions: readonly ChartTransition[];
}

export interface DrawnEdge {
  /** Those that lead the same way, with a label for all. */
  readonly transitions: readonly ChartTransition[];
  readonly isDelayed: boolean;
  readonly ways: readonly (readonly Point[])[];
  readonly label: Box;
  readonly lines: readonly OwnLine[];
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly states: readonly DrawnState[];
  /** Marks of initial states. */
  readonly initials: readonly Box[];
  /** From such a mark to its state. */
  readonly starts: readonly (readonly Point[])[];
  readonly edges: readonly DrawnEdge[];
}

const titleSize = 13;
export const titleHeight = 26;
const columns = 34;
const initialSize = 10;
const margin = 12;

const compound = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF',
  'elk.layered.nodePlacement.bk.fixedAlignment': 'BALANCED',
  'elk.layered.cycleBreaking.strategy': 'DEPTH_FIRST',
  'elk.layered.spacing.nodeNodeBetweenLayers': '26',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.spacing.nodeNode': '26',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeLabel': '4',
  'elk.spacing.labelLabel': '4',
} as const;

/** Lays out a machine; the regions of a parallel one below each other. */
export async function layOut(name: string, chart: Chart): Promise<Picture> {
  const shown = chart.transitions.filter(({ on, to }) => !isPlumbing(on) && !isHistory(chart, to));
  const { root } = chart;
  const header = ownLines(root, shown);
  const above = titleHeight + header.length * lineHeight + (header.length > 0 ? 6 : 0);
  const regions = root.type === 'parallel' ? root.states.filter(isDrawn) : [root];
  const parts: Picture[] = [];
  for (const region of regions) {
    parts.push(await layOutPart({ region, isRegion: region !== root, transitions: shown }));
  }
  if (root.type !== 'parallel') return rounded(parts[0] ?? nothing);
  const placed = stacked(parts, above + margin);
  const whole: DrawnState = {
    state: { ...root, path: [] },
    isRegion: false,
    own: header,
    x: 0,
    y: 0,
    width: Math.max(
      placed.width + 2 * margin,
      widthOf(name, titleSize) + 40,
      boxOf(header).width + 24,
    ),
    height: placed.height + margin,
  };
  return rounded({
    ...placed,
    width: whole.width,
    height: whole.height,
    states: [whole, ...placed.states],
  });
}

const nothing: Picture = { width: 0, height: 0, states: [], initials: [], starts: [], edges: [] };

/** What the runtime sends for its own sake says nothing about the design. */
const isPlumbing = (on: string): boolean =>
  on.startsWith('xstate.done.') || on === 'session.resumed' || on.endsWith('.resume');

function isHistory(chart: Chart, path: readonly string[] | undefined): boolean {
  if (path === undefined) return false;
  let state: ChartState | undefined = chart.root;
  for (const name of path) state = state?.states.find((child) => child.path.at(-1) === name);
  return state?.type === 'history';
}

const isDrawn = ({ type }: ChartState): boolean => type !== 'history';
const keyOf = (path: readonly string[]): string => `/${path.join('/')}`;
const isSame = (a: readonly string[], b: readonly string[]): boolean => keyOf(a) === keyOf(b);
const isWithin = (path: readonly string[], outer: readonly string[]): boolean =>
  outer.every((name, index) => path[index] === name);

/** Transitions that leave their state as it is, enter it anew, or move within it: words in its own box. */
function ownLines(state: ChartState, transitions: readonly ChartTransition[]): readonly OwnLine[] {
  return linesOf(
    transitions.filter(({ from, to }) => isSame(from, state.path) && isWithin(to ?? from, from)),
  );
}

/** Each event; and once for those in a row that share it, under what condition, and what is done. */
function linesOf(transitions: readonly ChartTransition[]): readonly OwnLine[] {
  return transitions.flatMap((transition, index) => {
    const next = transitions[index + 1];
    const event: OwnLine = {
      text: eventText(transition),
      kind: transition.isDelayed ? 'delay' : 'event',
      size: 12,
      transitions: [transition],
    };
    if (next !== undefined && meaningOf(next) === meaningOf(transition)) return [event];
    const first = transitions.findLastIndex(
      (other, at) => at < index && meaningOf(other) !== meaningOf(transition),
    );
    return [event, ...meaningLines(transition, transitions.slice(first + 1, index + 1))];
  });
}

function eventText({ from, to, on, isDelayed }: ChartTransition): string {
  const isEnteredAnew = to !== undefined && isSame(from, to);
  const isInner = to !== undefined && !isEnteredAnew && isWithin(to, from);
  const inner = isInner ? ` → ${to.at(-1) ?? ''}` : '';
  return `${isEnteredAnew ? '↻ ' : ''}${isDelayed ? '◷ ' : ''}${on}${inner}`;
}

const meaningOf = ({ to, guard, actions }: ChartTransition): string =>
  JSON.stringify([to, guard, actions]);

function meaningLines(
  { guard, actions }: ChartTransition,
  transitions: readonly ChartTransition[],
): readonly OwnLine[] {
  const line = (text: string, kind: TextLine['kind']): OwnLine => ({
    text: `  ${text}`,
    kind,
    size: 11,
    transitions,
  });
  return [
    ...(guard === undefined ? [] : wrap(`[${guard}]`, columns)).map((text) => line(text, 'guard')),
    ...(actions.length === 0 ? [] : wrap(`/ ${actions.join(', ')}`, columns)).map((text) =>
      line(text, 'action'),
    ),
  ];
}

interface Part {
  readonly region: ChartState;
  readonly isRegion: boolean;
  readonly transitions: readonly ChartTransition[];
}

async function layOutPart({ region, isRegion, transitions }: Part): Promise<Picture> {
  const groups = grouped(
    transitions.filter(
      ({ from, to }) =>
        to !== undefined &&
        isWithin(from, region.path) &&
        isWithin(to, region.path) &&
        !isWithin(to, from),
    ),
  );
  const states = new Map<string, ChartState>();
  const edges: ElkExtendedEdge[] = [];
  const node = (state: ChartState): ElkNode => {
    states.set(keyOf(state.path), state);
    const own = boxOf(ownLines(state, transitions));
    const title = widthOf(state.path.at(-1) ?? 'machine', titleSize) + 28;
    const width = Math.max(title, own.width === 0 ? 0 : own.width + 24, 84);
    const height = titleHeight + (own.height === 0 ? 8 : own.height + 10);
    const below = state.states.filter(isDrawn);
    if (below.length === 0) return { id: keyOf(state.path), width, height };
    if (state.initial !== undefined) {
      edges.push({
        id: `start ${keyOf(state.path)}`,
        sources: [`initial ${keyOf(state.path)}`],
        targets: [keyOf(state.initial)],
      });
    }
    return {
      id: keyOf(state.path),
      layoutOptions: {
        ...compound,
        'elk.padding': `[top=${height + 6},left=18,bottom=18,right=18]`,
        // Its own words count as a label: a compound state is not made narrower than one.
        'elk.nodeLabels.placement': '[INSIDE, V_TOP, H_LEFT]',
        'elk.nodeSize.constraints': '[NODE_LABELS]',
      },
      labels: [{ id: `words ${keyOf(state.path)}`, text: ' ', width, height: 1 }],
      children: [
        ...(state.initial === undefined
          ? []
          : [{ id: `initial ${keyOf(state.path)}`, width: initialSize, height: initialSize }]),
        ...below.map(node),
      ],
    };
  };
  const root: ElkNode = {
    id: 'picture',
    layoutOptions: {
      ...compound,
      'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
      'elk.padding': '[top=0,left=0,bottom=0,right=0]',
      'elk.json.edgeCoords': 'ROOT',
      'elk.json.shapeCoords': 'ROOT',
    },
    children: [node(region)],
  };
  const lines = new Map<string, readonly OwnLine[]>();
  for (const [id, group] of groups) {
    const [first] = group;
    if (first?.to === undefined) continue;
    const words = linesOf(group);
    lines.set(id, words);
    edges.push({
      id,
      sources: [keyOf(first.from)],
      targets: [keyOf(first.to)],
      labels: [{ id: `label ${id}`, text: id, ...boxOf(words) }],
    });
  }
  const laid = await new elk.default().layout({ ...root, edges });
  const nodes = allNodes(laid);
  return {
    width: laid.width ?? 0,
    height: laid.height ?? 0,
    states: nodes.flatMap((found) => {
      const state = states.get(found.id);
      return state === undefined
        ? []
        : [
            {
              ...boxAt(found),
              state,
              isRegion: isRegion && state === region,
              own: ownLines(state, transitions),
            },
          ];
    }),
    initials: nodes.filter(({ id }) => id.startsWith('initial ')).map(boxAt),
    starts: (laid.edges ?? []).filter(({ id }) => id.startsWith('start ')).flatMap(waysOf),
    edges: (laid.edges ?? []).flatMap((edge) => {
      const group = groups.get(edge.id);
      const [label] = edge.labels ?? [];
      if (group === undefined || label === undefined) return [];
      return [
        {
          transitions: group,
          isDelayed: group[0]?.isDelayed ?? false,
          ways: waysOf(edge),
          label: boxAt(label),
          lines: lines.get(edge.id) ?? [],
        },
      ];
    }),
  };
}

/** One arrow for all that lead the same way; what passes by itself has one of its own. */
function grouped(
  transitions: readonly ChartTransition[],
): ReadonlyMap<string, readonly ChartTransition[]> {
  const groups = new Map<string, ChartTransition[]>();
  for (const transition of transitions) {
    const { from, to = from, isDelayed } = transition;
    const id = `${keyOf(from)} ${keyOf(to)} ${isDelayed ? 'delay' : 'event'}`;
    groups.set(id, [...(groups.get(id) ?? []), transition]);
  }
  return groups;
}

function allNodes(node: ElkNode): readonly ElkNode[] {
  return (node.children ?? []).flatMap((child) => [child, ...allNodes(child)]);
}

function waysOf({ sections = [] }: ElkExtendedEdge): Point[][] {
  return sections.map(pointsOf);
}

function pointsOf({ startPoint, bendPoints = [], endPoint }: ElkEdgeSection): Point[] {
  return [startPoint, ...bendPoints, endPoint];
}

function boxAt(found: Partial<Box>): Box {
  const { x = 0, y = 0, width = 0, height = 0 } = found;
  return { x, y, width, height };
}

/** Parts below each other, each as wide as the widest. */
function stacked(parts: readonly Picture[], top: number): Picture {
  const width = Math.max(0, ...parts.map((part) => part.width));
  let y = top;
  const placed: Picture[] = [];
  for (const part of parts) {
    const moved = shifted(part, { x: margin, y });
    placed.push({
      ...moved,
      states: moved.states.map((one) => (one.isRegion ? { ...one, width } : one)),
    });
    y += part.height + margin;
  }
  return {
    width,
    height: y,
    states: placed.flatMap(({ states }) => states),
    initials: placed.flatMap(({ initials }) => initials),
    starts: placed.flatMap(({ starts }) => starts),
    edges: placed.flatMap(({ edges }) => edges),
  };
}

function shifted(picture: Picture, by: Point): Picture {
  const move = <T extends Point>(at: T): T => ({ ...at, x: at.x + by.x, y: at.y + by.y });
  return mapPoints(picture, move);
}

/** To half a pixel. */
const round = (value: number): number => Math.round(value * 2) / 2;

function rounded(picture: Picture): Picture {
  return {
    ...mapPoints(picture, (at) => ({ ...at, x: round(at.x), y: round(at.y) })),
    width: Math.ceil(picture.width),
    height: Math.ceil(picture.height),
  };
}

function mapPoints(picture: Picture, move: <T extends Point>(at: T) => T): Picture {
  return {
    ...picture,
    states: picture.states.map(move),
    initials: picture.initials.map(move),
    starts: picture.starts.map((way) => way.map(move)),
    edges: picture.edges.map((edge) => ({
      ...edge,
      label: move(edge.label),
      ways: edge.ways.map((way) => way.map(move)),
    })),
  };
}
