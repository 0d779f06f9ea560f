/** The page: what the address says is shown, and what is chosen becomes the address. */
import { h, render, type JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { ChartPane } from './chart-pane.ts';
import { HerdTree } from './herd-tree.ts';
import { mailsUpTo, rowIndexAt, type ActorHistory } from './history.ts';
import { formatLink, parseLink, type Link, type View, views } from './link.ts';
import { useLive } from './live.ts';
import { MailPane } from './mail-pane.ts';
import { StepsPane } from './steps-pane.ts';
import { TaskPane } from './task-pane.ts';
import { Timeline } from './timeline.ts';
import { Toolbar } from './toolbar.ts';
import { isWantedActor, isWantedMail, isWantedRow } from './wanted.ts';

const titles: Readonly<Record<View, string>> = {
  herd: 'Herd',
  chart: 'Chart',
  mail: 'Mail',
  steps: 'Steps',
  task: 'Task',
};

/** Those that stand beside the chart where there is room. */
const sideViews = views.filter((view) => view !== 'herd' && view !== 'chart');

function Page(): JSX.Element {
  const { history, version, names, report, session, isConnected } = useLive();
  const [link, change] = useLink();
  const [mail, setMail] = useState<string | undefined>(undefined);
  const { rows } = history;
  const seq = link.at ?? rows.at(-1)?.seq ?? 0;
  const index = rowIndexAt(history, seq);
  const { agent, task, kind, search } = link;
  const filters = useMemo(() => ({ agent, task, kind, search }), [agent, task, kind, search]);

  const lanes = useMemo(
    () => [
      'shepherd',
      ...report.agents
        .map(({ id }) => id)
        .filter((id) => agent === undefined || id === agent || hasTalked(history.mails, id, agent)),
    ],
    [report, agent, version],
  );
  const mails = useMemo(
    () =>
      history.mails
        .slice(0, mailsUpTo(history, seq))
        .filter((one) => isWantedMail(one, filters, names)),
    [version, seq, filters, names],
  );
  const wantedRows = useMemo(
    () => rows.filter((row) => isWantedRow(row, filters, names)),
    [version, filters, names],
  );
  const isWanted = useCallback(
    (actor: ActorHistory) => isWantedActor(actor, { filters, names, history }),
    [filters, names],
  );

  const moveTo = (to: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, to))];
    if (row !== undefined) change({ at: row.seq });
  };
  useKeys({ moveTo, index, last: rows.length - 1, follow: () => change({ at: undefined }) });

  const actor =
    history.actors.get(link.actor ?? '') ??
    [...history.actors.values()].find(({ machine }) => machine === 'session');
  return h(
    'div',
    { class: 'page', 'data-view': link.view },
    h(Toolbar, { session, isConnected, report, link, onChange: change }),
    h(Tabs, { among: views, shown: link.view, isSmall: true, onShow: (view) => change({ view }) }),
    h(
      'main',
      null,
      h(HerdTree, {
        history,
        version,
        seq,
        names,
        selected: actor?.id,
        isWanted,
        onSelect: ({ id, machine }) =>
          change({
            actor: id,
            ...(machine === 'task'
              ? { task: id, view: link.view === 'herd' ? 'chart' : 'task' }
              : {}),
            ...(link.view === 'herd' ? { view: 'chart' } : {}),
          }),
      }),
      h(ChartPane, { seq, names, actor }),
      h(
        'div',
        { class: 'side' },
        h(Tabs, {
          among: sideViews,
          shown: link.view,
          isSmall: false,
          onShow: (view) => change({ view }),
        }),
        h(MailPane, {
          mails,
          seq,
          names,
          lanes,
          selected: mail,
          onSelect: ({ id }) => setMail(id === mail ? undefined : id),
        }),
        h(StepsPane, { rows: wantedRows, seq, names, onSelect: (row) => change({ at: row.seq }) }),
        h(TaskPane, {
          taskId: task,
          version,
          atMs: link.at === undefined ? Date.now() : (rows[index]?.atMs ?? 0),
          names,
        }),
      ),
    ),
    h(Timeline, {
      rows,
      index,
      isFollowing: link.at === undefined,
      isLive: session?.isLive === true,
      onMove: moveTo,
      onFollow: () => change({ at: undefined }),
    }),
  );
}

/** Whether two agents wrote to each other: the lane of one is of use beside the other's. */
function hasTalked(
  mails: readonly { readonly from: string; readonly to: string }[],
  one: string,
  other: string,
): boolean {
  return mails.some(
    ({ from, to }) => (from === one && to === other) || (from === other && to === one),
  );
}

interface TabsProps {
  readonly among: readonly View[];
  readonly shown: View;
  /** Those for a page on which one pane fits. */
  readonly isSmall: boolean;
  readonly onShow: (view: View) => void;
}

function Tabs({ among, shown, isSmall, onShow }: TabsProps): JSX.Element {
  const front = among.includes(shown) ? shown : 'mail';
  return h(
    'nav',
    { class: `tabs ${isSmall ? 'small' : 'large'}`, 'aria-label': 'Views' },
    among.map((view) =>
      h(
        'button',
        {
          key: view,
          type: 'button',
          'aria-current': view === front ? 'page' : undefined,
          onClick: () => onShow(view),
        },
        titles[view],
      ),
    ),
  );
}

/** The address is the state: it can be copied, and the browser's own back goes back. */
function useLink(): readonly [Link, (change: Partial<Link>) => void] {
  const [link, setLink] = useState(() => parseLink(location.hash));
  useEffect(() => {
    const read = (): void => setLink(parseLink(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return [
    link,
    (change) => {
      const next = { ...parseLink(location.hash), ...change };
      // Steps and letters are no places to go back to.
      if ('at' in change || 'search' in change) history.replaceState(null, '', formatLink(next));
      else history.pushState(null, '', formatLink(next));
      setLink(parseLink(location.hash));
    },
  ];
}

interface Keys {
  readonly moveTo: (index: number) => void;
  readonly index: number;
  readonly last: number;
  readonly follow: () => void;
}

function useKeys({ moveTo, index, last, follow }: Keys): void {
  // With the page, not after it: the next key may come before an effect has its turn.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement)
        return;
      const act = {
        ArrowLeft: () => moveTo(index - 1),
        ArrowRight: () => moveTo(index + 1),
        Home: () => moveTo(0),
        End: () => moveTo(last),
        f: follow,
        '/': () => document.querySelector<HTMLElement>('#search')?.focus(),
      }[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}

const place = document.querySelector('#page');
if (place !== null) {
  place.replaceChildren();
  render(h(Page, null), place);
}
