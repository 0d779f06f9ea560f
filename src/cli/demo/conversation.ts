/** What the agents of a session said to each other, and what was refused, as its store has it. */
import { SHEPHERD_ID } from '../../ids.ts';
import type { JournalRow, Store } from '../../runtime/store.ts';

export interface Refusal {
  readonly messageId: string;
  readonly fromId: string;
  readonly atMs: number;
  readonly code: string;
  readonly message: string;
}

/** What was refused to children in these steps; in all of the session by default. */
export function readRefusals(
  store: Store,
  rows: readonly JournalRow[] = store.journal({ after: 0, limit: 10_000 }),
): readonly Refusal[] {
  const refusals = rows.flatMap(({ atMs, moves }) =>
    moves.flatMap(({ messageId, from }) => {
      const verdict = from === SHEPHERD_ID ? undefined : store.get('seen', messageId)?.verdict;
      if (verdict?.ok !== false) return [];
      return {
        messageId,
        fromId: from,
        atMs,
        code: verdict.code ?? '',
        message: verdict.error ?? '',
      };
    }),
  );
  // An envelope that came twice was refused twice, in the same words.
  return [...new Map(refusals.map((refusal) => [refusal.messageId, refusal])).values()];
}
