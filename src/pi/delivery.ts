/**
 * Delivery: gets custom messages into a Pi session, each exactly once, and says when it is done.
 *
 * Owns the messages that are on their way. It knows nothing of mailboxes or notices: the parent
 * delivers notices by it, a child its envelopes. Pi's rules behind it are in `reference/pi.md` §6.
 *
 * D1. Delivered means that the session has an entry with the item's id, and keeps it; an item that is
 *     there already is not sent again. One that is not on the disk yet, and should be, keeps it once
 *     the model has answered.
 * D2. Nothing of ours waits in Pi's own queues, which an abort empties without a word. What cannot
 *     go in now is held here and handed over at a boundary at which Pi stores it in the same step:
 *     idle, the end of a turn, or just before the run settles.
 * D3. A passive item starts no turn and prolongs none.
 * D4. The order is kept within a lane: steer, followUp, passive. No lane holds up another.
 * D5. An item that Pi took three times without storing it is given up.
 * D6. Seen means that a model answered after the item was stored: an entry of ours never goes in
 *     between a request and its answer (D2). A failed or aborted answer says nothing.
 */
import { ConfigError, HostError } from '../errors.ts';
import type { Delivery as DeliverAs } from '../mailbox/envelope.ts';

/** One message on its way into the session. */
export interface DeliveryItem {
  /** Unique among all items of the session; kept in the entry's `details.id`. */
  readonly id: string;
  readonly customType: string;
  /** What the model reads. */
  readonly text: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Whether it may start a turn. */
  readonly wake: boolean;
  /** Of those that wake: at the end of the running turn, or when the agent would stop. */
  readonly deliverAs: DeliverAs;
  /** Called right before each hand-over to Pi, so before the model can read the text. */
  readonly onSend?: (() => void) | undefined;
}

/** What Pi's `sendMessage` takes. */
export interface CustomMessageDraft {
  readonly customType: string;
  readonly content: string;
  readonly display: true;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface DeliveryOptions {
  /** Pi's `sendMessage`. With `triggerTurn: false` a busy Pi stores it once the turn has ended. */
  readonly send: (message: CustomMessageDraft, options: { readonly triggerTurn: boolean }) => void;
  /** All entries of the session, oldest first. */
  readonly entries: () => readonly unknown[];
  /** Whether they are as safe as they should be: Pi writes none before a conversation has begun. */
  readonly isKept: () => boolean;
  /** False while a turn, a retry or a compaction runs, and while there is no session. */
  readonly isIdle: () => boolean;
  /** Epoch ms. Default: the system clock. */
  readonly now?: () => number;
  /** Pause between two looks at what is on its way. Default 1,000. */
  readonly sweepMs?: number;
  /** How long Pi may be idle after a hand-over without the entry. Default 1,000. */
  readonly confirmMs?: number;
}

/** How a run stands at a boundary; Pi's `AgentActivityOutcome`. */
type Outcome = 'completed' | 'aborted' | 'error';

export interface Delivery {
  /**
   * Delivers an item; the same id on its way gives the same promise.
   *
   * Resolves `delivered` when the entry is there (D1), `withdrawn` after `withdraw`.
   *
   * @throws HostError `uncertain` after three unconfirmed hand-overs (dead letter); ConfigError
   * `session_closed` (retryable) when the session ends first.
   */
  deliver(item: DeliveryItem): Promise<'delivered' | 'withdrawn'>;
  /**
   * Resolves true once the model has had a delivered item (D6), false when the session ends first.
   *
   * Ask only after `deliver` has said `delivered`: what is not known here any more was seen.
   */
  seen(id: string): Promise<boolean>;
  /** Takes back an item that Pi does not have yet; false when it is too late. */
  withdraw(id: string): boolean;
  /** Confirms what has arrived meanwhile and sends what may be sent. Cheap; call it freely. */
  review(): void;
  /** A prompt is on its way into Pi: starts no turn until that run begins, at most `confirmMs`. */
  promptExpected(): void;
  /** At Pi's `turn_end`. True: something for the model went in, so a request must follow. */
  turnEnded(outcome: Outcome): boolean;
  /** At Pi's `agent_before_settle`. True: something for the model went in, so the run goes on. */
  beforeSettle(outcome: Outcome): boolean;
  /** At the end of an answer of the model that neither failed nor was aborted. */
  modelAnswered(): void;
  /** Forgets everything; what was on its way is rejected. Idempotent. */
  dispose(): void;
}

/** Hand-overs after which an item is a dead letter (CONTRACT §8). */
const maxTries = 3;

/** A promise and what settles it. */
interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

interface Outstanding extends Deferred<'delivered' | 'withdrawn'> {
  readonly item: DeliveryItem;
  tries: number;
  /** Epoch ms of the hand-over that is not confirmed yet; undefined while it is held here. */
  sentAtMs: number | undefined;
  /** The session has it, but would lose it with the process. */
  isShown: boolean;
  cause: unknown;
}

/** Creates the delivery of one Pi session. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const {
    send,
    entries,
    isKept,
    isIdle,
    now = Date.now,
    sweepMs = 1_000,
    confirmMs = 1_000,
  } = options;
  /** In order of arrival. */
  const outstanding = new Map<string, Outstanding>();
  /** Delivered, and not yet part of a request as far as is known. */
  const unseen = new Map<string, Deferred<boolean>>();
  let sweep: NodeJS.Timeout | undefined;
  let quietUntilMs = 0;
  let reviewScheduled = false;
  let disposed = false;

  const held = (): Outstanding[] =>
    [...outstanding.values()].filter(({ sentAtMs, isShown }) => sentAtMs === undefined && !isShown);

  function remove(entry: Outstanding): void {
    outstanding.delete(entry.item.id);
    if (outstanding.size > 0) return;
    clearInterval(sweep);
    sweep = undefined;
  }

  /** Confirms by the session's entries; what an idle Pi lost is held again, or given up (D5). */
  function confirm(wasAnswered = false): void {
    if (outstanding.size === 0) return;
    const present = presentIds(entries());
    const idle = isIdle();
    const kept = wasAnswered || isKept();
    for (const entry of outstanding.values()) {
      entry.isShown = present.has(entry.item.id);
      if (entry.isShown) {
        if (!kept) continue;
        remove(entry);
        unseen.set(entry.item.id, defer());
        entry.resolve('delivered');
        continue;
      }
      const { sentAtMs } = entry;
      // Not at once: Pi stores the message that starts a run only after its own preparations, and
      // puts them off while other extensions still handle `agent_settled`.
      if (sentAtMs === undefined || !idle || now() - sentAtMs < confirmMs) continue;
      entry.sentAtMs = undefined;
      if (entry.tries < maxTries) continue;
      remove(entry);
      entry.reject(
        new HostError(
          'uncertain',
          `Pi took ${entry.item.id} ${maxTries} times and stored it never; it is given up.`,
          { cause: entry.cause, data: { id: entry.item.id } },
        ),
      );
    }
  }

  function handOver(entry: Outstanding, triggerTurn: boolean): void {
    const { id, customType, text, details, wake, onSend } = entry.item;
    entry.tries += 1;
    entry.sentAtMs = now();
    try {
      onSend?.();
      send(
        { customType, content: text, display: true, details: { ...details, id, isWaking: wake } },
        { triggerTurn },
      );
    } catch (error) {
      // The next review finds no entry and tries again; the last failure is what gets reported.
      entry.cause = error;
    }
  }

  /** Passive items, then every steer, else one followUp: a question deserves its own answer. */
  function nextBatch(): Outstanding[] {
    const waiting = held();
    const wakes = waiting.filter(({ item }) => item.wake);
    const steers = wakes.filter(({ item }) => item.deliverAs === 'steer');
    return [
      ...waiting.filter(({ item }) => !item.wake),
      ...(steers.length > 0 ? steers : wakes.slice(0, 1)),
    ];
  }

  function sendWhileIdle(): void {
    if (!isIdle() || now() < quietUntilMs) return;
    // An earlier hand-over has not shown itself yet. A second start beside it could be lost.
    if (
      [...outstanding.values()].some(({ sentAtMs, isShown }) => sentAtMs !== undefined && !isShown)
    ) {
      return;
    }
    const batch = nextBatch();
    const last = batch.at(-1);
    // The last one starts the turn; those before it are stored at once and read in that turn.
    for (const entry of batch) handOver(entry, entry === last && entry.item.wake);
    confirm();
  }

  function review(): void {
    if (disposed || outstanding.size === 0) return;
    confirm();
    sendWhileIdle();
  }

  /** Hands over during a run; Pi stores it right after the handlers of this boundary. */
  function sendAtBoundary(outcome: Outcome, choose: () => Outstanding[]): boolean {
    // The run of an expected prompt, if there was one, is this one.
    quietUntilMs = 0;
    // No request follows an aborted or failed turn: what wakes would be stored and never answered.
    if (disposed || outstanding.size === 0 || outcome !== 'completed') return false;
    confirm();
    const batch = choose();
    for (const entry of batch) handOver(entry, false);
    return batch.some(({ item }) => item.wake);
  }

  function settleSeen(isSeen: boolean): void {
    for (const { resolve } of unseen.values()) resolve(isSeen);
    unseen.clear();
  }

  return {
    deliver(item) {
      if (disposed) return Promise.reject(sessionClosed(item.id));
      const known = outstanding.get(item.id);
      if (known !== undefined) return known.promise;
      const deferred = defer<'delivered' | 'withdrawn'>();
      outstanding.set(item.id, {
        ...deferred,
        item,
        tries: 0,
        sentAtMs: undefined,
        isShown: false,
        cause: undefined,
      });
      // The sweep is the truth behind Pi's events, and must not keep the process alive.
      sweep ??= setInterval(review, sweepMs).unref();
      if (!reviewScheduled) {
        reviewScheduled = true;
        // Those that arrive in one tick go in together.
        queueMicrotask(() => {
          reviewScheduled = false;
          review();
        });
      }
      return deferred.promise;
    },
    seen(id) {
      if (disposed) return Promise.resolve(false);
      return unseen.get(id)?.promise ?? Promise.resolve(true);
    },
    withdraw(id) {
      const entry = outstanding.get(id);
      if (entry === undefined || entry.sentAtMs !== undefined) return false;
      remove(entry);
      entry.resolve('withdrawn');
      return true;
    },
    review,
    promptExpected() {
      // Pi checks whether it is busy before its last preparations: a run that we start meanwhile
      // would cost the user's prompt.
      quietUntilMs = now() + confirmMs;
    },
    turnEnded: (outcome) =>
      sendAtBoundary(outcome, () =>
        held().filter(({ item }) => !item.wake || item.deliverAs === 'steer'),
      ),
    beforeSettle: (outcome) => sendAtBoundary(outcome, nextBatch),
    modelAnswered() {
      if (disposed) return;
      confirm(true);
      settleSeen(true);
    },
    dispose() {
      disposed = true;
      settleSeen(false);
      for (const entry of outstanding.values()) {
        remove(entry);
        entry.reject(sessionClosed(entry.item.id));
      }
    },
  };
}

function defer<T>(): Deferred<T> {
  let resolve!: Deferred<T>['resolve'];
  let reject!: Deferred<T>['reject'];
  const promise = new Promise<T>((onResolved, onRejected) => {
    resolve = onResolved;
    reject = onRejected;
  });
  return { promise, resolve, reject };
}

function sessionClosed(id: string): ConfigError {
  return new ConfigError('session_closed', `The Pi session ended before it had ${id}.`, {
    retryable: true,
    data: { id },
  });
}

/** Ids of all custom messages that the session has stored, in any branch. */
function presentIds(entries: readonly unknown[]): ReadonlySet<unknown> {
  return new Set(entries.map((entry) => customMessageDetails(entry)?.['id']));
}

/** The details of a custom message's entry; undefined for any other. */
export function customMessageDetails(
  entry: unknown,
): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(entry) || entry['type'] !== 'custom_message') return undefined;
  return isRecord(entry['details']) ? entry['details'] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
