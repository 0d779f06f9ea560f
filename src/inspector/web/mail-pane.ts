/** Envelopes between the Shepherd and its agents as a sequence, with what became of each. */
import { h, type JSX } from 'preact';
import type { EnvelopeReport } from '../report.ts';
import { ask } from './ask.ts';
import { marksAt, type Mail } from './history.ts';
import { clockTime, type Names } from './text.ts';
import { useAnswer } from './use-answer.ts';
import { WindowedList } from './windowed-list.ts';

export interface MailPaneProps {
  /** In order, those that are wanted, up to the moment. */
  readonly mails: readonly Mail[];
  readonly seq: number;
  readonly names: Names;
  /** Ids of the lanes, the Shepherd first. */
  readonly lanes: readonly string[];
  readonly selected: string | undefined;
  readonly onSelect: (mail: Mail) => void;
}

/** px */
const laneWidth = 104;
const rowHeight = 40;

export function MailPane(props: MailPaneProps): JSX.Element {
  const { mails, seq, names, lanes, selected, onSelect } = props;
  const found = useAnswer<EnvelopeReport>(
    selected ?? '',
    selected === undefined ? undefined : () => ask('envelope', { id: selected }),
  );
  const at = mails.findIndex(({ id }) => id === selected);
  return h(
    'section',
    { class: 'pane mail', 'aria-label': 'Mail' },
    h(
      'div',
      { class: 'mail-scroll' },
      h(
        'div',
        { class: 'lanes', 'aria-hidden': 'true' },
        h('span', { class: 'time' }),
        lanes.map((id) => h('span', { key: id, class: 'lane', title: id }, names.of(id))),
      ),
      h(WindowedList, {
        label: 'Envelopes',
        count: mails.length,
        rowHeight,
        inView: at < 0 ? mails.length - 1 : at,
        empty: 'No envelope so far.',
        row: (index) => {
          const mail = mails[index];
          if (mail === undefined) return h('div', { key: index });
          return h(MailRow, {
            key: mail.id,
            mail,
            seq,
            names,
            lanes,
            isSelected: mail.id === selected,
            onSelect,
          });
        },
      }),
    ),
    selected === undefined
      ? null
      : h(MailText, {
          found: found?.messageId === selected ? found : undefined,
          mail: mails[at],
          names,
        }),
  );
}

interface MailRowProps {
  readonly mail: Mail;
  readonly seq: number;
  readonly names: Names;
  readonly lanes: readonly string[];
  readonly isSelected: boolean;
  readonly onSelect: (mail: Mail) => void;
}

function MailRow({ mail, seq, names, lanes, isSelected, onSelect }: MailRowProps): JSX.Element {
  const marks = marksAt(mail, seq);
  const last = marks.at(-1);
  const bad = marks.find(({ mark }) => mark === 'refused' || mark === 'late' || mark === 'dead');
  const from = Math.max(0, lanes.indexOf(mail.from));
  const found = lanes.indexOf(mail.to);
  const to = found < 0 ? 0 : found;
  const middle = (lane: number): number => lane * laneWidth + laneWidth / 2;
  const [left, right] = from < to ? [from, to] : [to, from];
  const kind = `${mail.kind}${mail.asks ? ' ?' : ''}`;
  const word = bad === undefined ? (last?.mark ?? '') : (bad.code ?? bad.mark);
  return h(
    'button',
    {
      type: 'button',
      role: 'listitem',
      class: `mail-row${bad === undefined ? '' : ' is-bad'}`,
      'aria-current': isSelected ? 'true' : undefined,
      'aria-label': `${clockTime(mail.atMs)} ${kind} from ${names.of(mail.from)} to ${names.of(mail.to)}${word === '' ? '' : `, ${word}`}`,
      'data-mail': mail.id,
      'data-kind': mail.kind,
      onClick: () => onSelect(mail),
    },
    h('span', { class: 'time' }, clockTime(mail.atMs)),
    h(
      'span',
      { class: 'way', style: { width: `${lanes.length * laneWidth}px` } },
      h('span', {
        class: `arrow ${from <= to ? 'right' : 'left'}`,
        style: {
          left: `${middle(left)}px`,
          width: `${Math.max(12, middle(right) - middle(left))}px`,
        },
      }),
      h('span', { class: 'what', style: { left: `${middle(left) + 8}px` } }, kind),
      word === ''
        ? null
        : h(
            'span',
            {
              class: `mark${bad === undefined ? '' : ' bad'}`,
              style: { left: `${middle(left) + 8}px` },
            },
            bad !== undefined && bad.mark === 'refused' ? `refused: ${word}` : word,
          ),
    ),
  );
}

function MailText({
  found,
  mail,
  names,
}: {
  readonly found: EnvelopeReport | undefined;
  readonly mail: Mail | undefined;
  readonly names: Names;
}): JSX.Element {
  return h(
    'div',
    { class: 'mail-text' },
    h(
      'h3',
      null,
      mail === undefined
        ? 'Envelope'
        : `${mail.kind} from ${names.of(mail.from)} to ${names.of(mail.to)}`,
    ),
    found === undefined
      ? h('p', { class: 'quiet' }, 'Its text lies in no box any more.')
      : h('pre', { tabIndex: 0 }, JSON.stringify(found.envelope, null, 2)),
  );
}
