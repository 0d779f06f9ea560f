/** What the page shows, as the part of its address behind `#`: any view is a link. */

export const views = ['herd', 'chart', 'mail', 'steps', 'task'] as const;
export type View = (typeof views)[number];

export interface Link {
  /** Which pane is in front where only one fits. */
  readonly view: View;
  readonly actor: string | undefined;
  readonly task: string | undefined;
  /** Number of the step that is shown; undefined follows what happens. */
  readonly at: number | undefined;
  /** Only what concerns this agent. */
  readonly agent: string | undefined;
  readonly kind: string | undefined;
  readonly search: string;
}

export function parseLink(hash: string): Link {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const word = (name: string): string | undefined => given.get(name) ?? undefined;
  const at = Number(given.get('at'));
  const task = word('task');
  return {
    view:
      views.find((view) => view === given.get('view')) ?? (task === undefined ? 'mail' : 'task'),
    actor: word('actor') ?? task,
    task,
    at: given.has('at') && Number.isSafeInteger(at) && at > 0 ? at : undefined,
    agent: word('agent'),
    kind: word('kind'),
    search: given.get('search') ?? '',
  };
}

export function formatLink(link: Link): string {
  const { view, actor, task, at, agent, kind, search } = link;
  const said = new URLSearchParams();
  const words = {
    view: view === (task === undefined ? 'mail' : 'task') ? undefined : view,
    task,
    actor: actor === task ? undefined : actor,
    at: at === undefined ? undefined : String(at),
    agent,
    kind,
    search: search === '' ? undefined : search,
  };
  for (const [name, word] of Object.entries(words)) if (word !== undefined) said.set(name, word);
  return `#${said.toString()}`;
}
