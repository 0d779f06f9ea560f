/**
 * Moves what comes in, mail and due timers, into steps, in the order of their instants.
 *
 * P1. An envelope beats a deadline if and only if its `createdAt` is not after the instant: before a
 *     timer fires, every outbox is read, and earlier mail is handled first.
 * P2. Mail is acked only after its step is committed; what could not be kept comes again, in order.
 * P3. One poison input is contained and acked; the rest flows.
 */
import { ShepherdError } from '../errors.ts';
import type { ProcessExit } from '../hosts/host.ts';
import type { Claimed, Mailbox } from '../mailbox/mailbox.ts';
import type { ActorClock, DueTimer } from './clock.ts';

/** A child's process has ended; the host tells it once. */
export interface Exit {
  readonly agentId: string;
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
    for (let due = clock.takeDue(atMs); due !== undefined; due = clock.takeDue(atMs)) {
      const taken = due;
      if (!isKeptBy(() => ports.onTimer(taken))) return false;
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
    if (inOrder) handleInOrder(claimed, timersUntilMs);
    else handleTogether(claimed);
  }

  /** Mail, exits and timers in the order of their instants, each with a commit of its own (P1). */
  function handleInOrder(claimed: readonly Claimed[], timersUntilMs: number): void {
    const nowMs = wall();
    const ended = exits.toSorted((a, b) => a.exit.atMs - b.exit.atMs);
    exits = [];
    let isKept = true;
    for (const mail of claimed) {
      // A sender's clock that runs ahead does not make its mail late.
      const sentAtMs = Math.min(mail.envelope.createdAt, nowMs);
      while (ended[0] !== undefined && ended[0].exit.atMs < sentAtMs) isKept = end(ended, isKept);
      if (isKept) isKept = fireUntil(sentAtMs - 1) && handle(mail);
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

  /** A burst shares commits; what a lost one had comes again, in order (P2). */
  function handleTogether(claimed: readonly Claimed[]): void {
    for (let at = 0; at < claimed.length; at += maxBatch) {
      const mails = claimed.slice(at, at + maxBatch);
      const isKept =
        mails.length === 1
          ? mails.every(handle)
          : isKeptBy(() => ports.batch(() => mails.every(handle)));
      if (!isKept) {
        for (const mail of claimed.slice(at)) mailbox.retry(mail);
        return;
      }
      for (const mail of mails) ack(mail);
    }
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
    if (ShepherdError.is(error) && error.code === 'disk_error') return false;
    throw error;
  }
}
