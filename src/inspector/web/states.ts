/** What a state value says: to people, and to a picture of the chart. */
import type { MachineName } from '../report.ts';

/** Ids of all states that are active, as the chart's picture names them. */
export function activeStates(machine: string, value: unknown): readonly string[] {
  if (typeof value === 'string') return [`${machine}.${value}`];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, below]: [string, unknown]) => {
    const id = `${machine}.${name}`;
    return [id, ...activeStates(id, below)];
  });
}

/** `running`, `waiting, stale`, `idle`: what a badge says. */
export function stateLabel(machine: MachineName, value: unknown): string {
  // What an agent's process does comes first; the other regions are in its chart.
  const shown =
    machine === 'agent' && typeof value === 'object' && value !== null && 'process' in value
      ? value.process
      : value;
  const path = pathOf(shown).filter((name) => name !== 'open' && name !== 'ready');
  return path.length === 0 ? pathOf(shown).join(', ') : path.join(', ');
}

function pathOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, below]: [string, unknown]) => [
    name,
    ...pathOf(below),
  ]);
}

export type Tone = 'active' | 'waiting' | 'good' | 'bad' | 'quiet';

const tones: Readonly<Record<string, Tone>> = {
  running: 'active',
  working: 'active',
  created: 'active',
  starting: 'active',
  open: 'active',
  waiting: 'waiting',
  blocked: 'waiting',
  closing: 'waiting',
  stale: 'waiting',
  expired: 'waiting',
  completed: 'good',
  answered: 'good',
  failed: 'bad',
  lost: 'bad',
  timed_out: 'bad',
  recipient_gone: 'bad',
};

/** How a label is coloured; never the only thing that tells it. */
export function toneOf(label: string): Tone {
  return tones[label.split(', ', 1)[0] ?? ''] ?? 'quiet';
}

const overLabels = new Set([
  'completed',
  'blocked',
  'failed',
  'cancelled',
  'timed_out',
  'answered',
  'expired',
  'recipient_gone',
  'closed',
  'lost',
  'fired',
  'done',
]);

/** Whether nothing more can come of it. */
export function isOver(machine: MachineName, label: string): boolean {
  if (machine === 'agent') return label === 'closed' || label === 'failed' || label === 'lost';
  return machine !== 'session' && overLabels.has(label);
}
