/** How much room texts take: a fixed-width font makes it a matter of counting. */

/** px; the widest of the usual fixed-width fonts is 0.602 em. */
const charWidth = (fontSize: number): number => fontSize * 0.602;

export interface TextLine {
  readonly text: string;
  /** px */
  readonly size: number;
  readonly kind: 'event' | 'delay' | 'guard' | 'action';
}

export const lineHeight = 15;

export function widthOf(text: string, size: number): number {
  return Math.ceil(text.length * charWidth(size));
}

/** Room for lines below each other. */
export function boxOf(lines: readonly TextLine[]): { width: number; height: number } {
  return {
    width: Math.max(0, ...lines.map(({ text, size }) => widthOf(text, size))),
    height: lines.length * lineHeight,
  };
}

/** Breaks at blanks, so that no line is much longer than `columns`; further lines are set in. */
export function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines;
}
