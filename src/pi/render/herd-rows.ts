/**
 * The herd in a few lines: what each agent does, how long, and for whom it waits.
 *
 * Pure text of a given width; nothing is read here. The state of an open task wins over that of the
 * process, since an idle agent whose task waits is not finished.
 */
import type { AgentStatus } from '../../runtime/shepherd.ts';
import { columns, cut } from './text.ts';

/** Pi cuts what a widget has more. */
const maxLines = 10;
const endStates: ReadonlySet<string> = new Set(['closed', 'failed', 'lost']);
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** Agents that have not ended, in the order in which they are shown. */
export function liveAgents(agents: readonly AgentStatus[]): readonly AgentStatus[] {
  return agents.filter(({ state }) => !endStates.has(state));
}

/**
 * Draws the herd; nothing when no agent lives.
 *
 * @param options width in columns, `nowMs` epoch ms.
 */
export function herdRows(
  agents: readonly AgentStatus[],
  options: { readonly width: number; readonly nowMs: number },
): string[] {
  const { width, nowMs } = options;
  const live = liveAgents(agents);
  if (live.length === 0 || width < 8) return [];
  const room = maxLines - 2;
  const shown = live.length > room ? live.slice(0, room - 1) : live;
  const rest = live.length - shown.length;
  const inner = width - 4;
  const rows = shown.map((agent) => rowOf(agent, { width: inner, nowMs }));
  if (rest > 0) rows.push(fit(`  and ${rest} more`, inner));
  return [
    border('╭', '╮', width, ` shepherd ─── ${herdSummary(live)} `),
    ...rows.map((row) => `│ ${row} │`),
    border('╰', '╯', width, ''),
  ];
}

/** `2 working · 1 waiting`, or how many agents there are when nobody does either. */
export function herdSummary(agents: readonly AgentStatus[]): string {
  const live = liveAgents(agents);
  const working = live.filter(
    ({ state, task }) => state === 'working' && task?.state !== 'waiting',
  );
  const waiting = live.filter(({ task }) => task?.state === 'waiting');
  const parts = [
    ...(working.length > 0 ? [`${working.length} working`] : []),
    ...(waiting.length > 0 ? [`${waiting.length} waiting`] : []),
  ];
  return parts.length === 0 ? `${live.length} active` : parts.join(' · ');
}

function border(left: string, right: string, width: number, title: string): string {
  const inner = width - 2;
  const text = columns(title) + 1 <= inner ? `─${title}` : '';
  return `${left}${text}${'─'.repeat(inner - columns(text))}${right}`;
}

function rowOf(
  agent: AgentStatus,
  { width, nowMs }: { readonly width: number; readonly nowMs: number },
): string {
  const { task } = agent;
  const state = stateOf(agent);
  const minutes = Math.floor((task?.waitingMs ?? 0) / 60_000);
  const wait =
    task?.state === 'waiting'
      ? ` ⏳${minutes}m${task.waitingOn === undefined ? '' : ` ←${task.waitingOn}`}`
      : '';
  const sinceMs = nowMs - agent.createdAtMs;
  const left = `${iconOf(agent, nowMs)} ${clock(sinceMs)}  ${agent.agent}: ${agent.label}${wait}`;
  // The right label is never cut before the left one.
  const right = columns(state) < width ? state : '';
  return right === '' ? fit(left, width) : `${fit(left, width - columns(right) - 1)} ${right}`;
}

function stateOf({ state, task, stalledMs }: AgentStatus): string {
  if (stalledMs !== undefined) return `stalled ${Math.floor(stalledMs / 60_000)}m`;
  if (task === undefined) return state;
  return task.state === 'waiting' && task.stale === true ? 'waiting (stale)' : task.state;
}

function iconOf({ state, task, error, stalledMs }: AgentStatus, nowMs: number): string {
  if (stalledMs !== undefined) return '✗';
  if (task?.state === 'waiting') return '…';
  if (state === 'working') return spinner[Math.floor(nowMs / 1000) % spinner.length] ?? '·';
  return error === undefined && state !== 'unknown' ? '○' : '✗';
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `04:07`, or hours and minutes beyond an hour. */
function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${two(minutes)}:${two(seconds % 60)}`
    : `${Math.floor(minutes / 60)}h${two(minutes % 60)}`;
}

/** Cuts or fills a text to exactly this many columns. */
function fit(text: string, width: number): string {
  const line = cut(text, width);
  return line + ' '.repeat(Math.max(0, width - columns(line)));
}
