/** Words for instants, durations, ids and names. */
import type { NamesReport } from '../report.ts';

/** `14:03:07.120` */
export function clockTime(atMs: number): string {
  const at = new Date(atMs);
  const ms = String(at.getMilliseconds()).padStart(3, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `840 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min` */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

export interface Names {
  /** `scout: survey`, `Shepherd`, the beginning of a task's text. */
  of(id: string): string;
  /** The id without what every id of its kind begins with. */
  short(id: string): string;
}

export function createNames({ agents, tasks }: NamesReport): Names {
  const known = new Map<string, string>([
    ['shepherd', 'Shepherd'],
    ['parent', 'Shepherd'],
    ['session', 'session'],
  ]);
  for (const { id, agent, label } of agents) known.set(id, `${agent}: ${label}`);
  for (const { id, description } of tasks) known.set(id, description);
  return {
    of: (id) => known.get(id) ?? shortId(id),
    short: shortId,
  };
}

/** `task d3k9…`; message ids begin with the time, so their end tells them apart. */
function shortId(id: string): string {
  const [, kind, rest = ''] = /^shepherd-([a-z]+)-(\w+)$/.exec(id) ?? [];
  if (kind === undefined) return id;
  const name = kind === 'message' ? 'question' : kind === 'watch' ? 'watcher' : kind;
  return `${name} ${rest.slice(-6)}`;
}
