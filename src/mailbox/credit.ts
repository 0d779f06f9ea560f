/**
 * Knows whether an inbox has room without listing it for each publish.
 *
 * Owns the estimate; does not list (it is given a count) and does not refuse (its caller does). The
 * reader acks in another process, so what is unread can only be counted on the disk; one count then
 * gives credit for many publishes. Measured: 72 µs a message over a whole fill from 0 to 1,000
 * (reference/transport.md B4).
 *
 * R1. With one publisher, never more than `max` are admitted: a count gives out a quarter of the room.
 */

export interface Credit {
  /** Takes room for one envelope; false when the inbox is full. */
  admit(): boolean;
  /** Takes room for one that is published in any case. */
  spend(): void;
  /** Counts anew; returns what is unread. */
  recount(): number;
}

export interface CreditOptions {
  readonly max: number;
  /** Counts what is published and not acked, on the disk; its errors pass. */
  readonly count: () => number;
}

/** Creates the account of one inbox; the first `admit` counts. */
export function createCredit({ max, count }: CreditOptions): Credit {
  let left = 0;
  const recount = (): number => {
    const unread = count();
    const room = max - unread;
    left = room <= 0 ? 0 : Math.max(1, Math.floor(room / 4));
    return unread;
  };
  return {
    admit() {
      if (left <= 0) recount();
      if (left <= 0) return false;
      left -= 1;
      return true;
    },
    spend() {
      left -= 1;
    },
    recount,
  };
}
