/** What the filters let through. */
import type { RowReport } from '../report.ts';
import type { ActorHistory, History, Mail } from './history.ts';
import type { Link } from './link.ts';
import type { Names } from './text.ts';

export type Filters = Pick<Link, 'agent' | 'task' | 'kind' | 'search'>;

/** What people say to each other; the rest keeps the machinery going. */
const conversation = new Set(['task', 'message', 'reply', 'task_done', 'task_closed', 'notice']);

/** Every kind that can be chosen; none is the conversation. */
export const mailKinds = [
  'everything',
  ...conversation,
  'verdict',
  'receipt',
  'runtime',
  'hello',
  'roster',
] as const;

export function isWantedMail(mail: Mail, filters: Filters, names: Names): boolean {
  const { agent, task, kind, search } = filters;
  const isKind =
    kind === 'everything' ||
    (kind === undefined ? conversation.has(mail.kind) : mail.kind === kind);
  return (
    isKind &&
    (agent === undefined || mail.from === agent || mail.to === agent) &&
    (task === undefined || mail.taskId === undefined || mail.taskId === task) &&
    fits(search, () => [
      mail.id,
      mail.kind,
      names.of(mail.from),
      names.of(mail.to),
      ...mail.marks.flatMap(({ mark, code }) => [mark, code ?? '']),
    ])
  );
}

export function isWantedRow(row: RowReport, filters: Filters, names: Names): boolean {
  const { agent, task, kind, search } = filters;
  const ids = row.actors.flatMap(({ id, under }) => [id, under ?? '']);
  const concerns = (id: string): boolean =>
    ids.includes(id) || row.moves.some(({ from, to, taskId }) => [from, to, taskId].includes(id));
  return (
    (agent === undefined || concerns(agent)) &&
    (task === undefined || concerns(task)) &&
    (kind === undefined || kind === 'everything' || row.moves.some((move) => move.kind === kind)) &&
    fits(search, () => [
      row.input,
      row.error ?? '',
      ...row.actors.map(({ id }) => `${id} ${names.of(id)}`),
      ...row.taken.map(({ event, to }) => `${event} ${to.join(' ')}`),
    ])
  );
}

/** An agent is chosen with everything below it. */
export function isWantedActor(
  actor: ActorHistory,
  options: { readonly filters: Filters; readonly names: Names; readonly history: History },
): boolean {
  const { filters, names, history } = options;
  const { agent, search } = filters;
  const isOfAgent = (one: ActorHistory | undefined): boolean =>
    one !== undefined &&
    (one.id === agent || (one.under !== null && isOfAgent(history.actors.get(one.under))));
  return (
    (agent === undefined || isOfAgent(actor)) &&
    fits(search, () => [actor.id, actor.machine, names.of(actor.id)])
  );
}

function fits(search: string, texts: () => readonly string[]): boolean {
  const wanted = search.trim().toLowerCase();
  return wanted === '' || texts().some((text) => text.toLowerCase().includes(wanted));
}
