/**
 * The outbox of a session: what steps caused is done here, after their commit.
 *
 * EF1. In order for each target, one at a time; a failing one holds those behind it.
 * EF2. An effect stays in the store until a step has confirmed it: a crash repeats it.
 * EF3. What nobody waits for is tried until it can be done; a caller hears of the failure soon.
 * EF4. One that was refused because the session ended stays, for whoever opens it next.
 * EF5. An outcome that could not be kept (the disk) is kept later; nothing is done twice for it.
 * EF6. Repeating is harmless: a launch is found again by its id, an envelope by its message id, a
 *      notice by its own, a note by its task's.
 */
import { isRetryable, ShepherdError } from '../errors.ts';
import type { Effect } from './records.ts';
import type { EffectOutcome } from './effect-outcome.ts';

export interface EffectPorts {
  /** Does one effect; rejects with what went wrong. Synchronous ones keep their callers quick. */
  readonly perform: (effect: Effect) => EffectOutcome | Promise<EffectOutcome>;
  /** Records the outcome in a step of its own; false when it could not be kept, and is tried again. */
  readonly confirm: (effect: Effect, outcome: EffectOutcome) => boolean;
  /** Whether a caller waits for it. */
  readonly isAwaited: (effect: Effect) => boolean;
  /** Told of one that goes on failing, at each further try; it is tried again all the same. */
  readonly onTrouble?: (effect: Effect, error: unknown) => void;
  readonly retryAfterMs?: number;
}

export interface EffectQueue {
  /** Begins effects that a commit has made final. */
  add(effects: readonly Effect[]): void;
  /** Resolves when no place has anything left to do; rejects never. */
  placesIdle(): Promise<void>;
  /** Stops before the next effect; what is left stays in the store. */
  stop(): void;
}

/** Effects with the same target are done in order. */
function targetOf(effect: Effect): string {
  switch (effect.type) {
    case 'publish':
    case 'detach':
    case 'empty':
      return `inbox/${effect.agentId}`;
    case 'look':
      return `look/${effect.agentId}`;
    case 'log':
      return 'log';
    case 'note':
      return `note/${effect.taskId}`;
    case 'notify':
      // The surface keeps the order of notices; a passive one must not hold back one that wakes.
      return `notice/${effect.noticeId}`;
    case 'launch':
    case 'end':
    case 'interrupt':
    case 'bail':
    case 'retire':
    case 'remove':
      return `${placePrefix}${effect.agentId}`;
  }
}

const placePrefix = 'place/';
const isPlace = (target: string): boolean => target.startsWith(placePrefix);

/** The parent's session ended before it took a notice: nobody has had it, and nobody refused it. */
function isPostponed(outcome: EffectOutcome): boolean {
  return !outcome.ok && ShepherdError.is(outcome.error) && outcome.error.code === 'session_closed';
}

/** How often a failing publish is tried before its failure is the outcome for who waits for it. */
const maxTries = 3;
/** What takes its time and may be done at any time: only the disk keeps it from being done. */
const isPatient = ({ type }: Effect): boolean => type === 'log' || type === 'note';

/** The longest pause between two tries. */
const maxPauseMs = 5_000;

/** Creates the queue; it does nothing by itself until effects are added. */
export function createEffectQueue(ports: EffectPorts): EffectQueue {
  const retryAfterMs = ports.retryAfterMs ?? 250;
  const lanes = new Map<string, Effect[]>();
  const waiting = new Set<() => void>();
  let stopped = false;

  const placesAreIdle = (): boolean => ![...lanes.keys()].some((target) => isPlace(target));

  function settleIdle(): void {
    if (!placesAreIdle()) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  function attempt(effect: Effect): EffectOutcome | Promise<EffectOutcome> {
    try {
      const outcome = ports.perform(effect);
      if (!(outcome instanceof Promise)) return outcome;
      return outcome.catch((error: unknown) => ({ ok: false as const, error }));
    } catch (error) {
      return { ok: false, error };
    }
  }

  /** Takes the effect off its lane; false when its outcome has to be kept later. */
  function finish(target: string, lane: Effect[], effect: Effect, outcome: EffectOutcome): boolean {
    if (ports.confirm(effect, outcome)) {
      lane.shift();
      return true;
    }
    setTimeout(() => {
      if (!stopped && finish(target, lane, effect, outcome)) run(target, lane);
    }, retryAfterMs);
    return false;
  }

  async function resume(
    target: string,
    lane: Effect[],
    effect: Effect,
    pending: Promise<EffectOutcome>,
    tries: number,
  ): Promise<void> {
    const outcome = await pending;
    if (stopped) return;
    if (!outcome.ok && isPatient(effect) && isRetryable(outcome.error)) {
      tryAgain(target, lane, { effect, failures: tries + 1, error: outcome.error });
      return;
    }
    if (isPostponed(outcome)) {
      lanes.delete(target);
      settleIdle();
      return;
    }
    if (finish(target, lane, effect, outcome)) run(target, lane);
  }

  function tryAgain(
    target: string,
    lane: Effect[],
    failed: { readonly effect: Effect; readonly failures: number; readonly error: unknown },
  ): void {
    const { effect, failures, error } = failed;
    if (failures >= maxTries) ports.onTrouble?.(effect, error);
    const pauseMs = Math.min(maxPauseMs, retryAfterMs * 2 ** Math.max(0, failures - maxTries));
    setTimeout(() => run(target, lane, failures), pauseMs).unref();
  }

  function run(target: string, lane: Effect[], tries = 0): void {
    let failures = tries;
    // A loop, not recursion: hundreds of synchronous publishes to one inbox are usual.
    for (;;) {
      const effect = lane[0];
      if (stopped || effect === undefined) break;
      const outcome = attempt(effect);
      if (outcome instanceof Promise) {
        void resume(target, lane, effect, outcome, failures);
        return;
      }
      failures += 1;
      const mayTry = failures < maxTries || !ports.isAwaited(effect);
      if (!outcome.ok && mayTry && isRetryable(outcome.error)) {
        tryAgain(target, lane, { effect, failures, error: outcome.error });
        return;
      }
      failures = 0;
      if (!finish(target, lane, effect, outcome)) return;
    }
    lanes.delete(target);
    settleIdle();
  }

  return {
    add(effects) {
      for (const effect of effects) {
        const target = targetOf(effect);
        const lane = lanes.get(target);
        if (lane !== undefined) lane.push(effect);
        else {
          const created = [effect];
          lanes.set(target, created);
          run(target, created);
        }
      }
    },
    placesIdle: () =>
      placesAreIdle() ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve)),
    stop() {
      stopped = true;
    },
  };
}
