/** Where a run kills: drawn from the seed, so that every point has its turns. */
import { decks, gap, type Kill, type Passed, type Point } from './points.ts';
import { withGap, type Mode } from './scene.ts';

/** How often a mode is played, where the point leaves a choice. */
const weights: Readonly<Record<Mode, number>> = {
  task_deadline: 3,
  reply_deadline: 1,
  instants: 2,
  child_death: 2,
  stale_wait: 1.5,
  closed_agent: 2,
};

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

type Deck = keyof typeof decks;

/** The card of a deck at its `turn`: each point comes once in each round. */
function cardOf(seed: number, deck: Deck, turn: number): Point {
  const cards: readonly Point[] = decks[deck];
  const round = Math.floor(turn / cards.length);
  const random = randomOf(seed * 1_009 + round * 17 + Object.keys(decks).indexOf(deck));
  return shuffled(cards, random)[turn % cards.length] ?? 'anywhere';
}

/** Nothing is adopted before there was a first death, and only the first parent makes a directory. */
const isLater = (point: Point): boolean => point.startsWith('adopt.');
const isFirst = (point: Point): boolean => point === 'open.dir';
/** A parent that was to die in the gap, and finds it done, would play on to the end. */
const isBehindGap = (point: Point): boolean => /^(?:park|remove)\./.test(point);
const isShared = (point: Point): boolean => point.startsWith('batch.');

/** What a parent passes when it is left alone, in each of the modes that are played. */
export type Usual = ReadonlyMap<Mode, Passed>;

/** Where run `index` of a seed kills. */
export function planRun(
  seed: number,
  index: number,
  usual: Usual,
): { readonly mode: Mode; readonly kills: readonly Kill[] } {
  const random = randomOf(seed * 7_919 + index * 31 + 1);
  const main = cardOf(seed, 'main', index);
  const ending = cardOf(seed, 'ending', index);
  const mode = pickMode([main, ending], usual, random);
  const killAt = (point: Point, most: number): Kill => ({
    point,
    k: 1 + Math.floor(random() * most),
  });

  // How mail comes together is the machine's; after the gap a parent passes fewer points; and what is
  // passed last of all would leave too little to the kills that follow.
  const gapGoesFirst =
    withGap.has(mode) && (isBehindGap(ending) || (!isShared(main) && random() < 0.5));
  const times = usual.get(mode)?.[main] ?? 1;
  const most = main === 'anywhere' ? times * 0.4 : isShared(main) || gapGoesFirst ? 1 : times * 0.8;
  const mainKill = killAt(main, Math.ceil(most));
  const gapKill = withGap.has(mode) ? [{ point: gap, k: 1 } as const] : [];
  const kills: Kill[] = gapGoesFirst ? [...gapKill, mainKill] : [mainKill, ...gapKill];
  const turn = Math.floor(index / 3);
  const opening = index % 3 === 0 ? cardOf(seed, 'opening', turn) : undefined;
  // The closed agent is launched, and gone, before the gap; the others are launched behind it.
  const isAlone = mode === 'closed_agent';
  if (index % 3 === 1) kills.unshift(killAt(cardOf(seed, 'launching', turn), isAlone ? 1 : 2));
  kills.push({ point: ending, k: 1 });
  if (opening !== undefined) {
    const goesFirst = isFirst(opening) || (!isLater(opening) && random() < 0.3);
    const goesLast = isLater(opening) && isAlone;
    kills.splice(goesFirst ? 0 : goesLast ? kills.length : 1, 0, { point: opening, k: 1 });
  }
  return { mode, kills };
}

/** A mode whose parent passes the points, or the last one at least. */
function pickMode(wanted: readonly Point[], usual: Usual, random: () => number): Mode {
  const modes = [...usual.keys()];
  const passing = (those: readonly Point[]) =>
    modes.filter((mode) => those.every((point) => (usual.get(mode)?.[point] ?? 0) > 0));
  const choice = [wanted, wanted.slice(-1)].map(passing).find((some) => some.length > 0) ?? modes;
  let left = random() * choice.reduce((sum, mode) => sum + weights[mode], 0);
  for (const mode of choice) {
    left -= weights[mode];
    if (left < 0) return mode;
  }
  return 'task_deadline';
}
