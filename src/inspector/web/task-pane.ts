/** A task's own page: its states with their durations, questions, result, evidence, messages, note. */
import { h, type ComponentChildren, type JSX } from 'preact';
import type { TaskReport } from '../report.ts';
import { ask } from './ask.ts';
import { Badge } from './badge.ts';
import { clockTime, duration, type Names } from './text.ts';
import { useAnswer } from './use-answer.ts';

export interface TaskPaneProps {
  readonly taskId: string | undefined;
  /** Changes when the task may have changed. */
  readonly version: number;
  /** Epoch ms of the moment that is shown. */
  readonly atMs: number;
  readonly names: Names;
}

export function TaskPane({ taskId, version, atMs, names }: TaskPaneProps): JSX.Element {
  const report = useAnswer<TaskReport>(
    `${taskId ?? ''} ${version}`,
    taskId === undefined ? undefined : () => ask('task', { id: taskId }),
  );
  return h(
    'section',
    { class: 'pane task', 'aria-label': 'Task', tabIndex: 0 },
    report === undefined || report.task.id !== taskId
      ? h(
          'p',
          { class: 'empty' },
          taskId === undefined ? 'Choose a task of the herd.' : 'This task is not known here.',
        )
      : h(TaskPage, { report, atMs, names }),
  );
}

function TaskPage({
  report,
  atMs,
  names,
}: {
  readonly report: TaskReport;
  readonly atMs: number;
  readonly names: Names;
}): JSX.Element {
  const { task, agentName, messages, requests, note } = report;
  // What came later than the moment was not known then.
  const states = task.states.filter((state) => state.atMs <= atMs);
  const { result } = task;
  const isSettled = result !== undefined && result.settledAtMs <= atMs;
  return h(
    'div',
    { class: 'task-page' },
    h(
      'h2',
      null,
      task.description.split('\n', 1)[0],
      ' ',
      h(Badge, { label: states.at(-1)?.state ?? 'created' }),
    ),
    h('p', { class: 'quiet' }, `${agentName} · ${task.id}`),
    part(
      'States',
      h(
        'ol',
        { class: 'states' },
        states.map(({ state, atMs: sinceMs }, index) => {
          const untilMs = states[index + 1]?.atMs;
          const isLast = untilMs === undefined;
          return h(
            'li',
            { key: index },
            h(Badge, { label: state }),
            ` ${clockTime(sinceMs)} `,
            h(
              'span',
              { class: 'quiet' },
              isLast && isSettled ? '' : `for ${duration((untilMs ?? atMs) - sinceMs)}`,
            ),
          );
        }),
      ),
    ),
    part(
      'Questions',
      list(
        requests.filter(({ openedAtMs }) => openedAtMs <= atMs),
        ({ requestId, askerId, recipientName, question, state }) =>
          h(
            'li',
            { key: requestId },
            h(Badge, { label: state }),
            ` ${names.of(askerId)} asks ${recipientName}: `,
            question,
          ),
      ),
    ),
    part(
      'Result',
      isSettled
        ? h(
            'dl',
            null,
            line('status', `${result.status} (${result.returnCode})`),
            line('summary', result.summary),
            line('text', result.text),
            line('error', result.error),
            line('override', result.override),
            line(
              'evidence',
              `${result.evidence.turns} turns, ${result.evidence.toolCalls} tool calls`,
            ),
            line('attempts', String(result.attempts.length)),
            result.lateEvents.map(({ kind, atMs: cameMs, text }) =>
              line(`late ${kind}`, `${clockTime(cameMs)} ${text}`),
            ),
          )
        : h('p', { class: 'quiet' }, 'None yet.'),
    ),
    part(
      'Messages',
      list(
        messages.filter((message) => message.atMs <= atMs),
        ({ messageId, kind, fromName, toName, receipt }) =>
          h(
            'li',
            { key: messageId },
            `${kind}: ${fromName} → ${toName} `,
            h('span', { class: 'quiet' }, receipt),
          ),
      ),
    ),
    part('Text', h('pre', null, task.description)),
    note === null ? null : part('Note', h('pre', null, note)),
  );
}

function part(title: string, ...children: ComponentChildren[]): JSX.Element {
  return h('section', { class: 'part' }, h('h3', null, title), ...children);
}

function list<T>(items: readonly T[], row: (item: T) => JSX.Element): JSX.Element {
  return items.length === 0 ? h('p', { class: 'quiet' }, 'None.') : h('ul', null, items.map(row));
}

function line(name: string, value: string | undefined): ComponentChildren {
  return value === undefined ? null : [h('dt', null, name), h('dd', null, value)];
}
