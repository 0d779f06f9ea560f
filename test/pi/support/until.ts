import { vi } from 'vitest';

/** Waits until an assertion holds; the limit is one that only a hang reaches. */
export function until(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { timeout: 15_000, interval: 5 });
}
