/**
 * When each child last showed that it goes on, as its heartbeats say.
 *
 * They come every few seconds and are worth no step: they are gathered here, and told to a chart just
 * before it would take the child for stalled.
 */
import type { Herd, LiveAgent } from './herd.ts';

export interface SignsOfLife {
  /** @param atMs epoch ms; what is older than what is known counts for nothing. */
  note(agentId: string, atMs: number): void;
  /** Takes out what concerns charts whose patience ends at or before `untilMs`. */
  dueBefore(
    untilMs: number,
    herd: Pick<Herd, 'agent'>,
  ): readonly { readonly agent: LiveAgent; readonly atMs: number }[];
}

export function createSignsOfLife(): SignsOfLife {
  const latest = new Map<string, number>();
  return {
    note(agentId, atMs) {
      latest.set(agentId, Math.max(atMs, latest.get(agentId) ?? 0));
    },
    dueBefore(untilMs, herd) {
      const due: { readonly agent: LiveAgent; readonly atMs: number }[] = [];
      for (const [agentId, atMs] of latest) {
        const agent = herd.agent(agentId);
        const { progressAtMs = null, stallAfterMs = null } = agent?.getSnapshot().context ?? {};
        const isNews = agent !== undefined && atMs > (progressAtMs ?? Infinity);
        if (isNews && (progressAtMs ?? 0) + (stallAfterMs ?? Infinity) >= untilMs) continue;
        latest.delete(agentId);
        if (isNews) due.push({ agent, atMs });
      }
      return due;
    },
  };
}
