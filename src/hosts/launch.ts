/**
 * The launch directory: how one launch of a child is asked for, and what became of it.
 *
 * The same for every host. `spec.json` is written by the host, everything else by the runner
 * (`runner.ts`), so that it all stays true when the parent dies.
 *
 * L1. A reader sees a whole file or none: temp file in the same directory, then rename.
 * L2. A launch runs once. `claim.json` is made exclusively by the runner that starts the child, so two
 *     runners of one directory never start two children.
 * L3. The directory is 0700 and its files are 0600: `spec.json` holds the child's environment.
 */
import { constants } from 'node:fs';
import { chmod, link, mkdir, open, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { HostError } from '../errors.ts';
import { errnoOf, isAlive, type ProcessIdentity } from './processes.ts';
import { parseJson, readFileIfThere, readRecord, writeRecord } from './record-file.ts';

const pid = z.int().positive();
const startTime = z.int().nonnegative().nullable();
const atMs = z.int().nonnegative();

/** Bounds of the runner; each has a default, tests set smaller ones. */
const limitsSchema = z.strictObject({
  /** After this time an unanswered dialog of the child is cancelled. Default 60,000. */
  dialogTimeoutMs: z.int().positive().optional(),
  /** Bytes of output kept on disk, standard output and error together. Default 8 MiB. */
  outputBytes: z.int().min(4096).optional(),
});
export type LaunchLimits = Readonly<z.infer<typeof limitsSchema>>;

const specSchema = z.strictObject({
  v: z.literal(1),
  launchId: z.string().min(1),
  argv: z.tuple([z.string().min(1)], z.string()),
  cwd: z.string().min(1),
  /** The child's whole environment, except what a terminal adds. */
  env: z.record(z.string(), z.string()),
  label: z.string(),
  /** `process`: input is the FIFO and output is kept. `terminal`: the child has the terminal. */
  mode: z.enum(['process', 'terminal']),
  limits: limitsSchema.optional(),
  /** The session's `owner.json`; without it the runner watches no owner. */
  ownerFile: z.string().refine(isAbsolute, 'expected an absolute path').optional(),
  /** How long the owner has to be proven dead until the child is ended. Default 600,000. */
  orphanGraceMs: z.int().positive().optional(),
});
export type LaunchSpec = Readonly<z.infer<typeof specSchema>>;

const claimSchema = z.strictObject({ runnerPid: pid, runnerStartTime: startTime });
export type LaunchClaim = Readonly<z.infer<typeof claimSchema>>;

const startedSchema = z.strictObject({
  pid,
  startTime,
  /** The child's process group. */
  pgid: pid,
  runnerPid: pid,
  runnerStartTime: startTime,
  atMs,
  /** The terminal pane the runner found itself in. */
  place: z
    .strictObject({ tmuxPane: z.string().optional(), herdrPane: z.string().optional() })
    .optional(),
});
export type LaunchStarted = Readonly<z.infer<typeof startedSchema>>;

const exitSchema = z.strictObject({
  /** What the child reported, unmapped: Pi traps SIGTERM and reports 143 with signal `null`. */
  code: z.int().nullable(),
  signal: z.string().nullable(),
  atMs,
  /** Why the child could not be started; its own output is in the logs. */
  output: z.string().optional(),
  /** Set when the runner ended the child because its owner was dead for the whole grace. */
  reason: z.literal('orphaned').optional(),
});
export type LaunchExit = Readonly<z.infer<typeof exitSchema>>;

const dialogNoteSchema = z.strictObject({
  /** Whoever answers a dialog appends `answered` before it writes the answer to the FIFO. */
  event: z.enum(['opened', 'answered', 'cancelled']),
  id: z.string(),
  method: z.string(),
  title: z.string(),
  atMs,
});
/** One line of `dialogs.jsonl`. */
export type DialogNote = Readonly<z.infer<typeof dialogNoteSchema>>;

const dialogsToldSchema = z.strictObject({ count: z.int().nonnegative() });

/** Exit code of a launch whose child could not be started; the shell's own choice. */
export const CANNOT_START = 127;

/** Where everything of a launch lies. */
export function launchPaths(launchDir: string) {
  const at = (name: string) => join(launchDir, name);
  return {
    spec: at('spec.json'),
    claim: at('claim.json'),
    started: at('started.json'),
    exit: at('exit.json'),
    /** FIFO: the child's standard input. One line a write. */
    input: at('in'),
    /** The child's standard output without deltas; the older half is `out.jsonl.old`. */
    output: at('out.jsonl'),
    errors: at('err.log'),
    dialogs: at('dialogs.jsonl'),
    dialogsTold: at('dialogs-told.json'),
    /** What the runner itself complained of; empty unless it broke. */
    runnerLog: at('runner.log'),
  } as const;
}

/** Makes the directory, or closes an existing one to others. */
export async function makeLaunchDir(launchDir: string): Promise<void> {
  await mkdir(launchDir, { recursive: true, mode: 0o700 });
  await chmod(launchDir, 0o700);
}

export async function writeSpec(launchDir: string, spec: LaunchSpec): Promise<void> {
  await writeRecord(launchPaths(launchDir).spec, spec);
}

export async function writeStarted(launchDir: string, started: LaunchStarted): Promise<void> {
  await writeRecord(launchPaths(launchDir).started, started);
}

export async function writeExit(launchDir: string, exit: LaunchExit): Promise<void> {
  await writeRecord(launchPaths(launchDir).exit, exit);
}

/**
 * Reads what is to be launched, or `undefined` when there is no such launch.
 *
 * This and the other readers throw HostError `uncertain` for a file that is there but cannot be read
 * (then `retryable`) or is no record of its kind.
 */
export function readSpec(launchDir: string): Promise<LaunchSpec | undefined> {
  return readRecord(launchPaths(launchDir).spec, specSchema);
}

/** Reads which runner took the launch, or `undefined` before one did. */
export function readClaim(launchDir: string): Promise<LaunchClaim | undefined> {
  return readRecord(launchPaths(launchDir).claim, claimSchema);
}

/** Reads which process the child is, or `undefined` before it was started. */
export function readStarted(launchDir: string): Promise<LaunchStarted | undefined> {
  return readRecord(launchPaths(launchDir).started, startedSchema);
}

/** Reads how the child ended, or `undefined` while it runs or when its runner was killed. */
export function readExit(launchDir: string): Promise<LaunchExit | undefined> {
  return readRecord(launchPaths(launchDir).exit, exitSchema);
}

/** The notes of the child's dialogs, in order; a line that is torn or foreign is left out. */
export async function readDialogs(launchDir: string): Promise<DialogNote[]> {
  const text = await readFileIfThere(launchPaths(launchDir).dialogs);
  const lines = (text ?? '').split('\n').filter((line) => line !== '');
  return lines.flatMap((line) => {
    const note = dialogNoteSchema.safeParse(parseJson(line));
    return note.success ? [note.data] : [];
  });
}

/** How many cancelled dialogs a parent has told of; a later parent goes on from there. */
export async function readDialogsTold(launchDir: string): Promise<number> {
  const record = await readRecord(launchPaths(launchDir).dialogsTold, dialogsToldSchema);
  return record?.count ?? 0;
}

export async function writeDialogsTold(launchDir: string, count: number): Promise<void> {
  await writeRecord(launchPaths(launchDir).dialogsTold, { count });
}

/**
 * Takes the launch for one runner; false when another runner has it or had started its child (L2).
 *
 * The claim of a runner that died before it started anything is taken over.
 */
export async function claimLaunch(launchDir: string, runner: ProcessIdentity): Promise<boolean> {
  const { claim } = launchPaths(launchDir);
  const mine = `${claim}.${runner.pid}`;
  const record: LaunchClaim = { runnerPid: runner.pid, runnerStartTime: runner.startTime };
  await writeFile(mine, JSON.stringify(record), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        // link(2) and not an exclusive open: the claim must never be seen half written.
        await link(mine, claim);
        return true;
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
      }
      const other = await readClaim(launchDir);
      if (other === undefined) continue;
      if (await isAlive({ pid: other.runnerPid, startTime: other.runnerStartTime })) return false;
      if ((await readStarted(launchDir)) ?? (await readExit(launchDir))) return false;
      await rm(claim, { force: true });
    }
    return false;
  } finally {
    await rm(mine, { force: true });
  }
}

/**
 * Writes one line to the child's input in one piece.
 *
 * The open does not wait and the write is below PIPE_BUF, so lines of several writers never mix.
 *
 * @throws HostError `not_found` when nobody reads (the child is gone), `agent_not_ready` (retryable)
 *   when the child does not read and the FIFO is full.
 */
export async function writeInput(launchDir: string, line: string): Promise<void> {
  const bytes = Buffer.from(`${line}\n`);
  // 512 is what POSIX promises and macOS gives; Linux has 4096.
  if (bytes.length > 512) {
    throw new HostError(
      'uncertain',
      `refused a line of ${bytes.length} bytes for a child's input; lines up to 512 bytes stay whole, longer text goes by mailbox`,
    );
  }
  try {
    const fifo = await open(
      launchPaths(launchDir).input,
      constants.O_WRONLY | constants.O_NONBLOCK,
    );
    try {
      await fifo.write(bytes);
    } finally {
      await fifo.close();
    }
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENXIO' || code === 'EPIPE') {
      throw new HostError('not_found', `no child reads the input of ${launchDir}`, {
        cause: error,
      });
    }
    throw new HostError('agent_not_ready', `the child of ${launchDir} does not read its input`, {
      cause: error,
      retryable: true,
    });
  }
}
