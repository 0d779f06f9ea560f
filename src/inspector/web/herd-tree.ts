/** The supervision tree at a moment: session, agents, their tasks and prompts, their questions. */
import { h, type JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Badge } from './badge.ts';
import { stateAt, type ActorHistory, type History } from './history.ts';
import { isOver, stateLabel } from './states.ts';
import type { Names } from './text.ts';
import { WindowedList } from './windowed-list.ts';

export interface HerdTreeProps {
  readonly history: History;
  /** Rises with each step that is added. */
  readonly version: number;
  readonly seq: number;
  readonly names: Names;
  readonly selected: string | undefined;
  readonly isWanted: (actor: ActorHistory) => boolean;
  readonly onSelect: (actor: ActorHistory) => void;
}

interface Line {
  readonly actor: ActorHistory;
  readonly depth: number;
  readonly label: string;
}

export function HerdTree(props: HerdTreeProps): JSX.Element {
  const { history, version, seq, names, selected, isWanted, onSelect } = props;
  const [isAll, setAll] = useState(true);
  const lines = useMemo(
    () => linesAt({ history, seq, isAll, isWanted }),
    [history, version, seq, isAll, isWanted],
  );
  const at = lines.findIndex(({ actor }) => actor.id === selected);

  function move(by: number, event: KeyboardEvent): void {
    const next = lines[Math.min(lines.length - 1, Math.max(0, at + by))];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onSelect(next.actor);
  }

  return h(
    'section',
    {
      class: 'pane herd',
      'aria-label': 'Herd',
      onKeyDown: (event: KeyboardEvent) => {
        if (event.key === 'ArrowDown') move(1, event);
        if (event.key === 'ArrowUp') move(-1, event);
      },
    },
    h(
      'header',
      null,
      h('h2', null, 'Herd'),
      h(
        'label',
        { class: 'check' },
        h('input', {
          type: 'checkbox',
          checked: isAll,
          onChange: () => setAll(!isAll),
        }),
        'ended too',
      ),
    ),
    h(WindowedList, {
      label: 'Actors',
      count: lines.length,
      rowHeight: 32,
      inView: at < 0 ? undefined : at,
      empty: 'Nothing had begun yet.',
      row: (index) => {
        const line = lines[index];
        if (line === undefined) return h('div', { key: index });
        const { actor, depth, label } = line;
        return h(
          'button',
          {
            key: actor.id,
            type: 'button',
            role: 'listitem',
            class: `tree-row${isOver(actor.machine, label) ? ' is-over' : ''}`,
            style: { paddingLeft: `${8 + depth * 16}px` },
            'aria-current': actor.id === selected ? 'true' : undefined,
            'data-actor': actor.id,
            title: actor.id,
            onClick: () => onSelect(actor),
          },
          h('span', { class: 'kind' }, actor.machine),
          h('span', { class: 'name' }, names.of(actor.id)),
          h(Badge, { label }),
        );
      },
    }),
  );
}

function linesAt(options: {
  readonly history: History;
  readonly seq: number;
  readonly isAll: boolean;
  readonly isWanted: (actor: ActorHistory) => boolean;
}): readonly Line[] {
  const { history, seq, isAll, isWanted } = options;
  const below = new Map<string | null, Line[]>();
  for (const actor of history.actors.values()) {
    const state = stateAt(actor, seq);
    if (state === undefined) continue;
    const label = stateLabel(actor.machine, state.value);
    if (!isAll && isOver(actor.machine, label)) continue;
    // What hung under somebody that is not shown hangs under the session.
    const under =
      actor.under !== null && !history.actors.has(actor.under) ? 'session' : actor.under;
    const siblings = below.get(under) ?? [];
    siblings.push({ actor, depth: 0, label });
    below.set(under, siblings);
  }
  const lines: Line[] = [];
  const add = (under: string | null, depth: number): void => {
    for (const line of below.get(under) ?? []) {
      if (isWanted(line.actor)) lines.push({ ...line, depth });
      add(line.actor.id, depth + 1);
    }
  };
  add(null, 0);
  return lines;
}
