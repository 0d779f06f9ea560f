/**
 * Pi's rules for custom messages, as measured (`reference/pi.md` §6), in thirty lines of memory.
 *
 * Idle: stored at once, or the start of a run. Busy: stored once the turn has ended; an abort keeps
 * what is pending. The queues of Pi are not here, since nothing of ours may wait in them (D2).
 */
import {
  createDelivery,
  type CustomMessageDraft,
  type Delivery,
} from '../../../src/pi/delivery.ts';

type Outcome = 'completed' | 'aborted' | 'error';

export interface PiModel {
  readonly delivery: Delivery;
  /** Ids that the session has stored, in order. */
  readonly stored: readonly string[];
  /** Ids of all messages that Pi was given, in order, with whether they were to start a turn. */
  readonly given: readonly { readonly id: string; readonly triggerTurn: boolean }[];
  /** Runs that were started by a message. */
  readonly started: number;
  readonly isIdle: boolean;
  /** A prompt of the user starts a run. */
  prompt(): void;
  /** The model's answer has ended well. */
  answer(): void;
  /** A turn of the run ends; true when Pi was told to make another request. */
  endTurn(outcome?: Outcome): boolean;
  /** The run would settle; true when it was told to go on. An abort skips the last boundary. */
  settle(outcome?: Outcome): boolean;
  /** Pi is neither idle nor in a run. */
  compact(): void;
  endCompaction(): void;
  /** What is stored is on no disk, until it is. */
  keepNothing(): void;
  keep(): void;
  /** Pi swallows the next messages without a trace. */
  lose(count: number): void;
}

export function createPiModel(entries: unknown[] = []): PiModel {
  const given: { id: string; triggerTurn: boolean }[] = [];
  const pending: CustomMessageDraft[] = [];
  let state: 'idle' | 'running' | 'compacting' = 'idle';
  let started = 0;
  let toLose = 0;
  let isKept = true;

  const store = ({ customType, content, details }: CustomMessageDraft): void => {
    entries.push({ type: 'custom_message', customType, content, details });
  };
  const flush = (): void => {
    for (const message of pending.splice(0)) store(message);
  };
  const delivery = createDelivery({
    entries: () => entries,
    isKept: () => isKept,
    isIdle: () => state === 'idle',
    send(message, { triggerTurn }) {
      given.push({ id: String(message.details['id']), triggerTurn });
      if (toLose > 0) toLose -= 1;
      else if (state === 'running') pending.push(message);
      else if (triggerTurn) {
        state = 'running';
        started += 1;
        // Stored only after the preparations of the run.
        queueMicrotask(() => store(message));
      } else store(message);
    },
  });
  return {
    delivery,
    given,
    get stored() {
      return entries.map((entry) => (entry as { details: { id: string } }).details.id);
    },
    get started() {
      return started;
    },
    get isIdle() {
      return state === 'idle';
    },
    prompt() {
      state = 'running';
    },
    answer: () => delivery.modelAnswered(),
    endTurn(outcome = 'completed') {
      const goOn = delivery.turnEnded(outcome);
      flush();
      delivery.review();
      return goOn;
    },
    settle(outcome = 'completed') {
      const goOn = outcome === 'aborted' ? false : delivery.beforeSettle(outcome);
      flush();
      if (!goOn) state = 'idle';
      delivery.review();
      return goOn;
    },
    compact() {
      state = 'compacting';
    },
    endCompaction() {
      state = 'idle';
      delivery.review();
    },
    keepNothing() {
      isKept = false;
    },
    keep() {
      isKept = true;
    },
    lose(count) {
      toLose = count;
    },
  };
}
