/** A minimal client of `pi --mode rpc`: records what Pi says, waits with limits. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import type { IsolatedPi } from './isolated-pi.ts';

/** Any line that Pi prints or reads. */
export type RpcRecord = Readonly<Record<string, unknown>> & { readonly type: string };

/** Pi's records have their own shapes by type; what this client needs is the type. */
const recordSchema = z.looseObject({ type: z.string() });

/** An answer to a dialog of an extension, or `undefined` to leave it open. */
export type DialogAnswer =
  { readonly value: string } | { readonly confirmed: boolean } | { readonly cancelled: true };

export interface PiRpcOptions {
  readonly pi: { readonly node: string; readonly cli: string };
  readonly isolated: IsolatedPi;
  /** After `--mode rpc`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly answerDialog?: (request: RpcRecord) => DialogAnswer | undefined;
}

export interface PiRpc {
  readonly pid: number;
  /** Everything that Pi printed, in order. */
  readonly records: readonly RpcRecord[];
  /** Standard error so far. */
  errors(): string;
  send(command: object): void;
  /** Sends a command and waits for its response; rejects on `success: false`. */
  request(command: RpcRecord): Promise<RpcRecord>;
  /** The first record, also of those already there, that fits. */
  waitFor(fits: (record: RpcRecord) => boolean, limitMs?: number): Promise<RpcRecord>;
  /** Prompts and waits until Pi has nothing left to do. */
  prompt(message: string, limitMs?: number): Promise<void>;
  /** Ends the input and waits; kills after `limitMs`. Idempotent. */
  close(
    limitMs?: number,
  ): Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

const LIMIT_MS = 30_000;

interface Waiter {
  readonly fits: (record: RpcRecord) => boolean;
  readonly resolve: (record: RpcRecord) => void;
  readonly reject: (error: Error) => void;
}

export async function startPiRpc(options: PiRpcOptions): Promise<PiRpc> {
  const { pi, isolated, args = [], answerDialog } = options;
  const child = spawn(pi.node, [pi.cli, '--mode', 'rpc', ...args], {
    cwd: isolated.workDir,
    env: { ...isolated.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C reaches whoever started it, and Pi in rpc mode would die of it
    // without a word to its extensions.
    detached: true,
  });
  const exited = new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (code, signal) => resolve([code, signal]));
  });
  const records: RpcRecord[] = [];
  const waiters = new Set<Waiter>();
  let errors = '';
  let rest = '';
  let requests = 0;

  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    // Line feeds only: a JSON string may hold U+2028, at which readline splits too.
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') take(recordSchema.parse(JSON.parse(line)));
  });
  await once(child, 'spawn');
  child.once('close', (code, signal) => {
    const how = signal ?? `code ${code}`;
    for (const waiter of waiters) waiter.reject(new Error(`Pi ended with ${how}.\n${errors}`));
    waiters.clear();
  });

  function take(record: RpcRecord): void {
    records.push(record);
    if (record.type === 'extension_ui_request') {
      const answer = answerDialog?.(record);
      if (answer) send({ type: 'extension_ui_response', id: record['id'], ...answer });
    }
    for (const waiter of waiters) {
      if (!waiter.fits(record)) continue;
      waiters.delete(waiter);
      waiter.resolve(record);
    }
  }

  function send(command: object): void {
    child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  /** Only of records from `start` on. */
  function waitFrom(start: number, fits: Waiter['fits'], limitMs: number): Promise<RpcRecord> {
    const there = records.slice(start).find(fits);
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiters.delete(waiter);
        const seen = records.map(({ type }) => type).join(' ');
        reject(new Error(`Pi did not say it within ${limitMs} ms; it said: ${seen}\n${errors}`));
      }, limitMs);
      const waiter: Waiter = {
        fits,
        resolve(record) {
          clearTimeout(timer);
          resolve(record);
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      waiters.add(waiter);
    });
  }

  async function request(command: RpcRecord): Promise<RpcRecord> {
    const id = `request-${(requests += 1)}`;
    const answered = waitFrom(
      records.length,
      (record) => record.type === 'response' && record['id'] === id,
      LIMIT_MS,
    );
    send({ id, ...command });
    const response = await answered;
    if (response['success'] !== true)
      throw new Error(`${command.type}: ${String(response['error'])}`);
    return response;
  }

  return {
    pid: child.pid ?? 0,
    records,
    errors: () => errors,
    send,
    request,
    waitFor: (fits, limitMs = LIMIT_MS) => waitFrom(0, fits, limitMs),
    async prompt(message, limitMs = LIMIT_MS) {
      const start = records.length;
      await request({ type: 'prompt', message });
      await waitFrom(start, ({ type }) => type === 'agent_settled', limitMs);
    },
    async close(limitMs = 5000) {
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
      const [code, signal] = await exited;
      clearTimeout(timer);
      return { code, signal };
    },
  };
}
