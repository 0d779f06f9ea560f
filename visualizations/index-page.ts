/** `index.html`: every picture with what its states mean and what always holds; works from a file. */
import type { Chart, ChartState } from './chart.ts';
import { escaped } from './drawing.ts';
import { notesOf } from './invariants.ts';

const style = `
  :root { color-scheme: light dark; --back: #fff; --text: #1b2028; --quiet: #545d6b; --line: #d5d9e0; --accent: #1557c0; }
  @media (prefers-color-scheme: dark) { :root { --back: #14171c; --text: #e7eaf0; --quiet: #a7b0be; --line: #343b47; --accent: #8db8ff; } }
  body { margin: 0 auto; max-width: 1600px; padding: 16px; background: var(--back); color: var(--text); font: 15px/1.55 system-ui, sans-serif; }
  a { color: var(--accent); }
  nav ul { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 0; list-style: none; }
  section { border-top: 1px solid var(--line); margin-top: 32px; }
  figure { margin: 16px 0; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
  figure img { display: block; max-width: 100%; height: auto; margin: auto; }
  p, dd { max-width: 80ch; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); }
  th { color: var(--quiet); font-weight: 600; }
  td:first-child { font-family: ui-monospace, monospace; font-size: 13px; overflow-wrap: anywhere; }
  dt { font-weight: 700; }
  dd { margin: 0 0 6px 0; }
  .files { color: var(--quiet); }
`;

export function indexPage(charts: Readonly<Record<string, Chart>>): string {
  const names = Object.keys(charts);
  return [
    '<!doctype html>',
    '<!-- Made by npm run visualize; edits are lost. -->',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<title>The statecharts of Sheepfold</title>',
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    '<h1>The statecharts of Sheepfold</h1>',
    '<p>A turn that ends is not a task that is done. Dashed purple arrows pass by time; brackets are conditions; what follows a slash is done on the way; ↻ enters a state anew.</p>',
    '<nav aria-label="Contents"><ul>',
    ...[...names, 'supervision', 'canonical-flow'].map(
      (name) => `<li><a href="#${name}">${name.replace('-', ' ')}</a></li>`,
    ),
    '</ul></nav>',
    ...Object.entries(charts).map(([name, chart]) => machineSection(name, chart)),
    pictureSection(
      'supervision',
      'Supervision tree',
      'Which actor hangs under which, in the session of the recorded flow.',
    ),
    pictureSection(
      'canonical-flow',
      'Canonical flow',
      'Scout has a task, asks planner, waits, goes on, and says that it is done: as it was recorded on real Pi.',
    ),
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function machineSection(name: string, { root }: Chart): string {
  const { about, invariants } = notesOf(name);
  return [
    `<section id="${name}">`,
    `<h2>${name}</h2>`,
    `<p>${marked(about)}</p>`,
    picture(name, `Statechart of ${name}`, ['svg', 'mmd', 'json']),
    '<h3>What always holds</h3>',
    '<dl>',
    ...invariants.map(({ id, text }) => `<dt>${id}</dt><dd>${marked(text)}</dd>`),
    '</dl>',
    '<h3>States</h3>',
    '<table><thead><tr><th scope="col">State</th><th scope="col">Means</th></tr></thead><tbody>',
    ...statesOf(root).map(
      ({ path, description = '' }) =>
        `<tr><td>${escaped([name, ...path].join('.'))}</td><td>${marked(description)}</td></tr>`,
    ),
    '</tbody></table>',
    '</section>',
  ].join('\n');
}

function pictureSection(name: string, title: string, words: string): string {
  return [
    `<section id="${name}">`,
    `<h2>${title}</h2>`,
    `<p>${words}</p>`,
    picture(name, title, ['svg', 'mmd']),
    '</section>',
  ].join('\n');
}

function picture(name: string, title: string, kinds: readonly string[]): string {
  const files = kinds.map((kind) => `<a href="${name}.${kind}">${name}.${kind}</a>`).join(', ');
  return `<figure><a href="${name}.svg"><img src="${name}.svg" alt="${title}, in full size behind this link"></a></figure><p class="files">${files}</p>`;
}

const statesOf = (state: ChartState): readonly ChartState[] => [
  state,
  ...state.states.flatMap(statesOf),
];

/** Backticks as code. */
function marked(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
