/**
 * The port behind which a child agent runs: a process, a terminal pane, or memory in tests.
 *
 * H1. What cannot be inspected is `unknown`, never `gone`.
 * H2. Only what this host opened is ever closed; a close that cannot be proven says so.
 * H3. Every host launches by a launch directory (`launch.ts`) and the runner; opening twice with one
 *     launch id opens one place.
 * H4. What a host sees of an agent is an observation; it settles no task as completed.
 */

/** Where a new agent is to appear; hosts without places ignore it. */
export type Placement = 'pane_right' | 'pane_down' | 'tab' | 'workspace';

/** One launch of one agent. Secrets travel in 0600 files and in `env`, never in `argv`. */
export interface Launch {
  /** Names the incarnation; the directory below which everything of this launch lies, 0700. */
  readonly launchId: string;
  readonly launchDir: string;
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The child's whole environment, except what a terminal adds. */
  readonly env: Readonly<Record<string, string>>;
  readonly label: string;
  readonly placement?: Placement | undefined;
  /**
   * The session's `owner.json` (`owner.ts`), an absolute path. Its runner ends a child whose owner is
   * proven dead for the whole of `orphanGraceMs`; without the file it never does.
   */
  readonly ownerFile?: string | undefined;
  /** Monotonic, host sleep not counted. Default 600,000 (`orphanGraceMinutes`). */
  readonly orphanGraceMs?: number | undefined;
}

/** Finds a place again, also from another process; plain data, kept in the session's store. */
export interface PlaceRef {
  readonly host: string;
  readonly launchId: string;
  readonly launchDir: string;
}

/** How a child's process ended. Neither code nor signal known: it vanished without a trace. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Epoch ms. */
  readonly atMs: number;
  /** The tail of what the child printed, at most 4,000 characters. */
  readonly output: string;
}

export interface Inspection {
  readonly presence: 'present' | 'dead' | 'gone' | 'unknown';
  readonly pid?: number | undefined;
  readonly exit?: ProcessExit | undefined;
}

export type HostEvent =
  | { readonly type: 'exited'; readonly ref: PlaceRef; readonly exit: ProcessExit }
  /** The child asks a person something that nobody answered within the limit. */
  | { readonly type: 'dialog_cancelled'; readonly ref: PlaceRef; readonly title: string };

export type CloseOutcome = 'closed' | 'already_gone' | 'unconfirmed';

export interface AgentHost {
  readonly kind: string;
  /** Whether a child gets a terminal, and is led by keys; else it reads records. Default false. */
  readonly hasTerminal?: boolean;
  /**
   * Opens the place in the background and returns once its process runs; ready is another thing
   * (the child's own `hello`).
   *
   * @throws HostError `launch_failed` with the output so far; whatever was opened is closed again.
   */
  open(launch: Launch, signal?: AbortSignal): Promise<PlaceRef>;
  /** Presence of one place; never throws for an unreachable one (H1). */
  inspect(ref: PlaceRef): Promise<Inspection>;
  /** Stops the running turn and keeps the child. */
  interrupt(ref: PlaceRef): Promise<void>;
  /** The last `lines` lines that the child showed or printed. */
  read(ref: PlaceRef, options: { readonly lines: number }): Promise<string>;
  /**
   * Ends the child politely, then its whole process group after `graceMs`, and verifies.
   *
   * Idempotent. `unconfirmed` when a process may be left.
   */
  close(ref: PlaceRef, options: { readonly graceMs: number }): Promise<CloseOutcome>;
  /** Tells of exits of places that this object opened or adopted, once each; returns the stop. */
  watch(listener: (event: HostEvent) => void): () => void;
  /** Takes up a place that an earlier process opened: it is watched from now on. */
  adopt(ref: PlaceRef): Promise<Inspection>;
  /** Takes away what these places still show, where their child is proven gone; rejects never. */
  tidy?(refs: readonly PlaceRef[]): Promise<void>;
  /** Releases timers and handles; children stay. */
  dispose(): void;
}
