/** Which moment is shown: a slider over the steps, keys to step, and back to what happens now. */
import { h, type JSX } from 'preact';
import type { RowReport } from '../report.ts';
import { clockTime } from './text.ts';

export interface TimelineProps {
  readonly rows: readonly RowReport[];
  /** Of the step that is shown. */
  readonly index: number;
  readonly isFollowing: boolean;
  readonly isLive: boolean;
  readonly onMove: (index: number) => void;
  readonly onFollow: () => void;
}

export function Timeline(props: TimelineProps): JSX.Element {
  const { rows, index, isFollowing, isLive, onMove, onFollow } = props;
  const row = rows[index];
  const last = rows.length - 1;
  const button = (label: string, sign: string, to: number): JSX.Element =>
    h(
      'button',
      {
        type: 'button',
        'aria-label': label,
        title: label,
        disabled: to < 0 || to > last || to === index,
        onClick: () => onMove(to),
      },
      sign,
    );
  return h(
    'footer',
    { class: 'timeline' },
    button('First step', '«', 0),
    button('Step back', '‹', index - 1),
    button('Step on', '›', index + 1),
    button('Last step', '»', last),
    h('input', {
      type: 'range',
      'aria-label': 'Moment',
      'aria-valuetext': row === undefined ? 'nothing yet' : `step ${row.seq}, ${row.input}`,
      min: 0,
      max: Math.max(0, last),
      value: Math.max(0, index),
      onInput: (event: Event) => onMove(Number((event.currentTarget as HTMLInputElement).value)),
    }),
    h(
      'button',
      {
        type: 'button',
        class: 'follow',
        'aria-pressed': isFollowing,
        onClick: onFollow,
      },
      isLive ? 'Follow live' : 'Latest',
    ),
    h(
      'span',
      { class: 'moment' },
      row === undefined ? '' : `${clockTime(row.atMs)} · ${row.seq} · ${row.input}`,
    ),
  );
}
