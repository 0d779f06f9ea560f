/** Lengths of texts as people count them: in characters (code points), never in UTF-16 units. */

/** Whether a text has more characters than this. */
export function isLongerThan(text: string, maxCharacters: number): boolean {
  // A text has no more characters than units, so that a short one is not counted.
  return text.length > maxCharacters && characterCount(text) > maxCharacters;
}

/** Number of characters. */
export function characterCount(text: string): number {
  return Array.from(text).length;
}

/** The beginning of a text, cut between two characters. */
export function firstCharacters(text: string, count: number): string {
  return text.length <= count
    ? text
    : Array.from(text.slice(0, 2 * count))
        .slice(0, count)
        .join('');
}
