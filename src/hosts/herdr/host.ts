/**
 * Runs each child in a pane of Herdr, in the background.
 *
 * HH1. What lives is told by launch directory and process table, as on every host; Herdr is asked only where
 *      something has to be opened, shown, typed or taken away. Not reachable, it makes nothing gone.
 * HH2. One short line is typed, and typed again while nothing came of it: a launch runs once, however often
 *      its runner is started.
 * HH3. What Herdr takes an agent for says nothing: our child reports its own state, to us by its mailbox and to
 *      Herdr by `pane.report_agent`.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { HostError } from '../../errors.ts';
import type { AgentHost, Launch, PlaceRef } from '../host.ts';
import { launchPaths, readExit, readStarted } from '../launch.ts';
import { createLaunchHost, type StartedRunner } from '../launch-host.ts';
import { identify } from '../processes.ts';
import { readFileIfThere } from '../record-file.ts';
import { runnerPath } from '../runner-path.ts';
import { createHerdrClient, herdrSocket } from './client.ts';
import { closePane, findPane, openPane, shellOf } from './panes.ts';

export interface HerdrHostOptions {
  /** Where Herdr says what this program sits in. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Of one call. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** The runner program. Default: `runnerPath()`. */
  readonly runner?: string | undefined;
  /** The Node that runs it. Default: this one. */
  readonly node?: string | undefined;
  /** Epoch ms. Default: the wall clock. */
  readonly now?: (() => number) | undefined;
  /** Time between looks at each place, at most 1,000. Default 1,000. */
  readonly sweepMs?: number | undefined;
  /** How long a launch may take to start its child. Default 20,000: a shell may load much. */
  readonly openTimeoutMs?: number | undefined;
  /** How long nothing may come of a typed line. Default 3,000. */
  readonly silenceMs?: number | undefined;
}

const lookMs = 50;
/** What a failure's report shows of a screen. */
const lastLines = 60;

const textSchema = z.looseObject({ read: z.looseObject({ text: z.string() }) });

/** Creates the host of Herdr's panes. */
export function createHerdrHost(options: HerdrHostOptions = {}): AgentHost {
  const { env = process.env, silenceMs = 3_000, openTimeoutMs = 20_000 } = options;
  const herdr = createHerdrClient({ socket: herdrSocket(env), timeoutMs: options.timeoutMs });
  const node = options.node ?? process.execPath;
  const own = { workspaceId: env['HERDR_WORKSPACE_ID'], paneId: env['HERDR_PANE_ID'] };

  async function startRunner(
    launch: Launch,
    signal: AbortSignal | undefined,
  ): Promise<StartedRunner> {
    const { launchDir } = launch;
    const script = join(launchDir, 'run.sh');
    const program = options.runner ?? runnerPath();
    const command = [node, '--no-warnings', program, launchDir].map(quoted).join(' ');
    await writeFile(script, `exec ${command}\n`, { mode: 0o600 });
    const paneId = await openPane(herdr, launch, own);
    try {
      const pid = await type(paneId, { launchDir, line: `sh ${quoted(script)}`, signal });
      return { identity: await identify(pid), exitCode: () => null };
    } catch (error) {
      await closePane(herdr, paneId);
      throw error;
    }
  }

  /** Types the line until the runner shows; returns the pid of the pane's shell. */
  async function type(
    paneId: string,
    what: {
      readonly launchDir: string;
      readonly line: string;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<number> {
    const { launchDir, line, signal } = what;
    const untilMs = performance.now() + openTimeoutMs;
    for (let typed = 0; performance.now() < untilMs;) {
      const { pid, isReady } = await shellOf(herdr, paneId);
      if (await hasClaimed(launchDir)) return pid;
      if (!isReady) {
        await wait(lookMs, undefined, { signal });
        continue;
      }
      // Half a line may be left of the last try.
      if (typed > 0)
        await herdr.call('pane.send_keys', { pane_id: paneId, keys: ['ctrl+c'] }, z.unknown());
      typed += 1;
      const input = { pane_id: paneId, text: line, keys: ['Enter'] };
      await herdr.call('pane.send_input', input, z.unknown());
      const silentUntilMs = Math.min(untilMs, performance.now() + silenceMs);
      while (performance.now() < silentUntilMs) {
        if (await hasClaimed(launchDir)) return pid;
        await wait(lookMs, undefined, { signal });
      }
    }
    throw new HostError(
      'launch_failed',
      `the shell of a new pane of Herdr did not run what was typed within ${openTimeoutMs} ms`,
      { retryable: true },
    );
  }

  async function screenOf(ref: PlaceRef, lines: number): Promise<string> {
    const paneId = await findPane(herdr, ref);
    const asked = { pane_id: paneId, source: 'recent_unwrapped', lines, strip_ansi: true };
    const { read } = await herdr.call('pane.read', asked, textSchema);
    return read.text.trimEnd().split('\n').slice(-lines).join('\n');
  }

  return createLaunchHost({
    kind: 'herdr',
    mode: 'terminal',
    now: options.now ?? Date.now,
    sweepMs: Math.min(options.sweepMs ?? 1000, 1000),
    openTimeoutMs,
    startRunner,
    // An event says when to look, never what there is: those of before do no harm.
    hints: (look) => herdr.subscribe(['pane.exited', 'pane.closed'], look),
    read: (ref, { lines }) => screenOf(ref, lines),
    lastOutput: (ref) => screenOf(ref, lastLines),
    async interrupt(ref) {
      await herdr.call(
        'pane.send_keys',
        { pane_id: await findPane(herdr, ref), keys: ['esc'] },
        z.unknown(),
      );
    },
    async onClosed(ref) {
      const paneId = await findPane(herdr, ref).catch(() => undefined);
      if (paneId !== undefined) await closePane(herdr, paneId);
    },
  });
}

/** Whether a runner has this launch, or had it. */
async function hasClaimed(launchDir: string): Promise<boolean> {
  return (
    (await readFileIfThere(launchPaths(launchDir).claim)) !== undefined ||
    (await readStarted(launchDir)) !== undefined ||
    (await readExit(launchDir)) !== undefined
  );
}

/** One word of a shell's line. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
