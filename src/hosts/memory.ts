/** A host without processes: for tests and the model checker, which decide how each child ends. */
import { HostError } from '../errors.ts';
import type { AgentHost, HostEvent, Inspection, Launch, PlaceRef, ProcessExit } from './host.ts';

const KIND = 'memory';

interface MemoryPlace {
  readonly launch: Launch;
  exit: ProcessExit | undefined;
  presence: 'unknown' | undefined;
  output: string[];
}

/** What outlives a host object: a second host on the same world is the next parent. */
export interface MemoryWorld {
  readonly places: Map<string, MemoryPlace>;
  readonly hosts: Set<(launchId: string) => void>;
}

export function createMemoryWorld(): MemoryWorld {
  return { places: new Map(), hosts: new Set() };
}

export interface MemoryHostOptions {
  /** Default: a world of its own. */
  readonly world?: MemoryWorld | undefined;
  /** Epoch ms of exits that name no instant. Default: always 0. */
  readonly now?: (() => number) | undefined;
}

export interface MemoryHost extends AgentHost {
  /** Every launch that opened a place, in order; an idempotent repeat adds none. */
  readonly launches: readonly Launch[];
  /** The launch ids whose turn was stopped, in order. */
  readonly interrupts: readonly string[];
  /** Ends a child; without an argument it vanishes without code or signal. */
  exit(launchId: string, exit?: Partial<ProcessExit>): void;
  /** Makes the next open throw, by default HostError `launch_failed`. */
  failNextOpen(error?: HostError): void;
  /** Makes a place impossible to inspect, or visible again with `undefined`. */
  setPresence(launchId: string, presence: 'unknown' | undefined): void;
  /** Adds lines to what the child printed. */
  print(launchId: string, ...lines: string[]): void;
  /** Tells of a dialog that nobody answered. */
  cancelDialog(launchId: string, title: string): void;
}

/** Creates a host on which nothing happens by itself. */
export function createMemoryHost(options: MemoryHostOptions = {}): MemoryHost {
  const world = options.world ?? createMemoryWorld();
  const now = options.now ?? (() => 0);
  const launches: Launch[] = [];
  const interrupts: string[] = [];
  const owned = new Map<string, PlaceRef>();
  const exitsTold = new Set<string>();
  const listeners = new Set<(event: HostEvent) => void>();
  let openError: HostError | undefined;

  function find(launchId: string): MemoryPlace {
    const place = world.places.get(launchId);
    if (place === undefined) throw new HostError('not_found', `no child of launch ${launchId}`);
    return place;
  }

  function end(launchId: string, exit: Partial<ProcessExit>): void {
    const place = find(launchId);
    if (place.exit !== undefined) return;
    const output = place.output.join('\n').slice(-4000);
    place.exit = { code: null, signal: null, atMs: now(), output, ...exit };
    for (const tell of world.hosts) tell(launchId);
  }

  function tellExit(launchId: string): void {
    const ref = owned.get(launchId);
    const exit = world.places.get(launchId)?.exit;
    if (ref === undefined || exit === undefined) return;
    if (listeners.size === 0 || exitsTold.has(launchId)) return;
    exitsTold.add(launchId);
    for (const listener of listeners) listener({ type: 'exited', ref, exit });
  }
  world.hosts.add(tellExit);

  function inspect(ref: PlaceRef): Inspection {
    const place = world.places.get(ref.launchId);
    if (ref.host !== KIND || place?.presence !== undefined) return { presence: 'unknown' };
    if (place === undefined) return { presence: 'gone' };
    if (place.exit !== undefined) return { presence: 'dead', exit: place.exit };
    return { presence: 'present' };
  }

  return {
    kind: KIND,
    launches,
    interrupts,

    async open(launch, signal) {
      const { launchId, launchDir, label } = launch;
      if (signal?.aborted) {
        throw new HostError('launch_failed', `opening ${label} was aborted`);
      }
      const failure = openError;
      openError = undefined;
      if (failure !== undefined) throw failure;
      const ref: PlaceRef = { host: KIND, launchId, launchDir };
      if (!world.places.has(launchId)) {
        world.places.set(launchId, { launch, exit: undefined, presence: undefined, output: [] });
        launches.push(launch);
      }
      owned.set(launchId, ref);
      tellExit(launchId);
      return ref;
    },

    inspect: async (ref) => inspect(ref),

    async interrupt(ref) {
      if (find(ref.launchId).exit !== undefined) {
        throw new HostError('not_found', `the child of launch ${ref.launchId} has ended`);
      }
      interrupts.push(ref.launchId);
    },

    read: async (ref, { lines }) => find(ref.launchId).output.slice(-lines).join('\n'),

    async close(ref) {
      if (!owned.has(ref.launchId)) {
        throw new HostError(
          'not_owned',
          `refused to close ${ref.launchId}: this host neither opened nor adopted it`,
        );
      }
      const place = find(ref.launchId);
      if (place.presence !== undefined) return 'unconfirmed';
      if (place.exit !== undefined) return 'already_gone';
      end(ref.launchId, { code: 143 });
      return 'closed';
    },

    watch(listener) {
      listeners.add(listener);
      for (const launchId of owned.keys()) tellExit(launchId);
      return () => listeners.delete(listener);
    },

    async adopt(ref) {
      const inspection = inspect(ref);
      if (inspection.presence === 'present' || inspection.presence === 'dead') {
        owned.set(ref.launchId, ref);
        tellExit(ref.launchId);
      }
      return inspection;
    },

    dispose() {
      world.hosts.delete(tellExit);
      listeners.clear();
    },

    exit: (launchId, exit = {}) => end(launchId, exit),
    failNextOpen(error = new HostError('launch_failed', 'the memory host was told to fail')) {
      openError = error;
    },
    setPresence(launchId, presence) {
      find(launchId).presence = presence;
    },
    print(launchId, ...lines) {
      find(launchId).output.push(...lines);
    },
    cancelDialog(launchId, title) {
      find(launchId);
      const ref = owned.get(launchId);
      if (ref === undefined) return;
      for (const listener of listeners) listener({ type: 'dialog_cancelled', ref, title });
    },
  };
}
