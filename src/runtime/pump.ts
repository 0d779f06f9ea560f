/**
 * Moves what comes in, mail and due timers, into steps, in the order of their instants.
 *
 * P1. An envelope beats a deadline if and only if its `createdAt` is not after the instant: before a
 *     timer fires, every outbox is read to its end, and earlier mail is handled first.
 * P2. Mail is acked only after its step is committed; what could not be kept comes again, in order.
 * P3. One poison input is contained and acked; the rest flows.
 */
import { isDiskError, ShepherdError } from '../errors.ts';
import type { ProcessExit } from '../hosts/host.ts';
import type { Incarnation } from '../mailbox/layout.ts';
import type { Claimed, Mailbox } from '../mailbox/mailbox.ts';
import type { ActorClock, DueTimer } from './clock.ts';

/** A child's process has ended; the host tells it once. */
export interface Exit {
  readonly from: Incarnation;
  readonly exit: ProcessExit;
}

export interface PumpPorts {
  readonly mailbox: Mailbox;
  readonly clock: ActorClock;
  /** Epoch ms. */
  readonly wall: () => number;
  /**
   * Handles one envelope to its commit; false when nothing could be kept (the disk), so that it
   * comes again. The same for the others.
   */
  readonly onEnvelope: (claimed: Claimed) => boolean;
  readonly onExit: (exit: Exit) => boolean;
  readonly onTimer: (due: DueTimer) => boolean;
  /** Told before timers that are due until then fire: what would keep one from it is to be known. */
  readonly beforeTimers: (untilMs: number) => boolean;
  /** Has the steps within share a commit; false when none of them was kept. */
  readonly batch: (work: () => boolean) => boolean;
}

export interface Pump {
  /** Begins to handle what comes in; before, everything waits. */
  open(): void;
  /** Handles all that has come in by now. Safe to call at any time; never re-enters itself. */
  run(): void;
  /** Like `run`, but leaves timers that are due at this very instant to what comes next. */
  runBefore(): void;
  /** Like `run`, but reads every outbox, also those without a hint of mail. */
  drain(): void;
  /** Takes up an exit and drains: what the child sent before it ended counts first. */
  addExit(exit: Exit): void;
}

/** How many envelopes share a commit: more would hold up the process for too long. */
const maxBatch = 64;

/** Creates the pump of one session. */
export function createPump(ports: PumpPorts): Pump {
  const { mailbox, clock, wall } = ports;
  let exits: readonly Exit[] = [];
  let isOpen = false;
  let running = false;
  let again = false;
  let readAll = false;

  const handle = (mail: Claimed): boolean => isKeptBy(() => ports.onEnvelope(mail));

  /** False when a timer could not be kept: the disk, and trying on would never end. */
  function fireUntil(atMs: number): boolean {
    while ((clock.nextDueAtMs() ?? Infinity) <= atMs) {
      if (!isKeptBy(() => ports.beforeTimers(atMs))) return false;
      const due = clock.takeDue(atMs);
      if (due !== undefined && !isKeptBy(() => ports.onTimer(due))) return false;
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

  function round(timersUntilMs: number): void {
    const inOrder = (clock.nextDueAtMs() ?? Infinity) <= timersUntilMs || exits.length > 0;
    const claimed = mailbox.take({ all: inOrder || readAll });
    readAll = false;
    if (!inOrder) handleTogether(claimed);
    else if (mailbox.isBehind()) handleBefore(claimed, clock.nextDueAtMs() ?? Infinity);
    else handleInOrder(claimed, timersUntilMs);
  }

  /** Mail that is earlier than what is due; the rest, timers and exits wait for unread outboxes. */
  function handleBefore(claimed: readonly Claimed[], dueAtMs: number): void {
    const late = claimed.findIndex((mail) => sentAtMs(mail) > dueAtMs);
    const inTime = late < 0 ? claimed : claimed.slice(0, late);
    let isKept = true;
    for (const mail of inTime) {
      isKept &&= handle(mail);
      if (isKept) ack(mail);
      else mailbox.retry(mail);
    }
    for (const mail of claimed.slice(inTime.length)) mailbox.retry(mail);
  }

  /** A sender's clock that runs ahead does not make its mail late. */
  function sentAtMs({ envelope }: Claimed): number {
    return Math.min(envelope.createdAt, wall());
  }

  /** Mail, exits and timers in the order of their instants, each with a commit of its own (P1). */
  function handleInOrder(claimed: readonly Claimed[], timersUntilMs: number): void {
    const ended = exits.toSorted((a, b) => a.exit.atMs - b.exit.atMs);
    exits = [];
    let isKept = true;
    for (const mail of claimed) {
      const atMs = sentAtMs(mail);
      while (ended[0] !== undefined && ended[0].exit.atMs < atMs) isKept = end(ended, isKept);
      if (isKept) isKept = fireUntil(atMs - 1) && handle(mail);
      if (isKept) ack(mail);
      else mailbox.retry(mail);
    }
    while (ended[0] !== undefined) isKept = end(ended, isKept);
    if (isKept) fireUntil(timersUntilMs);
  }

  /** Handles the first exit; one that cannot be kept waits for the next round. */
  function end(ended: Exit[], isKept: boolean): boolean {
    const exit = ended.shift();
    if (exit === undefined) return isKept;
    const isDone = isKept && fireUntil(exit.exit.atMs - 1) && isKeptBy(() => ports.onExit(exit));
    if (!isDone) exits = [...exits, exit];
    return isDone;
  }

  /**
   * A burst shares commits; what a lost one had comes again, in order (P2). What a timer overtakes,
   * one that the burst itself has armed too, is left to a round in order (P1).
   */
  function handleTogether(claimed: readonly Claimed[]): void {
    let at = 0;
    while (at < claimed.length) {
      const handled = handleBatch(claimed.slice(at, at + maxBatch));
      for (const mail of claimed.slice(at, at + handled)) ack(mail);
      at += handled;
      if (handled > 0 && !isOvertaken(claimed[at])) continue;
      for (const mail of claimed.slice(at)) mailbox.retry(mail);
      again ||= isOvertaken(claimed[at]);
      return;
    }
  }

  /** How many of these, from the first on, were handled and kept. */
  function handleBatch(mails: readonly Claimed[]): number {
    let handled = 0;
    const isKept = (mail: Claimed): boolean => {
      if (!handle(mail)) return false;
      handled += 1;
      return true;
    };
    const [only] = mails;
    if (only !== undefined && mails.length === 1) return isKept(only) ? 1 : 0;
    const areKept = isKeptBy(() =>
      ports.batch(() => {
        for (const mail of mails) {
          if (isOvertaken(mail)) return true;
          if (!isKept(mail)) return false;
        }
        return true;
      }),
    );
    return areKept ? handled : 0;
  }

  function isOvertaken(mail: Claimed | undefined): boolean {
    return mail !== undefined && (clock.nextDueAtMs() ?? Infinity) < sentAtMs(mail);
  }

  function run(untilMs: () => number): void {
    again = true;
    if (running || !isOpen) return;
    running = true;
    try {
      while (again) {
        again = false;
        round(untilMs());
      }
    } finally {
      running = false;
    }
  }

  function drain(): void {
    readAll = true;
    run(wall);
  }

  return {
    open() {
      isOpen = true;
      drain();
    },
    run: () => run(wall),
    runBefore: () => run(() => wall() - 1),
    drain,
    addExit(exit) {
      exits = [...exits, exit];
      drain();
    },
  };
}

/** Also what failed before its step, since the disk could not be read, was not kept (P2). */
function isKeptBy(work: () => boolean): boolean {
  try {
    return work();
  } catch (error) {
    if (isDiskError(error)) return false;
    throw error;
  }
}
