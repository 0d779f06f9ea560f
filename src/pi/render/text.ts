/** Text that fits a terminal, whoever wrote it. */
import { stripVTControlCharacters } from 'node:util';

/** What turns the direction of the text behind it, so that a line may seem to say something else. */
const turns = /\p{Bidi_Control}/gu;

/** A text without anything that a terminal obeys: only its characters and line breaks are left. */
export function plain(text: string): string {
  return stripVTControlCharacters(text.toWellFormed())
    .replaceAll('\t', '  ')
    .replaceAll(/\r?\n|[\u2028\u2029]/g, '\n')
    .replaceAll(/[^\P{Cc}\n]/gu, '')
    .replaceAll(turns, '');
}

/**
 * Breaks a text into plain lines that surely fit: one that is too long makes Pi's terminal throw.
 *
 * Everything beyond Latin, Greek and Cyrillic letters and plain symbols counts as two columns, which
 * is never too few. Importing pi-tui for its exact widths would add 0.25 s to the start of every session.
 */
export function wrap(text: string, width: number): string[] {
  return plain(text)
    .split('\n')
    .flatMap((line) => wrapLine(line, width));
}

/** Cuts a text to one plain line of at most this many columns. */
export function cut(text: string, width: number): string {
  let line = '';
  let used = 0;
  for (const character of plain(text).replaceAll('\n', ' ')) {
    used += columnsOf(character);
    if (used > width) break;
    line += character;
  }
  return line;
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of line.match(/\S+\s*|^\s+/g) ?? []) {
    if (columns(current + word.trimEnd()) <= width) {
      current += word;
      continue;
    }
    if (current.trim() !== '') lines.push(current.trimEnd());
    current = '';
    for (const character of word) {
      if (columns((current + character).trimEnd()) > width && current !== '') {
        lines.push(current);
        current = '';
      }
      current += character;
    }
  }
  return [...lines, current.trimEnd()];
}

/** How many columns a text takes at most. */
export function columns(text: string): number {
  let sum = 0;
  for (const character of text) sum += columnsOf(character);
  return sum;
}

const wideSymbol = /\p{Emoji_Presentation}/u;

function columnsOf(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  // A variation selector may make the symbol before it wide.
  if (point < 0x1100 || point === 0xfe0f) return 1;
  const isSymbol = point >= 0x2000 && point < 0x2c00;
  return isSymbol && !wideSymbol.test(character) ? 1 : 2;
}
