/** Every document that is made from the machines, and from one recorded run; the same bytes each time. */
import { readFileSync } from 'node:fs';
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
import { indexPage } from './index-page.ts';
import { layOut } from './layout.ts';
import { mermaidOf } from './mermaid.ts';
import { recordingSchema } from './recording.ts';
import { sequenceMermaid, sequenceSvg } from './sequence.ts';
import { supervisionMermaid, supervisionSvg } from './supervision.ts';
import { drawSvg } from './svg.ts';

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

export async function documents(): Promise<readonly Document[]> {
  const charts = Object.fromEntries(
    Object.entries(machines).map(([name, machine]) => [name, chartOf(machine)]),
  );
  const made: Document[] = [];
  for (const [name, chart] of Object.entries(charts)) {
    made.push(
      { file: `${name}.mmd`, text: mermaidOf(name, chart) },
      { file: `${name}.json`, text: `${JSON.stringify(configOf(name, chart), null, 2)}\n` },
      { file: `${name}.svg`, text: drawSvg(name, await layOut(name, chart)) },
    );
  }
  const recording = recordingSchema.parse(
    JSON.parse(readFileSync(new URL('canonical-flow.json', import.meta.url), 'utf8')),
  );
  return [
    ...made,
    { file: 'canonical-flow.mmd', text: sequenceMermaid(recording) },
    { file: 'canonical-flow.svg', text: sequenceSvg(recording) },
    { file: 'supervision.mmd', text: supervisionMermaid(recording) },
    { file: 'supervision.svg', text: supervisionSvg(recording) },
    { file: 'index.html', text: indexPage(charts) },
  ];
}
