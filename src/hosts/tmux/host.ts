/**
 * Runs each child in a pane of tmux, where somebody can look at it and type.
 *
 * TX1. What lives is told by launch directory and process table, as on every host; tmux is asked only where
 *      something has to be opened, shown, typed or taken away.
 * TX2. A pane is ours by its tag, `@sheepfold_launch`; no other one is ever touched.
 * TX3. A server that does not answer makes nothing gone.
 */
import { HostError, ShepherdError } from '../../errors.ts';
import type { AgentHost, Launch, PlaceRef } from '../host.ts';
import { createLaunchHost, type StartedRunner } from '../launch-host.ts';
import { identify } from '../processes.ts';
import { runnerPath } from '../runner-path.ts';
import { createTmuxClient, socketOf, type TmuxClient, type TmuxClientOptions } from './client.ts';

export interface TmuxHostOptions extends TmuxClientOptions {
  /** The runner program. Default: `runnerPath()`. */
  readonly runner?: string | undefined;
  /** The Node that runs it. Default: this one. */
  readonly node?: string | undefined;
  /** Epoch ms. Default: the wall clock. */
  readonly now?: (() => number) | undefined;
  /** Time between looks at each place, at most 1,000. Default 1,000. */
  readonly sweepMs?: number | undefined;
  /** How long a launch may take to start its child. Default 10,000. */
  readonly openTimeoutMs?: number | undefined;
}

const tag = '@sheepfold_launch';
/** The session of our server that panes are opened in. */
const home = 'herd';
const size = ['-x', '120', '-y', '40'] as const;
/** What a failure's report shows of a screen. */
const lastLines = 60;

/** Creates the host of tmux panes. */
export function createTmuxHost(options: TmuxHostOptions = {}): AgentHost {
  const node = options.node ?? process.execPath;
  const clientOf = (launchDir: string): TmuxClient =>
    createTmuxClient(socketOf(launchDir), options);
  /** Panes are opened one after the other: two at once would both make the first session. */
  let opening: Promise<unknown> = Promise.resolve();

  async function startRunner(launch: Launch): Promise<StartedRunner> {
    const before = opening;
    const pane = before.catch(() => undefined).then(() => openPane(launch));
    opening = pane;
    const pid = Number((await pane).split(' ')[1]);
    return { identity: await identify(pid), exitCode: () => null };
  }

  /** Returns `<pane id> <pid of the runner>`. */
  async function openPane({
    launchDir,
    launchId,
    label,
    placement = 'tab',
  }: Launch): Promise<string> {
    const tmux = clientOf(launchDir);
    const program = options.runner ?? runnerPath();
    const command = ['--', node, '--no-warnings', program, launchDir];
    // A name is a format: `#` begins one.
    const name = label.replaceAll('#', '##');
    const common = ['-d', '-P', '-F', '#{pane_id} #{pane_pid}', '-c', launchDir];
    const isUp = await hasHome(tmux);
    if (!isUp) {
      const first = ['new-session', ...common, ...size, '-s', home, '-n', name, ...command];
      return tagged(tmux, await tmux.call(...serverOptions, ...first), launchId);
    }
    if (placement === 'workspace') {
      const made = await tmux.call('new-session', ...common, ...size, '-n', name, ...command);
      return tagged(tmux, made, launchId);
    }
    if (placement !== 'tab') {
      const way = placement === 'pane_right' ? '-h' : '-v';
      const split = ['split-window', ...common, way, '-t', `${home}:`, ...command];
      // A window that is too small gets no further pane; a window of its own is as good.
      const made = await tmux.call(...split).catch(() => undefined);
      if (made !== undefined) return tagged(tmux, made, launchId);
    }
    const made = await tmux.call('new-window', ...common, '-t', `${home}:`, '-n', name, ...command);
    return tagged(tmux, made, launchId);
  }

  /** The last lines of a pane, ended or not. */
  async function screenOf(ref: PlaceRef, lines: number): Promise<string> {
    const tmux = clientOf(ref.launchDir);
    const pane = await findPane(tmux, ref.launchId);
    const text = await tmux.call('capture-pane', '-p', '-J', '-S', `-${lines}`, '-t', pane);
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }

  return createLaunchHost({
    kind: 'tmux',
    mode: 'terminal',
    now: options.now ?? Date.now,
    sweepMs: Math.min(options.sweepMs ?? 1000, 1000),
    openTimeoutMs: options.openTimeoutMs ?? 10_000,
    startRunner,
    read: (ref, { lines }) => screenOf(ref, lines),
    lastOutput: (ref) => screenOf(ref, lastLines),
    async interrupt({ launchDir, launchId }) {
      const tmux = clientOf(launchDir);
      await tmux.call('send-keys', '-t', await findPane(tmux, launchId), 'Escape');
    },
    async onClosed({ launchDir, launchId }) {
      const tmux = clientOf(launchDir);
      // The child is proven gone; a pane that is gone as well is as wanted.
      const pane = await findPane(tmux, launchId).catch(() => undefined);
      if (pane !== undefined) await tmux.call('kill-pane', '-t', pane).catch(() => undefined);
    },
  });
}

/** A dead pane stays, with what it showed; Pi needs the keys; the server stays until it is told. */
const serverOptions = [
  ['start-server'],
  ['set-option', '-g', 'remain-on-exit', 'on'],
  ['set-option', '-g', 'remain-on-exit-format', ''],
  ['set-option', '-g', 'history-limit', '50000'],
  ['set-option', '-g', 'extended-keys', 'on'],
].flatMap((command) => [...command, ';']);

async function tagged(tmux: TmuxClient, made: string, launchId: string): Promise<string> {
  const [pane = ''] = made.trim().split(' ');
  await tmux.call('set-option', '-p', '-t', pane, tag, launchId);
  return made.trim();
}

async function hasHome(tmux: TmuxClient): Promise<boolean> {
  try {
    await tmux.call('has-session', '-t', `=${home}`);
    return true;
  } catch (error) {
    if (ShepherdError.is(error) && error.code === 'not_found') return false;
    throw error;
  }
}

/** The pane of a launch, by its tag. @throws HostError `not_found`, `host_unavailable`. */
export async function findPane(tmux: TmuxClient, launchId: string): Promise<string> {
  const filter = `#{==:#{${tag}},${launchId}}`;
  const found = await tmux.call('list-panes', '-a', '-f', filter, '-F', '#{pane_id}');
  const [pane = ''] = found.trim().split('\n');
  if (pane !== '') return pane;
  throw new HostError('not_found', `There is no pane of ${launchId}.`);
}
