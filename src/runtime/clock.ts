/**
 * The actors' clock: due-ordered timers on a time that the runtime moves.
 *
 * Owns: which timer is due next. Never: real time (the driver below has the one real timer).
 *
 * C1. Timers fire in the order of their instants, overdue ones too (a negative delay is overdue).
 * C2. Infinity and NaN never fire; a delay of any length keeps its instant.
 * C3. Time stands still within a step, so that `now + (instant − now)` is the instant again.
 * C4. Cancelled timers, however far away their instants, take no more room than live ones do.
 */

export interface DueTimer {
  readonly atMs: number;
  readonly fire: () => void;
}

export interface ActorClock {
  /** Epoch ms of the step that runs, or of the last one. */
  now(): number;
  /** Sets the time; backwards too, since wall clocks do that. */
  moveTo(nowMs: number): void;
  /** XState's side: `delayMs` may be negative (overdue) or Infinity (never). */
  setTimeout(fire: () => void, delayMs: number): number;
  clearTimeout(id: number): void;
  nextDueAtMs(): number | undefined;
  /** Timers in memory, cancelled ones that have not left yet too. */
  size(): number;
  /** Takes the earliest timer due at or before `untilMs`; the caller fires it within a step. */
  takeDue(untilMs: number): DueTimer | undefined;
}

interface Entry extends DueTimer {
  readonly id: number;
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.id < b.id);
}

/** A heap of this size is not worth sweeping. */
const sweptFrom = 64;

/** Creates a clock that stands at `startMs` until it is moved. */
export function createActorClock(startMs: number): ActorClock {
  let nowMs = startMs;
  let lastId = 0;
  // A binary heap by (instant, id); cancelled entries leave it when they come up or are most of it.
  let heap: Entry[] = [];
  const live = new Set<number>();

  function swap(a: number, b: number): void {
    const entry = heap[a] as Entry;
    heap[a] = heap[b] as Entry;
    heap[b] = entry;
  }

  function push(entry: Entry): void {
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent] as Entry)) return;
      swap(at, parent);
      at = parent;
    }
  }

  function pop(): void {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        const entry = heap[child];
        if (entry !== undefined && isBefore(entry, heap[least] as Entry)) least = child;
      }
      if (least === at) return;
      swap(at, least);
      at = least;
    }
  }

  /** A sorted array is a heap, too. */
  function sweep(): void {
    if (heap.length < sweptFrom || heap.length <= 2 * live.size) return;
    heap = heap.filter(({ id }) => live.has(id)).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  function first(): Entry | undefined {
    for (let entry = heap[0]; entry !== undefined; entry = heap[0]) {
      if (live.has(entry.id)) return entry;
      pop();
    }
    return undefined;
  }

  return {
    now: () => nowMs,
    moveTo(next) {
      nowMs = next;
    },
    setTimeout(fire, delayMs) {
      const id = ++lastId;
      const atMs = nowMs + delayMs;
      if (Number.isFinite(atMs)) {
        live.add(id);
        push({ id, atMs, fire });
      }
      return id;
    },
    clearTimeout(id) {
      if (live.delete(id)) sweep();
    },
    size: () => heap.length,
    nextDueAtMs: () => first()?.atMs,
    takeDue(untilMs) {
      const entry = first();
      if (entry === undefined || entry.atMs > untilMs) return undefined;
      live.delete(entry.id);
      pop();
      return entry;
    },
  };
}

/** Longest delay a Node timer keeps; beyond it `setTimeout` would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

/** How long what is due but could not be done (a full disk) waits for the next try. */
const retryAfterMs = 1_000;

export interface ClockDriver {
  /** Arms the one real timer for the clock's next instant; call it after each step. */
  arm(): void;
  stop(): void;
}

/**
 * Wakes `onDue` when the clock's next timer is due, by the wall clock.
 *
 * The real timer never keeps the process alive and is chained beyond 24.8 days.
 */
export function driveClock(options: {
  readonly clock: ActorClock;
  readonly wall: () => number;
  readonly onDue: () => void;
}): ClockDriver {
  let timer: NodeJS.Timeout | undefined;
  let armedForMs: number | undefined;

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
    armedForMs = undefined;
  }

  function arm(leastDelayMs = 0): void {
    const dueAtMs = options.clock.nextDueAtMs();
    if (dueAtMs === armedForMs) return;
    stop();
    if (dueAtMs === undefined) return;
    armedForMs = dueAtMs;
    const delayMs = Math.min(Math.max(leastDelayMs, dueAtMs - options.wall()), longestDelayMs);
    timer = setTimeout(() => {
      armedForMs = undefined;
      const isDue = dueAtMs <= options.wall();
      if (isDue) options.onDue();
      const isLeft = isDue && options.clock.nextDueAtMs() === dueAtMs;
      arm(isLeft ? retryAfterMs : 0);
    }, delayMs);
    timer.unref();
  }

  return { arm: () => arm(), stop };
}
