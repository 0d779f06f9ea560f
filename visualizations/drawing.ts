/** What every drawing of ours shares: colours for light and dark, letters, arrows. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** Colours and letters; `.sheepfold-drawing` takes the theme of whatever shows it. */
const baseStyle = `
  .sheepfold-drawing { --back: #ffffff; --box: #f4f6fa; --inner: #ffffff; --line: #5a6577; --text: #1b2028; --quiet: #545d6b; --guard: #6a3d00; --action: #3f5a2a; --delay: #7a1fb8; --hot: #0b5fd6; --hot-back: #d8e8ff; color-scheme: light; }
  @media (prefers-color-scheme: dark) { .sheepfold-drawing { --back: #14171c; --box: #1c2129; --inner: #242a34; --line: #8d99ab; --text: #e7eaf0; --quiet: #a7b0be; --guard: #f2c078; --action: #a9d08e; --delay: #d3a4ff; --hot: #8db8ff; --hot-back: #1f3a61; color-scheme: dark; } }
  .sheepfold-drawing text { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 12px; fill: var(--text); white-space: pre; }
  .sheepfold-drawing .title { font-size: 13px; font-weight: 700; }
  .sheepfold-drawing .quiet { fill: var(--quiet); }
  .sheepfold-drawing .edge path { fill: none; stroke: var(--line); stroke-width: 1.4; }
  .sheepfold-drawing .edge .head { fill: var(--line); stroke: none; }
`;

const around = 8;

export function svgDocument(options: {
  readonly label: string;
  readonly width: number;
  readonly height: number;
  readonly style: string;
  readonly body: readonly string[];
}): string {
  const { label, width, height, style, body } = options;
  const size = `width="${width + 2 * around}" height="${height + 2 * around}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="sheepfold-drawing" role="img" aria-label="${escaped(label)}" viewBox="-${around} -${around} ${width + 2 * around} ${height + 2 * around}" ${size}>`,
    `<style>${baseStyle}${style}</style>`,
    `<rect x="-${around}" y="-${around}" ${size} fill="var(--back)"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n');
}

const corner = 6;
const headLength = 8;

/** Straight lines with round corners, and a head at the end. */
export function drawWay(points: readonly Point[]): string {
  const end = points.at(-1);
  const before = points.at(-2);
  if (end === undefined || before === undefined) return '';
  const angle = Math.atan2(end.y - before.y, end.x - before.x);
  const back = (by: number, aside: number): string =>
    `${fixed(end.x - by * Math.cos(angle) + aside * Math.sin(angle))},${fixed(end.y - by * Math.sin(angle) - aside * Math.cos(angle))}`;
  const steps = points.map((point, index) => {
    const previous = points[index - 1];
    const next = points[index + 1];
    if (previous === undefined) return `M${fixed(point.x)},${fixed(point.y)}`;
    if (next === undefined) return `L${back(headLength - 1, 0)}`;
    const into = towards(point, previous);
    const out = towards(point, next);
    return `L${fixed(into.x)},${fixed(into.y)}Q${fixed(point.x)},${fixed(point.y)} ${fixed(out.x)},${fixed(out.y)}`;
  });
  return `<path d="${steps.join('')}"/><path class="head" d="M${back(0, 0)}L${back(headLength, 4)}L${back(headLength, -4)}Z"/>`;
}

/** So far from a corner its rounding begins; half of a short line at most. */
function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const by = length === 0 ? 0 : Math.min(corner, length / 2) / length;
  return { x: from.x + (to.x - from.x) * by, y: from.y + (to.y - from.y) * by };
}

export function drawRect({ x, y, width, height }: Box, radius: number, kind?: string): string {
  const name = kind === undefined ? '' : ` class="${kind}"`;
  return `<rect${name} x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}"/>`;
}

export function inset({ x, y, width, height }: Box, by: number): Box {
  return { x: x + by, y: y + by, width: width - 2 * by, height: height - 2 * by };
}

const fixed = (value: number): string => String(Math.round(value * 10) / 10);

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
