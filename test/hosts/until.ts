import { setTimeout as wait } from 'node:timers/promises';

/** Waits until `look` gives something other than `undefined` or `false`, and gives that. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  limitMs = 20_000,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`);
    await wait(15);
  }
}
