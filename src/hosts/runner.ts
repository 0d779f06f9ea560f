/**
 * The launch runner, a program of its own: `node runner.ts <launchDir>`.
 *
 * Starts the child that `spec.json` asks for, stays as its parent and writes down what becomes of it.
 * It is what lives on when the Shepherd is killed: it holds the child's output pipes, answers dialogs
 * that nobody answers and knows the exit code. It imports little, so that it starts fast and runs from
 * sources.
 *
 * R1. The child's input never ends with its parent: it is a FIFO that the child itself holds open for
 *     writing.
 * R2. A child that ran has `exit.json`, one that could not be started too (code 127 and the reason).
 * R3. Nothing of the child's process group outlives the child.
 * R4. The runner ends its child by itself only when the session's owner was proven dead for the whole
 *     grace (`orphan-watch.ts`); `exit.json` then says so.
 */
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { constants as system } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { describeError, ShepherdError } from '../errors.ts';
import {
  CANNOT_START,
  claimLaunch,
  type DialogNote,
  type LaunchExit,
  launchPaths,
  type LaunchSpec,
  type LaunchStarted,
  readDialogs,
  readSpec,
  writeExit,
  writeInput,
  writeStarted,
} from './launch.ts';
import { endChild } from './launch-end.ts';
import { DEFAULT_ORPHAN_GRACE_MS, type OrphanWatch, watchOwner } from './orphan-watch.ts';
import { createLineSplitter, type CutLine, openOutputLog } from './output-log.ts';
import { errnoOf, groupMembers, groupOf, identify, sendSignal } from './processes.ts';

const DEFAULT_DIALOG_TIMEOUT_MS = 60_000;
const DEFAULT_OUTPUT_BYTES = 8 * 1024 * 1024;
const MAX_LINE_LENGTH = 1024 * 1024;
/** How long output is awaited after the exit: a daemon may hold the pipe for ever. */
const DRAIN_MS = 1000;
/** How long an orphan may take to end by itself; as long as one that the Shepherd closes. */
const END_ORPHAN_GRACE_MS = 3000;

/**
 * Pi events that repeat what a later event says in full. `tool_execution_update` carries the whole
 * partial result each time.
 */
const DELTA = /^\{"type":"(?:message_update|tool_execution_update|bash_execution_update)"/;
/** The `extension_ui_request` methods that wait for an answer, all others do not: Pi's rpc-extension-ui.md. */
const dialogRequestSchema = z.looseObject({
  id: z.string(),
  method: z.enum(['select', 'confirm', 'input', 'editor']),
  title: z.string().default(''),
  timeout: z.number().optional(),
});
const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

async function run(launchDir: string): Promise<number> {
  const spec = await readSpec(launchDir);
  if (spec === undefined) throw new Error(`no spec.json in ${launchDir}`);
  const self = await identify(process.pid);
  if (!(await claimLaunch(launchDir, self))) return 0;

  const forward = forwardSignals(spec);
  let child: ChildProcess;
  try {
    child = await startChild(launchDir, spec);
  } catch (error) {
    await saveExit(launchDir, {
      code: CANNOT_START,
      signal: null,
      atMs: Date.now(),
      output: `cannot start ${spec.argv[0]} in ${spec.cwd}: ${describeError(error)}`,
    });
    return CANNOT_START;
  }

  const pid = child.pid ?? 0;
  const ended = whenEnded(child);
  const kept = spec.mode === 'process' ? keepOutput(launchDir, spec, child) : undefined;
  forward.to(pid);
  const { startTime } = await identify(pid);
  const pgid = spec.mode === 'process' ? pid : ((await groupOf(process.pid)) ?? process.pid);
  const started: LaunchStarted = {
    pid,
    startTime,
    pgid,
    runnerPid: self.pid,
    runnerStartTime: self.startTime,
    atMs: Date.now(),
    place: terminalPlace(spec),
  };
  await writeStarted(launchDir, started);
  const orphan = watchForOrphan(spec, started);

  const { code, signal } = await ended;
  const atMs = Date.now();
  const wasOrphan = (await orphan?.stop()) ?? false;
  await killRest(spec, pgid);
  await kept?.drained();
  const reason = wasOrphan ? 'orphaned' : undefined;
  await saveExit(launchDir, { code, signal, atMs, reason });
  return code ?? 128 + (signal === null ? 0 : system.signals[signal]);
}

/** Starts the child and resolves once it runs; rejects with the reason it cannot. */
async function startChild(launchDir: string, spec: LaunchSpec): Promise<ChildProcess> {
  // Without this check a missing directory reads as a missing program.
  if (!statSync(spec.cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Error(`${spec.cwd} is not a directory`);
  }
  const [command, ...args] = spec.argv;
  const forProcess = spec.mode === 'process';
  // Read-write, so that the open does not wait for a writer and the child never reads an end (R1).
  // Closed here right after: while the runner had it, a dead child would look like one that reads.
  const input = forProcess ? openSync(launchPaths(launchDir).input, constants.O_RDWR) : undefined;
  const stdio: StdioOptions = input === undefined ? 'inherit' : [input, 'pipe', 'pipe'];
  try {
    const env = forProcess ? spec.env : withTerminal(spec.env);
    // In a terminal the child stays in the runner's group, which is the foreground group.
    const child = spawn(command, args, { cwd: spec.cwd, env, stdio, detached: forProcess });
    await once(child, 'spawn');
    return child;
  } finally {
    if (input !== undefined) closeSync(input);
  }
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

function whenEnded(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** Writes the child's output to the bounded logs and watches it for dialogs. */
function keepOutput(
  launchDir: string,
  spec: LaunchSpec,
  child: ChildProcess,
): { drained(): Promise<void> } {
  const paths = launchPaths(launchDir);
  const maxBytes = spec.limits?.outputBytes ?? DEFAULT_OUTPUT_BYTES;
  const output = openOutputLog(paths.output, (maxBytes * 3) / 4);
  const errors = openOutputLog(paths.errors, maxBytes / 4);
  const dialogs = watchDialogs(launchDir, spec);

  const lines = createLineSplitter(Math.min(MAX_LINE_LENGTH, maxBytes / 8), (line) => {
    const start = typeof line === 'string' ? line : line.start;
    if (DELTA.test(start)) return;
    output.append(`${typeof line === 'string' ? line : describeCut(line)}\n`);
    if (typeof line === 'string') dialogs.see(line);
  });
  child.stdout?.setEncoding('utf8');
  child.stdout?.on('data', (text: string) => lines.push(text));
  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (text: string) => errors.append(text));
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });

  return {
    async drained() {
      await Promise.race([closed, wait(DRAIN_MS)]);
      dialogs.stop();
      lines.end();
      output.close();
      errors.close();
    },
  };
}

function describeCut({ start, length }: CutLine): string {
  return JSON.stringify({ type: 'sheepfold_cut', length, start });
}

/** Notes the child's dialogs and cancels those that nobody answered in time. */
function watchDialogs(launchDir: string, spec: LaunchSpec) {
  const { dialogs } = launchPaths(launchDir);
  const timeoutMs = spec.limits?.dialogTimeoutMs ?? DEFAULT_DIALOG_TIMEOUT_MS;
  const open = new Set<NodeJS.Timeout>();

  function note(event: DialogNote['event'], dialog: Dialog): void {
    const { id, method, title } = dialog;
    const entry: DialogNote = { event, id, method, title, atMs: Date.now() };
    try {
      appendFileSync(dialogs, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    } catch (error) {
      complain(error);
    }
  }

  async function cancel(dialog: Dialog): Promise<void> {
    const notes = await readDialogs(launchDir);
    if (notes.some(({ event, id }) => event === 'answered' && id === dialog.id)) return;
    const answer = { type: 'extension_ui_response', id: dialog.id, cancelled: true };
    try {
      await writeInput(launchDir, JSON.stringify(answer));
      note('cancelled', dialog);
    } catch (error) {
      complain(error);
      if (ShepherdError.is(error) && error.retryable) later(dialog);
    }
  }

  function later(dialog: Dialog): void {
    const timer = setTimeout(() => {
      open.delete(timer);
      cancel(dialog).catch(complain);
    }, timeoutMs);
    open.add(timer);
  }

  return {
    see(line: string): void {
      const dialog = toDialog(line);
      if (dialog === undefined) return;
      note('opened', dialog);
      // Pi itself ends a dialog with a timeout.
      if (dialog.timeoutMs === undefined || dialog.timeoutMs > timeoutMs) later(dialog);
    },
    stop(): void {
      for (const timer of open) clearTimeout(timer);
    },
  };
}

interface Dialog {
  readonly id: string;
  readonly method: string;
  readonly title: string;
  readonly timeoutMs: number | undefined;
}

function toDialog(line: string): Dialog | undefined {
  if (!line.startsWith('{"type":"extension_ui_request"')) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  const request = dialogRequestSchema.safeParse(json);
  if (!request.success) return undefined;
  const { id, method, title, timeout } = request.data;
  return { id, method, title: title.slice(0, 200), timeoutMs: timeout };
}

/**
 * Passes a request to end on to the child, which decides what it does.
 *
 * A terminal tells its whole foreground group itself: there SIGINT and SIGHUP are only survived, as a
 * second one would make Pi exit without tidying up. Installed before the child starts, so that no signal
 * kills the runner and leaves a child nobody knows of.
 */
function forwardSignals(spec: LaunchSpec): { to(pid: number): void } {
  let target: number | undefined;
  const early: NodeJS.Signals[] = [];
  function pass(pid: number, signal: NodeJS.Signals): void {
    if (spec.mode === 'process') sendSignal(-pid, signal);
    else if (signal === 'SIGTERM') sendSignal(pid, signal);
  }
  for (const signal of FORWARDED) {
    process.on(signal, () => {
      if (target === undefined) early.push(signal);
      else pass(target, signal);
    });
  }
  return {
    to(pid) {
      target = pid;
      for (const signal of early) pass(pid, signal);
    },
  };
}

/** Ends the child when nobody owns it any more (R4); `undefined` when the launch names no owner. */
function watchForOrphan(spec: LaunchSpec, started: LaunchStarted): OrphanWatch | undefined {
  const { ownerFile, orphanGraceMs: graceMs = DEFAULT_ORPHAN_GRACE_MS } = spec;
  if (ownerFile === undefined) return undefined;
  return watchOwner({
    ownerFile,
    graceMs,
    async end() {
      complain(`the owner in ${ownerFile} has been dead for ${graceMs} ms: ending the child`);
      const isGone = await endChild(started, Math.min(END_ORPHAN_GRACE_MS, graceMs));
      if (!isGone) complain(`a process of the child ${started.pid} may be left`);
    },
    onError: complain,
  });
}

/** Kills what the child left in its process group (R3). */
async function killRest(spec: LaunchSpec, pgid: number): Promise<void> {
  if (spec.mode === 'process') {
    sendSignal(-pgid, 'SIGKILL');
    return;
  }
  for (const { pid } of await groupMembers(pgid)) {
    if (pid !== process.pid) sendSignal(pid, 'SIGKILL');
  }
}

/** Insists on `exit.json` for a while: a full disk may have room again. */
async function saveExit(launchDir: string, exit: LaunchExit): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await writeExit(launchDir, exit);
      return;
    } catch (error) {
      // Somebody removed the directory, or the disk stays full.
      if (errnoOf(error) === 'ENOENT' || attempt === 40) throw error;
      await wait(250);
    }
  }
}

const TERMINAL_VARIABLE = /^(?:TERM|COLORTERM|TERM_PROGRAM|TERM_PROGRAM_VERSION|TMUX.*|HERDR_.*)$/;

/** The child's environment with what describes this terminal, not the one the parent sits in. */
function withTerminal(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(env).filter((entry) => !isOfTerminal(entry));
  return Object.fromEntries([...own, ...Object.entries(process.env).filter(isOfTerminal)]);
}

function isOfTerminal([name]: readonly [string, unknown]): boolean {
  return TERMINAL_VARIABLE.test(name);
}

function terminalPlace(spec: LaunchSpec): LaunchStarted['place'] {
  if (spec.mode === 'process') return undefined;
  return { tmuxPane: process.env['TMUX_PANE'], herdrPane: process.env['HERDR_PANE_ID'] };
}

/** Standard error is `runner.log`. */
function complain(error: unknown): void {
  process.stderr.write(`${describeError(error)}\n`);
}

const launchDir = process.argv[2];
if (launchDir === undefined) {
  complain('usage: runner <launchDir>');
  process.exit(2);
}
try {
  process.exit(await run(launchDir));
} catch (error) {
  complain(error);
  process.exit(1);
}
