/** How lines look to a person: colour, width, and how long something has lasted. */
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Colours a text where a person looks: on a terminal, with NO_COLOR not set. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Colours of the task states that deserve one. */
export const taskStyles: Readonly<Record<string, Style>> = {
  waiting: 'yellow',
  completed: 'green',
  blocked: 'red',
  failed: 'red',
  cancelled: 'red',
  timed_out: 'red',
};

/** A piece of a line; `width` pads it to a column. */
export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
  readonly width?: number | undefined;
}

/** A line where the width is not known is cut here: a task may have 50,000 characters. */
const longestLine = 240;

/**
 * Joins cells to one line of at most `columns`, cut with `…`.
 *
 * Control characters become spaces: the texts come from models, and must not drive the terminal.
 */
export function formatLine(cells: readonly Cell[], columns = longestLine): string {
  let left = columns;
  let line = '';
  for (const { text, style, width = 0 } of cells.filter(
    (cell) => cell.text !== '' || cell.width !== undefined,
  )) {
    if (left <= 0) break;
    const gap = line === '' ? '' : '  '.slice(0, left);
    const plain = cut(onOneLine(text), left - gap.length);
    const pad = ' '.repeat(Math.max(0, Math.min(width, left - gap.length) - widthOf(plain)));
    line += gap + (style === undefined ? plain : paint(style, plain)) + pad;
    left -= gap.length + widthOf(plain) + pad.length;
  }
  return line.trimEnd();
}

/** Width for a column that holds all of `texts`, at most `most`. */
export function columnFor(texts: readonly string[], most: number): number {
  return Math.min(most, Math.max(0, ...texts.map((text) => widthOf(onOneLine(text)))));
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let left = columns - 1;
  for (const character of text) {
    left -= widthOfCharacter(character);
    if (left < 0) break;
    kept += character;
  }
  return columns > 0 ? `${kept}…` : '';
}

function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += widthOfCharacter(character);
  return width;
}

const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\uFF01-\uFF60]/u;

function widthOfCharacter(character: string): number {
  if (/\p{Mn}/u.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** `40s`, `4m`, `3h`, `2d`: as much as one looks at. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
