/** An actor at a moment: its chart with what is active, the transition it took, and its context. */
import { h, type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ContextReport, RowReport } from '../report.ts';
import { ask, askText } from './ask.ts';
import { Badge } from './badge.ts';
import { moveAt, stateAt, type ActorHistory } from './history.ts';
import { activeStates, stateLabel } from './states.ts';
import { clockTime, type Names } from './text.ts';
import { useAnswer } from './use-answer.ts';

export interface ChartPaneProps {
  readonly seq: number;
  readonly names: Names;
  readonly actor: ActorHistory | undefined;
}

export function ChartPane({ seq, names, actor }: ChartPaneProps): JSX.Element {
  const state = stateAt(actor, seq);
  const picture = useAnswer(
    actor?.machine ?? '',
    actor && (() => askText(`charts/${actor.machine}.svg`)),
  );
  const found = useAnswer<ContextReport>(
    `${actor?.id ?? ''} ${state?.seq ?? 0}`,
    actor === undefined || state === undefined
      ? undefined
      : () => ask('actor', { id: actor.id, seq: state.seq }),
  );
  if (actor === undefined || state === undefined) {
    return h(
      'section',
      { class: 'pane chart', 'aria-label': 'Chart' },
      h('header', null, h('h2', null, 'Chart')),
      h('p', { class: 'empty' }, 'Choose an actor of the herd.'),
    );
  }
  const label = stateLabel(actor.machine, state.value);
  const move = moveAt(actor, seq);
  return h(
    'section',
    { class: 'pane chart', 'aria-label': 'Chart' },
    h('header', null, h('h2', { title: actor.id }, names.of(actor.id)), h(Badge, { label })),
    h(Picture, {
      svg: picture,
      active: activeStates(actor.machine, state.value),
      taken: move?.taken ?? [],
      machine: actor.machine,
    }),
    h(LastMove, { move }),
    h(Context, { found, id: actor.id }),
  );
}

interface PictureProps {
  readonly svg: string | undefined;
  readonly machine: string;
  readonly active: readonly string[];
  readonly taken: RowReport['taken'];
}

/** The drawing stays; what is lit in it changes. */
function Picture({ svg, machine, active, taken }: PictureProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const lit = `${active.join(' ')} ${JSON.stringify(taken)}`;

  useEffect(() => {
    if (box.current === null) return;
    box.current.innerHTML = svg ?? '';
    const natural = Number(box.current.querySelector('svg')?.getAttribute('width') ?? 0);
    const room = view.current?.clientWidth || innerWidth;
    // A small one fills the pane, a large one stays readable and is scrolled.
    setZoom(Math.min(4, Math.max(1, (readable * natural) / room)));
  }, [svg]);

  useEffect(() => {
    const drawing = box.current;
    if (drawing === null) return;
    const states = new Set(active);
    for (const element of drawing.querySelectorAll('[data-state]')) {
      element.classList.toggle('is-active', states.has(element.getAttribute('data-state') ?? ''));
    }
    for (const element of drawing.querySelectorAll('[data-edge]')) {
      element.classList.toggle('is-taken', isTaken(element.getAttribute('data-edge') ?? '', taken));
    }
  }, [svg, lit]);

  useEffect(() => {
    if (view.current !== null) bringIntoView(view.current);
  }, [svg, lit, zoom]);

  const step = (by: number) => () => setZoom(Math.min(4, Math.max(0.5, zoom * by)));
  return h(
    'div',
    { class: 'picture' },
    h(
      'div',
      { class: 'zoom', role: 'group', 'aria-label': 'Zoom' },
      h('button', { type: 'button', 'aria-label': 'Smaller', onClick: step(1 / 1.25) }, '−'),
      h('button', { type: 'button', 'aria-label': 'Fit', onClick: () => setZoom(1) }, '⤢'),
      h('button', { type: 'button', 'aria-label': 'Larger', onClick: step(1.25) }, '+'),
    ),
    h(
      'div',
      { class: 'picture-scroll', ref: view, tabIndex: 0, 'aria-label': `Chart of ${machine}` },
      h('div', { class: 'drawing', ref: box, style: { width: `${zoom * 100}%` } }),
    ),
  );
}

/** So much of its natural size a chart has at least, at first. */
const readable = 0.55;

/** Scrolls to what is active, unless it can be seen. */
function bringIntoView(view: HTMLElement): void {
  const active = [...view.querySelectorAll('.state.is-active:not(.compound)')].at(0);
  if (active === undefined) return;
  const [room, place] = [view.getBoundingClientRect(), active.getBoundingClientRect()];
  const isSeen =
    place.left >= room.left &&
    place.right <= room.right &&
    place.top >= room.top &&
    place.bottom <= room.bottom;
  if (isSeen) return;
  view.scrollLeft += place.left + place.width / 2 - (room.left + room.width / 2);
  view.scrollTop += place.top + place.height / 2 - (room.top + room.height / 2);
}

/** Transitions that share an arrow stand after each other; one that stays where it is has no target. */
function isTaken(edges: string, taken: RowReport['taken']): boolean {
  const names = edges.split(' ');
  return taken.some(({ event, from, to }) =>
    (to.length === 0 ? [''] : to).some((target) => names.includes(`${from}|${event}|${target}`)),
  );
}

function LastMove({ move }: { readonly move: ReturnType<typeof moveAt> }): JSX.Element {
  const lines = (move?.taken ?? []).map(({ event, from, to }, index) =>
    h(
      'li',
      { key: index },
      h('b', null, eventName(event)),
      ` ${from} → ${to.length === 0 ? 'stays' : to.join(', ')}`,
    ),
  );
  return h(
    'div',
    { class: 'taken' },
    h('h3', null, 'Last transition'),
    move === undefined
      ? h('p', { class: 'quiet' }, 'None yet.')
      : h(
          'ul',
          null,
          lines,
          h('li', { class: 'time' }, `at ${clockTime(move.atMs)}, step ${move.seq}`),
        ),
  );
}

/** `after taskDeadline` in place of XState's own name for a delay. */
function eventName(event: string): string {
  const delay = /^xstate\.after\.([^.]+)\./.exec(event)?.[1];
  return delay === undefined ? event : `after ${delay}`;
}

function Context({
  found,
  id,
}: {
  readonly found: ContextReport | undefined;
  readonly id: string;
}): JSX.Element {
  const context = found?.id === id ? found.context : undefined;
  const entries = typeof context === 'object' && context !== null ? Object.entries(context) : [];
  return h(
    'div',
    { class: 'context' },
    h('h3', null, 'Context'),
    h(
      'dl',
      null,
      entries.flatMap(([name, value]: [string, unknown]) => [
        h('dt', { key: `${name} name` }, name),
        h('dd', { key: name }, typeof value === 'string' ? value : JSON.stringify(value)),
      ]),
    ),
  );
}
