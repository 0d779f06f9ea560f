/** The supervision tree of a recorded session: which actor hangs under which. */
import { drawRect, escaped, svgDocument } from './drawing.ts';
import type { Recording } from './recording.ts';

type Actor = Recording['actors'][number];

interface Line {
  readonly actor: Actor;
  readonly depth: number;
  /** Line of the actor that it hangs under. */
  readonly under: number | undefined;
}

/** What each machine owns, in a few words. */
const words: Readonly<Record<Actor['machine'], string>> = {
  session: 'hears of the end and the errors of all below it',
  agent: 'one child: its process, its slot, whether it lives',
  task: 'one tracked task; its end is the one outcome',
  request: 'one question that expects a reply',
  prompt: 'one turn, started on purpose',
  watcher: 'tells once how each watched task ended',
};

function linesOf({ actors }: Recording): readonly Line[] {
  const lines: Line[] = [];
  const add = (under: string | null, depth: number, at: number | undefined): void => {
    for (const actor of actors.filter((one) => one.under === under)) {
      lines.push({ actor, depth, under: at });
      add(actor.name, depth + 1, lines.length - 1);
    }
  };
  add(null, 0, undefined);
  return lines;
}

export function supervisionMermaid(recording: Recording): string {
  const lines = linesOf(recording);
  return [
    '%% supervision tree, from a recorded run: made by npm run visualize; edits are lost.',
    'flowchart LR',
    ...lines.map(({ actor }, index) => `  a${index}["${actor.machine}: ${actor.name}"]`),
    ...lines.flatMap(({ under }, index) =>
      under === undefined ? [] : `  a${under} --> a${index}`,
    ),
    '',
  ].join('\n');
}

const rowHeight = 46;
const indent = 44;
const boxWidth = 250;

export function supervisionSvg(recording: Recording): string {
  const lines = linesOf(recording);
  const depth = Math.max(0, ...lines.map((line) => line.depth));
  const x = (line: Line): number => line.depth * indent;
  const y = (index: number): number => index * rowHeight;
  return svgDocument({
    label: 'The supervision tree of a session',
    width: depth * indent + boxWidth + 430,
    height: lines.length * rowHeight,
    style: `
  .sheepfold-drawing .actor { fill: var(--box); stroke: var(--line); }
  .sheepfold-drawing .branch { fill: none; stroke: var(--line); stroke-width: 1.4; }
`,
    body: lines.map((line, index) => {
      const { actor, under } = line;
      const box = { x: x(line), y: y(index) + 6, width: boxWidth, height: 34 };
      const branch =
        under === undefined
          ? ''
          : `<path class="branch" d="M${x(line) - indent + 16},${y(under) + 40}V${y(index) + 23}H${x(line)}"/>`;
      return `${branch}${drawRect(box, 6, 'actor')}<text class="title" x="${box.x + 12}" y="${box.y + 22}">${escaped(actor.machine)}</text><text x="${box.x + 92}" y="${box.y + 22}">${escaped(actor.name)}</text><text class="quiet" x="${box.x + boxWidth + 14}" y="${box.y + 22}">${escaped(words[actor.machine])}</text>`;
    }),
  });
}
