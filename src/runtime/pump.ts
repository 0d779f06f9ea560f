/**
 * Moves what comes in, mail and due timers, into steps, in the order of their instants.
 *
 * P1. An envelope beats a deadline if and only if its `createdAt` is not after the instant: before a
 *     timer fires, every outbox is read, and earlier mail is handled first.
 * P2. Mail is acked only after its step is committed; what could not be kept comes again, in order.
 * P3. One poison input is contained and acked; the rest flows.
 */
import type { Claimed, Mailbox } from '../mailbox/mailbox.ts';
import type { ActorClock, DueTimer } from './clock.ts';

export interface PumpPorts {
  readonly mailbox: Mailbox;
  readonly clock: ActorClock;
  /** Epoch ms. */
  readonly wall: () => number;
  /**
   * Handles one envelope to its commit; false when nothing could be kept (the disk), so that it
   * comes again.
   */
  readonly onEnvelope: (claimed: Claimed) => boolean;
  readonly onTimer: (due: DueTimer) => void;
}

export interface Pump {
  /** Handles all that has come in by now. Safe to call at any time; never re-enters itself. */
  run(): void;
}

/** Creates the pump of one session. */
export function createPump(ports: PumpPorts): Pump {
  const { mailbox, clock, wall } = ports;
  let running = false;
  let again = false;

  function fireUntil(atMs: number): void {
    for (let due = clock.takeDue(atMs); due !== undefined; due = clock.takeDue(atMs)) {
      ports.onTimer(due);
    }
  }

  function round(): void {
    const nowMs = wall();
    const timersDue = (clock.nextDueAtMs() ?? Infinity) <= nowMs;
    const claimed = mailbox.take({ all: timersDue });
    const held = new Set<string>();
    for (const mail of claimed) {
      if (held.has(mail.from.agentId)) {
        mailbox.retry(mail);
        continue;
      }
      // A sender's clock that runs ahead does not make its mail late.
      const sentAtMs = Math.min(mail.envelope.createdAt, nowMs);
      if (timersDue) fireUntil(sentAtMs - 1);
      if (ports.onEnvelope(mail)) mailbox.ack(mail);
      else {
        held.add(mail.from.agentId);
        mailbox.retry(mail);
      }
    }
    if (timersDue && held.size === 0) fireUntil(nowMs);
  }

  return {
    run() {
      again = true;
      if (running) return;
      running = true;
      try {
        while (again) {
          again = false;
          round();
        }
      } finally {
        running = false;
      }
    },
  };
}
