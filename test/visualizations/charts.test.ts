import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createMachine, type AnyStateNode } from 'xstate';
import {
  agentMachine,
  promptMachine,
  requestMachine,
  sessionMachine,
  taskMachine,
  watcherMachine,
} from '../../machines/index.ts';
import { chartOf } from '../../visualizations/chart.ts';
import { configOf } from '../../visualizations/config.ts';
import { documents } from '../../visualizations/documents.ts';

const machines = {
  agent: agentMachine,
  prompt: promptMachine,
  request: requestMachine,
  session: sessionMachine,
  task: taskMachine,
  watcher: watcherMachine,
};

const read = (file: string): string =>
  readFileSync(new URL(`../../visualizations/${file}`, import.meta.url), 'utf8');

const idsBelow = (node: AnyStateNode): string[] => [
  node.path.join('.'),
  ...Object.values(node.states).flatMap(idsBelow),
];

describe('the pictures of the charts', () => {
  it.each(documents())('$file is what `npm run visualize` writes', ({ file, text }) => {
    expect(read(file)).toBe(text);
  });

  it('the README shows the task’s chart', () => {
    const chart = read('task.mmd').split('\n').slice(1).join('\n').trim();
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    expect(readme).toContain(`\`\`\`mermaid\n${chart}\n\`\`\``);
  });

  it.each(Object.entries(machines))('%s can be loaded from its definition', (name, machine) => {
    const loaded = createMachine(JSON.parse(read(`${name}.json`)) as never);
    expect(idsBelow(loaded.root)).toEqual(idsBelow(machine.root));
  });

  it.each(Object.entries(machines))('%s names every guard, action and delay', (name, machine) => {
    const text = JSON.stringify(configOf(name, chartOf(machine)));
    const { guards, actions, delays } = machine.implementations;
    for (const part of Object.keys(delays)) expect(text).toContain(part);
    const missing = [...Object.keys(guards), ...Object.keys(actions)].filter(
      (part) => !text.includes(part),
    );
    // Those are only parts of other guards.
    expect(missing.filter((part) => !Object.keys(guards).includes(part))).toEqual([]);
  });

  it('no guard is left without words, but those that have no name', () => {
    const counts = Object.entries(machines).map(([name, machine]) => {
      const { transitions } = chartOf(machine);
      return [name, transitions.filter(({ guard }) => guard?.includes('a condition')).length];
    });
    expect(Object.fromEntries(counts)).toEqual({
      agent: 0,
      prompt: 0,
      request: 0,
      session: 0,
      task: 0,
      watcher: 0,
    });
  });
});
