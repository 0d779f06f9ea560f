/** Every document that is made from the machines; the same bytes each time. */
import {
  agentMachine,
  promptMachine,
  requestMachine,
  sessionMachine,
  taskMachine,
  watcherMachine,
} from '../machines/index.ts';
import { chartOf } from './chart.ts';
import { configOf } from './config.ts';
import { mermaidOf } from './mermaid.ts';

const machines = {
  session: sessionMachine,
  agent: agentMachine,
  task: taskMachine,
  request: requestMachine,
  watcher: watcherMachine,
  prompt: promptMachine,
} as const;

export interface Document {
  readonly file: string;
  readonly text: string;
}

export function documents(): readonly Document[] {
  return Object.entries(machines).flatMap(([name, machine]) => {
    const chart = chartOf(machine);
    return [
      { file: `${name}.mmd`, text: mermaidOf(name, chart) },
      { file: `${name}.json`, text: `${JSON.stringify(configOf(name, chart), null, 2)}\n` },
    ];
  });
}
