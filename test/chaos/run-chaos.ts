/**
 * Plays the scene many times, each with its own kills, and compares with plays that were left alone.
 *
 * Where a run kills is drawn from the seed; what runs at the same time is the machine's.
 */
import { play, type Played } from './play.ts';
import { ends } from './ends.ts';
import { planRun } from './plan.ts';
import { points, type Point } from './points.ts';
import { modes, type End, type Mode } from './scene.ts';

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
  /** Scenes that are played. Default: all. */
  readonly modes?: readonly Mode[] | undefined;
  /** Plays at a time. */
  readonly jobs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Leaves the directories of runs that went wrong. */
  readonly keep?: boolean | undefined;
  readonly onTrouble?: ((text: string) => void) | undefined;
}

function countOf(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function wrongIn(is: End, was: End): readonly string[] {
  return Object.entries(was).flatMap(([name, outcome]) =>
    is[name] === outcome ? [] : [`${name} ${is[name] ?? 'did not end'}`],
  );
}

function compare(played: Played, truth: Played) {
  const [is, was] = [countOf(played.heard), countOf(truth.heard)];
  const missing: string[] = [];
  const extra: string[] = [...played.repeats];
  for (const what of new Set([...is.keys(), ...was.keys()])) {
    const surplus = (is.get(what) ?? 0) - (was.get(what) ?? 0);
    for (let n = 0; n < Math.abs(surplus); n += 1) (surplus < 0 ? missing : extra).push(what);
  }
  const wrong = wrongIn(played.outcomes, truth.outcomes);
  return { missing, extra, wrong };
}

/** Does the work of each item, `jobs` at a time, in the order in which they come. */
async function inParallel<T>(
  items: readonly T[],
  jobs: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

/** Plays; what a run had that the truth has not, or the other way round, is told by `onTrouble`. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { runs, seed, first = 0, jobs = 2, signal, keep, onTrouble } = options;
  const scenes = options.modes ?? modes;
  const truths = new Map<Mode, Played>();
  await inParallel(scenes, jobs, async (mode) => {
    const truth = await play({ mode, kills: [], signal, keep });
    if (truth.trouble.length > 0) throw new Error(`${mode}: ${truth.trouble.join('\n')}`);
    const wrong = wrongIn(truth.outcomes, ends[mode]);
    if (wrong.length > 0) throw new Error(`${mode}, left alone: ${wrong.join('\n')}`);
    truths.set(mode, truth);
  });
  const truthOf = (mode: Mode): Played => truths.get(mode) as Played;
  // In their own order, whichever was played first: the plan goes by it.
  const usual = new Map(scenes.map((mode) => [mode, truthOf(mode).passed] as const));
  const hits = countOf([]);
  const total = { kills: 0, tasks: 0, envelopes: 0, lost: 0, doubled: 0, wrongOutcome: 0 };
  const lateMs: number[] = [];

  const indexes = Array.from({ length: runs }, (_, n) => first + n);
  await inParallel(indexes, jobs, async (index) => {
    signal?.throwIfAborted();
    const { mode, kills } = planRun(seed, index, usual);
    const truth = truthOf(mode);
    const played = await play({ mode, kills, signal, keep });
    const { missing, extra, wrong } = compare(played, truth);
    for (const point of played.hits) hits.set(point, (hits.get(point) ?? 0) + 1);
    total.kills += played.hits.length;
    total.tasks += truth.tasks;
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
  });

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
