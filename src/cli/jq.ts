/** The one thing of jq that a probe needs: a path into a document. */
import { z } from 'zod';

/**
 * Makes a reader of a path such as `.stalled` or `.sources.turnSignal`; `.` is the whole.
 *
 * @returns undefined for any other filter.
 */
export function pathFilter(filter: string): ((document: unknown) => unknown) | undefined {
  const trimmed = filter.trim();
  if (trimmed === '.') return (document) => document;
  if (!/^(\.[A-Za-z_]\w*)+$/.test(trimmed)) return undefined;
  const keys = trimmed.slice(1).split('.');
  return (document) =>
    keys.reduce<unknown>((value, key) => {
      const found = z.record(z.string(), z.unknown()).safeParse(value).data;
      return found !== undefined && Object.hasOwn(found, key) ? found[key] : null;
    }, document);
}
