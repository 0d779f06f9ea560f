/**
 * Moves what comes in, mail and due timers, into steps, in the order of their instants.
 *
 * P1. An envelope beats a deadline if and only if its `createdAt` is not after the instant: before a
 *     timer fires, every outbox is read, and earlier mail is handled first.
 * P2. Mail is acked only after its step is committed; what could not be kept comes again, in order.
 * P3. One poison input is contained and acked; the rest flows.
 */
import { ShepherdError } from '../errors.ts';
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
  /** Fires one timer; false when nothing could be kept: it is due again. */
  readonly onTimer: (due: DueTimer) => boolean;
}

export interface Pump {
  /** Handles all that has come in by now. Safe to call at any time; never re-enters itself. */
  run(): void;
  /** Like `run`, but reads every outbox, also those without a hint of mail. */
  drain(): void;
}

/** Creates the pump of one session. */
export function createPump(ports: PumpPorts): Pump {
  const { mailbox, clock, wall } = ports;
  let running = false;
  let again = false;
  let readAll = false;

  /** False when a timer could not be kept: the disk, and trying on would never end. */
  function fireUntil(atMs: number): boolean {
    for (let due = clock.takeDue(atMs); due !== undefined; due = clock.takeDue(atMs)) {
      if (!ports.onTimer(due)) return false;
    }
    return true;
  }

  /** What cannot be acked now comes again, and is then known as a repeat. */
  function ack(mail: Claimed): void {
    try {
      mailbox.ack(mail);
    } catch (error) {
      if (!ShepherdError.is(error)) throw error;
    }
  }

  function round(): void {
    const nowMs = wall();
    const timersDue = (clock.nextDueAtMs() ?? Infinity) <= nowMs;
    const claimed = mailbox.take({ all: timersDue || readAll });
    readAll = false;
    const held = new Set<string>();
    let isKept = true;
    for (const mail of claimed) {
      if (held.has(mail.from.agentId)) {
        mailbox.retry(mail);
        continue;
      }
      // A sender's clock that runs ahead does not make its mail late.
      const sentAtMs = Math.min(mail.envelope.createdAt, nowMs);
      if (timersDue && isKept) isKept = fireUntil(sentAtMs - 1);
      if (isKept && ports.onEnvelope(mail)) ack(mail);
      else {
        held.add(mail.from.agentId);
        mailbox.retry(mail);
      }
    }
    if (timersDue && held.size === 0) fireUntil(nowMs);
  }

  function run(): void {
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
  }

  return {
    run,
    drain() {
      readAll = true;
      run();
    },
  };
}
