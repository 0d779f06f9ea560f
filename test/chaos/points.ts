/** The instants at which a parent is killed, and which of them a run is sure to pass. */

/** The beginnings of a step's input, and what its points are called. */
export const inputs = {
  envelope: 'envelope ',
  command: 'command ',
  timer: 'timer',
  /** A child's process has ended. */
  host: 'host exited',
  /** An ended agent's outbox has been drained; what it never read itself becomes dead letters. */
  retire: 'effect retire',
  effect: 'effect ',
} as const;
export type Input = keyof typeof inputs;

/** After the handler, before its writes; all written, not kept; kept, no effect begun. */
function commitsOf<I extends Input>(...names: I[]) {
  return names.flatMap((name) => [
    `commit.${name}.before` as const,
    `commit.${name}.within` as const,
    `commit.${name}.after` as const,
  ]);
}

/** Points by when a parent passes them: each run has some of several decks (`plan.ts`). */
export const decks = {
  /** A session is opened: its directory, its file, the lock, the owner's record, what lives. */
  opening: [
    'open.dir',
    'open.store',
    'take.before',
    'take.after',
    'owner.before',
    'owner.written',
    'owner.after',
    'adopt.before',
    'adopt.after',
  ],
  /** An agent is launched: its files, its boxes, its identity, its runner. */
  launching: [
    'launch.dir',
    'launch.prompt',
    'launch.boxes',
    'launch.identity',
    'launch.before',
    'launch.spec',
    'launch.spawned',
    'launch.during',
    'launch.after',
  ],
  /** In the order of an input's way: taken, committed, done outside, confirmed, acked. */
  main: [
    'claim.before',
    'claim.after',
    ...commitsOf('envelope', 'command', 'timer', 'effect'),
    // The commit that the steps of a burst share.
    'batch.before',
    'batch.within',
    'batch.after',
    // An effect that is done and not confirmed is `commit.effect.before`.
    'publish.before',
    'publish.written',
    'publish.linked',
    'publish.synced',
    'notify.before',
    'notify.kept',
    'ack.before',
    'ack.after',
    // Any instant at all: the harness kills from outside.
    'anywhere',
  ],
  /** An agent ends and is retired, the session is let go of, or closed. */
  ending: [
    'end.before',
    'end.after',
    ...commitsOf('host', 'retire'),
    // The children stay.
    'park.before',
    'park.after',
    // A forgotten agent's mail, then its launch.
    'remove.before',
    'remove.within',
    'close.before',
    'close.after',
  ],
} as const;

/** While the parent of some scenes is dead, the harness has what they wait for happen. */
export const gap = 'gap';

export const points = [
  ...decks.opening,
  ...decks.launching,
  ...decks.main,
  ...decks.ending,
  gap,
] as const;
export type Point = (typeof points)[number];

export interface Kill {
  readonly point: Point;
  /** Killed at the k-th time this process passes the point; for `anywhere`, after so many ms. */
  readonly k: number;
}

/** How often a parent passes each point; for `anywhere`, the ms that it lives. */
export type Passed = Partial<Record<Point, number>>;
