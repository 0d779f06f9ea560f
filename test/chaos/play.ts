/**
 * Plays the scene once: a parent that is killed where it is told to be, and started again, until one
 * ends the scene; then tells what was done, by names that are the same in every play.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { passGap } from './gap.ts';
import { fastDisk, isChild } from './order.ts';
import { gap, type Kill, type Passed, type Point } from './points.ts';
import { readChild, readLines } from './record.ts';
import {
  endFile,
  noticesFile,
  passedFile,
  settledFile,
  type End,
  type Mode,
  type NoticeLine,
  type ParentArgs,
  type SettledLine,
} from './scene.ts';

export interface Played {
  /** The points at which a parent really died. */
  readonly hits: readonly Point[];
  readonly outcomes: End;
  /** Everything that was handled or told, by name, as often as it was. */
  readonly heard: readonly string[];
  /** Envelopes of which the recipient has more than one line, and children started twice. */
  readonly repeats: readonly string[];
  readonly tasks: number;
  readonly envelopes: number;
  /** How long after its instant, and after the parent was there, each deadline acted. */
  readonly lateMs: readonly number[];
  /** What the last parent passed. */
  readonly passed: Passed;
  /** Why the scene did not end, and what was left behind. */
  readonly trouble: readonly string[];
}

const program = fileURLToPath(new URL('parent.ts', import.meta.url));
const labels = ['one', 'two', 'three', 'four'] as const;

/** Longer than any scene takes: what was lost is waited for in vain. */
const playLimitMs = 40_000;

/** Plays with one parent for each kill, and one more. */
export async function play(options: {
  readonly mode: Mode;
  readonly kills: readonly Kill[];
  readonly signal?: AbortSignal | undefined;
  readonly keep?: boolean | undefined;
}): Promise<Played> {
  const { mode, kills, signal, keep = false } = options;
  const dir = mkdtempSync(join(fastDisk, 'sheepfold-chaos-'));
  const limit = AbortSignal.timeout(playLimitMs);
  const ending = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  const hits: Point[] = [];
  const trouble: string[] = [];
  try {
    for (const kill of [...kills, undefined]) {
      const { wasKilled, errors } = await runParent({ dir, mode, kill }, ending);
      if (ending.aborted) {
        trouble.push(`the scene did not end within ${playLimitMs} ms`);
        break;
      }
      if (wasKilled && kill !== undefined) hits.push(kill.point);
      else if (wasKilled || errors !== '') trouble.push(`a parent failed: ${errors.slice(-2_000)}`);
      if (!wasKilled) break;
      if (kill?.point === gap) await passGap(dir, mode, ending).catch(() => undefined);
    }
    trouble.push(...(await endChildren(dir)));
    if (keep && trouble.length > 0) trouble.push(`see ${dir}`);
    return { ...judge(dir), hits, trouble };
  } finally {
    if (!keep || trouble.length === 0) rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function runParent(
  args: ParentArgs & { readonly kill: Kill | undefined },
  limit: AbortSignal,
) {
  const parent = spawn(process.execPath, ['--no-warnings', program, JSON.stringify(args)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: args.dir,
  });
  let errors = '';
  parent.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const kill = () => parent.kill('SIGKILL');
  limit.addEventListener('abort', kill);
  const shot = args.kill?.point === 'anywhere' ? setTimeout(kill, args.kill.k) : undefined;
  const [, signal] = (await once(parent, 'close')) as [number | null, string | null];
  clearTimeout(shot);
  limit.removeEventListener('abort', kill);
  return { wasKilled: signal === 'SIGKILL', errors };
}

/** A scene that has ended has left no child; those of one that has not are ended here. */
async function endChildren(dir: string): Promise<readonly string[]> {
  // Also a child that a killed parent's runner had only just begun has written that it is there.
  await wait(existsSync(join(dir, endFile)) ? 0 : 500);
  const pids = labels.flatMap((label) => readChild(dir, label).map(({ pid }) => pid));
  return [...new Set(pids)].flatMap((pid) => {
    if (!isChild(pid, dir)) return [];
    process.kill(pid, 'SIGKILL');
    return [`the child ${pid} was left running`];
  });
}

function judge(dir: string): Omit<Played, 'hits' | 'trouble'> {
  const notices = readLines(join(dir, noticesFile)) as readonly NoticeLine[];
  const told = notices.flatMap(({ tells }) => tells);
  const repeats: string[] = [];
  const heard = labels.flatMap((label) => {
    const lines = readChild(dir, label);
    const pids = new Set(lines.map(({ pid }) => pid));
    if (pids.size > 1) repeats.push(`${label} was started ${pids.size} times`);
    const ids = new Set<string>();
    const verdicts = new Set<string>();
    return lines.flatMap(({ messageId, kind, what = '' }) => {
      if (messageId === undefined) return [];
      if (ids.has(messageId)) repeats.push(`${label} handled ${what} twice (${messageId})`);
      ids.add(messageId);
      // A repeated envelope is given its verdict again: how many there are is not part of the scene.
      if (kind === 'verdict' && verdicts.has(what)) return [];
      if (kind === 'verdict') verdicts.add(what);
      return [`${label} heard ${what}`];
    });
  });
  const settled = readLines(join(dir, settledFile)) as readonly SettledLine[];
  return {
    outcomes: (readLines(join(dir, endFile))[0] ?? {}) as End,
    heard: [...heard, ...told.map((what) => `the Shepherd heard ${what}`)],
    repeats,
    tasks: settled.length,
    envelopes: labels.reduce((sum, label) => sum + readChild(dir, label).length, notices.length),
    lateMs: settled.flatMap(({ atMs, deadlineAtMs, openedAtMs }) =>
      deadlineAtMs === null ? [] : Math.max(0, atMs - Math.max(deadlineAtMs, openedAtMs)),
    ),
    passed: (readLines(join(dir, passedFile))[0] ?? {}) as Passed,
  };
}
