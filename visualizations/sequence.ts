/** A recorded flow as a sequence: who wrote to whom, and how the task stood. */
import { drawRect, drawWay, escaped, svgDocument } from './drawing.ts';
import type { Recording } from './recording.ts';
import { widthOf } from './text-box.ts';

/** What people say to each other; receipts and verdicts keep the machinery going. */
const conversation = new Set(['task', 'message', 'reply', 'task_done', 'task_closed', 'notice']);

type Line =
  | { readonly type: 'mail'; readonly from: number; readonly to: number; readonly text: string }
  | { readonly type: 'state'; readonly lane: number; readonly text: string };

interface Sequence {
  readonly lanes: readonly string[];
  readonly lines: readonly Line[];
}

function sequenceOf({ actors, steps }: Recording): Sequence {
  const lanes = [
    'Shepherd',
    ...actors.filter(({ machine }) => machine === 'agent').map(({ name }) => name),
  ];
  const owner = new Map(actors.map(({ name, under }) => [name, under]));
  const lines = steps.flatMap(({ mails, states }): readonly Line[] => [
    ...mails
      .filter(({ kind }) => conversation.has(kind))
      .map(({ kind, from, to, asks }): Line => ({
        type: 'mail',
        from: Math.max(0, lanes.indexOf(from)),
        to: Math.max(0, lanes.indexOf(to)),
        text: asks === true ? `${kind}, expects a reply` : kind,
      })),
    ...states.map(({ task, state }): Line => ({
      type: 'state',
      lane: Math.max(0, lanes.indexOf(owner.get(task) ?? '')),
      text: `${task} ${stateWord(state)}`,
    })),
  ]);
  return { lanes, lines };
}

/** `waiting` for `task.open.waiting`; an open task begins as created. */
function stateWord(id: string): string {
  const last = id.split('.').at(-1) ?? id;
  return last === 'open' ? 'created' : last;
}

const partyId = (lane: number): string => `p${lane}`;

export function sequenceMermaid(recording: Recording): string {
  const { lanes, lines } = sequenceOf(recording);
  return [
    '%% canonical flow, from a recorded run: made by npm run visualize; edits are lost.',
    'sequenceDiagram',
    ...lanes.map((name, index) => `  participant ${partyId(index)} as ${name}`),
    ...lines.map((line) =>
      line.type === 'mail'
        ? `  ${partyId(line.from)}->>${partyId(line.to)}: ${line.text}`
        : `  Note over ${partyId(line.lane)}: ${line.text}`,
    ),
    '',
  ].join('\n');
}

const laneWidth = 230;
const rowHeight = 36;
const top = 52;

export function sequenceSvg(recording: Recording): string {
  const { lanes, lines } = sequenceOf(recording);
  const x = (lane: number): number => lane * laneWidth + laneWidth / 2;
  const height = top + lines.length * rowHeight + 16;
  return svgDocument({
    label: 'The canonical flow, as it was recorded',
    width: lanes.length * laneWidth,
    height,
    style: `
  .sheepfold-drawing .lane { stroke: var(--line); stroke-dasharray: 3 4; }
  .sheepfold-drawing .party { fill: var(--box); stroke: var(--line); }
  .sheepfold-drawing .note { fill: var(--hot-back); stroke: var(--hot); }
`,
    body: [
      ...lanes.map((name, lane) => {
        const box = { x: x(lane) - 90, y: 4, width: 180, height: 30 };
        return `<line class="lane" x1="${x(lane)}" y1="34" x2="${x(lane)}" y2="${height}"/>${drawRect(box, 6, 'party')}<text class="title" text-anchor="middle" x="${x(lane)}" y="24">${escaped(name)}</text>`;
      }),
      ...lines.map((line, index) => {
        const y = top + index * rowHeight + 18;
        if (line.type === 'state') {
          const width = widthOf(line.text, 12) + 20;
          const box = { x: x(line.lane) - width / 2, y: y - 14, width, height: 24 };
          return `${drawRect(box, 12, 'note')}<text text-anchor="middle" x="${x(line.lane)}" y="${y + 2}">${escaped(line.text)}</text>`;
        }
        const [from, to] = [x(line.from), x(line.to)];
        const middle = (from + to) / 2;
        const way = drawWay([
          { x: from, y: y + 4 },
          { x: to, y: y + 4 },
        ]);
        const room = widthOf(line.text, 12) + 8;
        const box = { x: middle - room / 2, y: y - 14, width: room, height: 15 };
        return `<g class="edge">${way}</g><rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" fill="var(--back)"/><text text-anchor="middle" x="${middle}" y="${y - 2}">${escaped(line.text)}</text>`;
      }),
    ],
  });
}
