/** Every step of the session that concerns what is looked for. */
import { h, type JSX } from 'preact';
import type { RowReport } from '../report.ts';
import { clockTime, type Names } from './text.ts';
import { WindowedList } from './windowed-list.ts';

export interface StepsPaneProps {
  readonly rows: readonly RowReport[];
  readonly seq: number;
  readonly names: Names;
  readonly onSelect: (row: RowReport) => void;
}

export function StepsPane({ rows, seq, names, onSelect }: StepsPaneProps): JSX.Element {
  const at = rows.findLastIndex((row) => row.seq <= seq);
  return h(
    'section',
    { class: 'pane steps', 'aria-label': 'Steps' },
    h(WindowedList, {
      label: 'Steps',
      count: rows.length,
      rowHeight: 44,
      inView: at < 0 ? undefined : at,
      empty: 'No step fits the filters.',
      row: (index) => {
        const row = rows[index];
        if (row === undefined) return h('div', { key: index });
        return h(
          'button',
          {
            key: row.seq,
            type: 'button',
            role: 'listitem',
            class: `step-row${row.error === undefined ? '' : ' is-bad'}${row.seq > seq ? ' is-later' : ''}`,
            'aria-current': index === at ? 'true' : undefined,
            'data-seq': row.seq,
            onClick: () => onSelect(row),
          },
          h('span', { class: 'time' }, clockTime(row.atMs)),
          h('span', { class: 'what' }, row.error ?? row.input),
          h('span', { class: 'quiet' }, describe(row, names)),
        );
      },
    }),
  );
}

/** What moved: `count sheep: running → waiting`. */
function describe(row: RowReport, names: Names): string {
  const moved = row.taken
    .filter(({ to }) => to.length > 0)
    .map(({ actorId, to }) => `${names.of(actorId)} → ${to.map(last).join(', ')}`);
  return moved.length === 0
    ? row.actors.map(({ id }) => names.of(id)).join(', ')
    : moved.join('; ');
}

const last = (id: string): string => id.split('.').at(-1) ?? id;
