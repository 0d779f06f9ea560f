/** Which session this is, and what of it is shown: filters and search. */
import { h, type JSX } from 'preact';
import type { NamesReport, SessionReport } from '../report.ts';
import type { Link } from './link.ts';
import { mailKinds } from './wanted.ts';

export interface ToolbarProps {
  readonly session: SessionReport | undefined;
  readonly isConnected: boolean;
  readonly report: NamesReport;
  readonly link: Link;
  readonly onChange: (change: Partial<Link>) => void;
}

export function Toolbar({
  session,
  isConnected,
  report,
  link,
  onChange,
}: ToolbarProps): JSX.Element {
  const state = !isConnected ? 'not reachable' : session?.isLive === true ? 'live' : 'finished';
  return h(
    'header',
    { class: 'toolbar' },
    h('h1', { title: session?.dir ?? '' }, session?.name ?? '…'),
    h(
      'span',
      {
        class: `badge ${state === 'live' ? 'good' : isConnected ? 'quiet' : 'bad'}`,
        role: 'status',
        title: session?.owner ?? '',
      },
      state,
    ),
    h(Choice, {
      name: 'Agent',
      value: link.agent,
      all: 'all agents',
      options: report.agents.map(({ id, agent, label }) => [id, `${agent}: ${label}`] as const),
      onChoose: (agent) => onChange({ agent }),
    }),
    h(Choice, {
      name: 'Task',
      value: link.task,
      all: 'all tasks',
      options: report.tasks.map(({ id, description }) => [id, description] as const),
      onChoose: (task) => onChange({ task, ...(task === undefined ? {} : { actor: task }) }),
    }),
    h(Choice, {
      name: 'Kind',
      value: link.kind,
      all: 'conversation',
      options: mailKinds.map((kind) => [kind, kind] as const),
      onChoose: (kind) => onChange({ kind }),
    }),
    h('input', {
      type: 'search',
      id: 'search',
      placeholder: 'Search ( / )',
      'aria-label': 'Search',
      value: link.search,
      onInput: (event: Event) =>
        onChange({ search: (event.currentTarget as HTMLInputElement).value }),
    }),
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly value: string | undefined;
  readonly all: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string | undefined) => void;
}

function Choice({ name, value, all, options, onChoose }: ChoiceProps): JSX.Element {
  return h(
    'select',
    {
      'aria-label': name,
      value: value ?? '',
      onChange: (event: Event) => {
        const chosen = (event.currentTarget as HTMLSelectElement).value;
        onChoose(chosen === '' ? undefined : chosen);
      },
    },
    h('option', { value: '' }, all),
    options.map(([one, text]) =>
      h('option', { key: one, value: one, selected: one === value }, text),
    ),
  );
}
