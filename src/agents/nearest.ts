/** Order of names by how near they are to what somebody wrote: the first one is the likely meaning. */

/**
 * Returns `names` sorted by edit distance to `wanted`, equal distances in their given order.
 *
 * Case, `-` and `_` do not count, so that `omitSystemPrompt` is next to `omit-system-prompt`.
 */
export function nearestFirst(wanted: string, names: readonly string[]): readonly string[] {
  const target = fold(wanted);
  return names
    .map((name) => ({ name, distance: editDistance(target, fold(name)) }))
    .toSorted((left, right) => left.distance - right.distance)
    .map(({ name }) => name);
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

/** Levenshtein distance, one row at a time. */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const substitution = left[row - 1] === right[column - 1] ? 0 : 1;
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + substitution,
      );
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
