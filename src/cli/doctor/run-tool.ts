/** Runs a program that only has to say something about itself, and never waits longer than its limit. */
import { spawn } from 'node:child_process';
import { describeError } from '../../errors.ts';
import { errnoOf, sendSignal } from '../../hosts/processes.ts';

export interface ToolOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly limitMs: number;
}

export type ToolAnswer =
  | { readonly type: 'answered'; readonly text: string }
  | { readonly type: 'missing' }
  /** It is there and does not work; `reason` is for people. */
  | { readonly type: 'failed'; readonly reason: string };

/** More than any of these programs has to say. */
const longestAnswer = 64 * 1024;

/**
 * Runs it in a process group of its own, which is killed at the limit: what the program itself started
 * would else keep its output open.
 *
 * @throws the reason of `signal` when that is aborted.
 */
export async function runTool(
  command: string,
  args: readonly string[],
  { env, signal, limitMs }: ToolOptions,
): Promise<ToolAnswer> {
  const limit = AbortSignal.timeout(limitMs);
  const stop = AbortSignal.any([signal, limit]);
  const child = spawn(command, args, {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let text = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    if (text.length < longestAnswer) text += more;
  });
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    if (errors.length < longestAnswer) errors += more;
  });
  const answer = await new Promise<ToolAnswer>((resolve) => {
    const settle = (settled: ToolAnswer): void => {
      stop.removeEventListener('abort', end);
      resolve(settled);
    };
    const end = (): void => {
      if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
      settle({ type: 'failed', reason: `it did not answer within ${limitMs / 1000} s` });
    };
    child.once('error', (error) => {
      const isMissing = errnoOf(error) === 'ENOENT';
      settle(isMissing ? { type: 'missing' } : { type: 'failed', reason: describeError(error) });
    });
    child.once('close', (code, ended) => {
      if (code === 0) return settle({ type: 'answered', text: text.trim() });
      const [said = ''] = errors.trim().split('\n');
      settle({ type: 'failed', reason: `it ended with ${ended ?? `code ${code}`} ${said}`.trim() });
    });
    if (stop.aborted) end();
    else stop.addEventListener('abort', end, { once: true });
  });
  signal.throwIfAborted();
  return answer;
}
