/**
 * Plays the scene many times, each with its own kills, and compares with plays that were left alone.
 *
 * Where a run kills is drawn from the seed; what runs at the same time is the machine's.
 */
import { play, type Played } from './play.ts';
import { points, type Kill, type Passed, type Point } from './points.ts';
import type { Mode } from './scene.ts';

export interface ChaosResult {
  readonly runs: number;
  readonly kills: number;
  readonly points: Readonly<Record<Point, number>>;
  readonly tasks: number;
  readonly envelopes: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrongOutcome: number;
  readonly lateTimersMs: { readonly p50: number; readonly max: number };
}

export interface ChaosOptions {
  readonly runs: number;
  readonly seed: number;
  /** The first run of the seed that is played; default 0. */
  readonly first?: number | undefined;
  /** Plays at a time. */
  readonly jobs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Leaves the directories of runs that went wrong. */
  readonly keep?: boolean | undefined;
  readonly onTrouble?: ((text: string) => void) | undefined;
}

const modes: readonly Mode[] = ['task_deadline', 'reply_deadline'];
/** A scene takes about as long when it is left alone. */
const sceneMs = 4_000;
const adopting: ReadonlySet<Point> = new Set(['adopt.before', 'adopt.after']);
const fromOutside: ReadonlySet<Point> = new Set(['anywhere']);

/** mulberry32: small, and the same everywhere. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** Where run `index` of a seed kills: every point is the first one once in each round of the deck. */
function planRun(seed: number, index: number, usual: Readonly<Record<Mode, Passed>>) {
  const round = Math.floor(index / points.length);
  const deck = shuffled(points, randomOf(seed * 1_009 + round));
  const random = randomOf(seed * 7_919 + index * 31 + 1);
  // A reply deadline is the longer scene, and played less.
  const mode: Mode = random() < 0.8 ? 'task_deadline' : 'reply_deadline';
  const pick = (from: readonly Point[]): Point =>
    from[Math.floor(random() * from.length)] ?? 'anywhere';
  const killAt = (point: Point, most: number): Kill => ({
    point,
    k: 1 + Math.floor(random() * (fromOutside.has(point) ? sceneMs : most)),
  });
  const first = deck[index % points.length] ?? 'anywhere';
  const kills: Kill[] = [];
  // Nothing is adopted before there was a first death.
  if (adopting.has(first)) {
    kills.push(killAt(pick(['commit.envelope.after', 'ack.before', 'publish.linked']), 8), {
      point: first,
      k: 1,
    });
  } else {
    kills.push(killAt(first, usual[mode][first] ?? 1));
  }
  // A parent that takes up another one's session passes fewer points before it is done.
  while (kills.length < 3 && random() < 0.5) kills.push(killAt(pick(points), 3));
  return { mode, kills };
}

function countOf(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function compare(played: Played, truth: Played) {
  const [is, was] = [countOf(played.heard), countOf(truth.heard)];
  const missing: string[] = [];
  const extra: string[] = [...played.repeats];
  for (const what of new Set([...is.keys(), ...was.keys()])) {
    const surplus = (is.get(what) ?? 0) - (was.get(what) ?? 0);
    for (let n = 0; n < Math.abs(surplus); n += 1) (surplus < 0 ? missing : extra).push(what);
  }
  const wrong = Object.entries(truth.outcomes).flatMap(([task, status]) =>
    played.outcomes[task] === status ? [] : [`${task} ${played.outcomes[task] ?? 'did not end'}`],
  );
  return { missing, extra, wrong };
}

/** Plays; what a run had that the truth has not, or the other way round, is told by `onTrouble`. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { runs, seed, first = 0, jobs = 2, signal, keep, onTrouble } = options;
  const truths = new Map<Mode, Played>();
  for (const mode of modes) {
    const truth = await play({ mode, kills: [], signal });
    if (truth.trouble.length > 0) throw new Error(`${mode}: ${truth.trouble.join('\n')}`);
    truths.set(mode, truth);
  }
  const truthOf = (mode: Mode): Played => truths.get(mode) as Played;
  const usual = {
    task_deadline: truthOf('task_deadline').passed,
    reply_deadline: truthOf('reply_deadline').passed,
  };
  const hits = countOf([]);
  const total = { kills: 0, tasks: 0, envelopes: 0, lost: 0, doubled: 0, wrongOutcome: 0 };
  const lateMs: number[] = [];
  let next = first;

  async function work(): Promise<void> {
    for (; next < first + runs;) {
      signal?.throwIfAborted();
      const index = next;
      next += 1;
      const { mode, kills } = planRun(seed, index, usual);
      const played = await play({ mode, kills, signal, keep });
      const { missing, extra, wrong } = compare(played, truthOf(mode));
      for (const point of played.hits) hits.set(point, (hits.get(point) ?? 0) + 1);
      total.kills += played.hits.length;
      total.tasks += Object.keys(truthOf(mode).outcomes).length;
      total.envelopes += played.envelopes;
      total.lost += missing.length;
      total.doubled += extra.length;
      // A scene that failed in any other way has no right outcome either.
      total.wrongOutcome += Math.max(wrong.length, Math.min(1, played.trouble.length));
      lateMs.push(...played.lateMs);
      const troubles = [
        ...missing.map((what) => `lost: ${what}`),
        ...extra.map((what) => `doubled: ${what}`),
        ...wrong.map((what) => `wrong outcome: ${what}`),
        ...played.trouble,
      ];
      if (troubles.length > 0) {
        const plan = kills.map(({ point, k }) => `${point}#${k}`).join(' ');
        onTrouble?.([`run ${index} (${mode}, ${plan})`, ...troubles].join('\n  '));
      }
    }
  }
  await Promise.all(Array.from({ length: jobs }, work));

  const sorted = lateMs.toSorted((a, b) => a - b);
  return {
    runs,
    kills: total.kills,
    points: Object.fromEntries(
      points.map((point) => [point, hits.get(point) ?? 0]),
    ) as ChaosResult['points'],
    tasks: total.tasks,
    envelopes: total.envelopes,
    lost: total.lost,
    doubled: total.doubled,
    wrongOutcome: total.wrongOutcome,
    lateTimersMs: { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0 },
  };
}
