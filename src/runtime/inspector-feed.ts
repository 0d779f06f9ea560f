/**
 * Hands what XState shows to an inspector of the user's, so that nothing of the session depends on it.
 *
 * IF1. The inspector runs outside of steps: what it throws reaches no actor, and nothing waits for it.
 * IF2. One that throws, takes longer than `maxCallMs` for an event, or falls more than `maxPending` events
 *      behind is cut off for good; the reason is told once.
 */
import type { InspectionEvent } from 'xstate';
import { describeError } from '../errors.ts';

/** What XState itself takes as an inspector. */
export type Inspector =
  | ((event: InspectionEvent) => void)
  | { readonly next?: ((event: InspectionEvent) => void) | undefined };

export interface InspectorFeedOptions {
  readonly inspector: Inspector;
  /** Told once, with the reason in words; never within a step. */
  readonly onCutOff: (reason: string) => void;
  /** Ms that only rise. Default `performance.now`. */
  readonly monotonic?: (() => number) | undefined;
  /** Default 1,000. */
  readonly maxCallMs?: number | undefined;
  /** Default 10,000. */
  readonly maxPending?: number | undefined;
}

/** So long it runs at a time; then comes what else waits. */
const sliceMs = 5;

/** Returns what takes the events, from within steps too. */
export function createInspectorFeed(
  options: InspectorFeedOptions,
): (event: InspectionEvent) => void {
  const { inspector, onCutOff, monotonic = () => performance.now() } = options;
  const { maxCallMs = 1_000, maxPending = 10_000 } = options;
  const show = typeof inspector === 'function' ? inspector : inspector.next?.bind(inspector);
  let pending: InspectionEvent[] = [];
  let next = 0;
  let isOver = show === undefined;

  function cutOff(reason: string): void {
    isOver = true;
    pending = [];
    onCutOff(reason);
  }

  function handOver(): void {
    const endsMs = monotonic() + sliceMs;
    for (let atMs = endsMs - sliceMs; atMs < endsMs; atMs = monotonic()) {
      const event = pending[next];
      if (event === undefined) {
        pending = [];
        next = 0;
        return;
      }
      next += 1;
      try {
        show?.(event);
      } catch (error) {
        cutOff(`it threw: ${describeError(error)}`);
        return;
      }
      const tookMs = monotonic() - atMs;
      if (tookMs > maxCallMs) {
        cutOff(`one event took it ${Math.round(tookMs)} ms`);
        return;
      }
    }
    setImmediate(handOver);
  }

  return (event) => {
    if (isOver) return;
    if (pending.length === 0) setImmediate(handOver);
    pending.push(event);
    if (pending.length - next <= maxPending) return;
    isOver = true;
    pending = [];
    next = 0;
    // The step that runs has to end first.
    setImmediate(() => onCutOff(`it was more than ${maxPending} events behind`));
  };
}
