/** When a provider that refuses for now takes requests again, as its answer says. */

/** Beyond it a header is wrong, or nobody should wait in silence. */
const longestMs = 60 * 60_000;

/**
 * Reads `retry-after` (seconds, or a date) of an answer that says "later".
 *
 * @returns epoch ms; undefined for any other answer, and for one that names no time.
 */
export function throttledUntil(
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  nowMs: number,
): number | undefined {
  if (answer.status !== 429 && answer.status !== 503 && answer.status !== 529) return undefined;
  const header = Object.entries(answer.headers).find(
    ([name]) => name.toLowerCase() === 'retry-after',
  )?.[1];
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  const untilMs = Number.isNaN(seconds) ? Date.parse(header) : nowMs + seconds * 1_000;
  if (!Number.isFinite(untilMs) || untilMs <= nowMs) return undefined;
  return Math.round(Math.min(untilMs, nowMs + longestMs));
}
