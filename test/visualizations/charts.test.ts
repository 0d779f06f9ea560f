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
import { notesOf } from '../../visualizations/invariants.ts';
import { layOut } from '../../visualizations/layout.ts';
import type { Box } from '../../visualizations/drawing.ts';
import { drawSvg } from '../../visualizations/svg.ts';
import { widthOf } from '../../visualizations/text-box.ts';

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

const made = await documents();

const nodesOf = (node: AnyStateNode): AnyStateNode[] => [
  node,
  ...Object.values(node.states).flatMap(nodesOf),
];

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Every transition that a chart's picture is to show, as a viewer looks for it. */
const edgesIn = (svg: string): Set<string> =>
  new Set(
    [...svg.matchAll(/data-edge="([^"]*)"/g)].flatMap(([, names = '']) =>
      names.replaceAll('&gt;', '>').split(' '),
    ),
  );

describe('the drawing of', () => {
  it.each(Object.entries(machines))(
    '%s has room for every word, and no word on another or on a state',
    async (name, machine) => {
      const { states, edges } = await layOut(name, chartOf(machine));
      const labels = edges.map(({ label }) => label);
      const simple = states.filter(({ state }) => state.states.length === 0);

      for (const [index, label] of labels.entries()) {
        const others = [...labels.slice(index + 1), ...simple];
        expect(others.filter((other) => overlap(label, other))).toEqual([]);
      }
      const cramped = states.filter(({ own, width }) =>
        own.some(({ text, size }) => widthOf(text, size) > width - 12),
      );
      expect(cramped.map(({ state }) => state.path.join('.'))).toEqual([]);
      for (const { lines, label } of edges) {
        const width = Math.max(...lines.map(({ text, size }) => widthOf(text, size)));
        expect(width).toBeLessThanOrEqual(label.width);
      }
    },
  );

  it.each(Object.entries(machines))(
    '%s shows every state and every transition by the ids that XState has',
    async (name, machine) => {
      const chart = chartOf(machine);
      const svg = drawSvg(name, await layOut(name, chart));
      const nodes = nodesOf(machine.root).filter(({ type }) => type !== 'history');
      const states = new Set([...svg.matchAll(/data-state="([^"]*)"/g)].map(([, id]) => id));
      const edges = edgesIn(svg);

      expect(states).toEqual(new Set(nodes.map(({ id }) => id)));
      const wanted = nodes.flatMap((node) =>
        [...node.transitions.values()].flat().flatMap(({ eventType, source, target, reenter }) => {
          const [to] = target ?? [];
          const isShown =
            !/^xstate\.done|^session\.resumed$|\.resume$/.test(eventType) && to?.type !== 'history';
          const isLeft = to !== undefined && (to !== source || reenter);
          return isShown ? [`${source.id}|${eventType}|${isLeft ? to.id : ''}`] : [];
        }),
      );
      expect(wanted.filter((edge) => !edges.has(edge))).toEqual([]);
    },
  );
});

describe('the notes of', () => {
  it.each(Object.keys(machines))('%s have its invariants, numbered from 1', (name) => {
    const { about, invariants } = notesOf(name);

    expect(about).toContain('Owns:');
    expect(invariants.map(({ id }) => Number(id.replace(/^[A-Z]+/, '')))).toEqual(
      invariants.map((_, index) => index + 1),
    );
  });
});

it.each(Object.entries(machines))('every state of %s is described', (_name, machine) => {
  const nodes = nodesOf(machine.root);
  expect(nodes.filter(({ description }) => description === undefined)).toEqual([]);
});

describe('the pictures of the charts', () => {
  it.each(made)('$file is what `npm run visualize` writes', ({ file, text }) => {
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
