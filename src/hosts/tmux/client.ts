/**
 * Calls tmux, on a server of our own for each session, apart from the user's.
 *
 * TC1. Every call has a deadline; nothing waits for a server that hangs.
 * TC2. The server gets a minimal environment: it keeps what it is started with, and shows it to every pane.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { describeError, HostError } from '../../errors.ts';

const run = promisify(execFile);

export interface TmuxClient {
  /** The `-L` name of the server. */
  readonly socket: string;
  /**
   * Runs a command, or several with `;` between them, and returns what they printed.
   *
   * @throws HostError `host_unavailable` without tmux or in time; `not_found` for anything that tmux
   * refuses, a server that does not run among it.
   */
  call(...args: readonly string[]): Promise<string>;
}

export interface TmuxClientOptions {
  /** Default: `tmux` on the PATH. */
  readonly program?: string | undefined;
  /** Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

/** The server of the session that a launch belongs to; the same in every process. */
export function socketOf(launchDir: string): string {
  const mark = createHash('sha256').update(dirname(launchDir)).digest('hex').slice(0, 8);
  return `sheepfold-${mark}`;
}

export function createTmuxClient(socket: string, options: TmuxClientOptions = {}): TmuxClient {
  const { program = 'tmux', timeoutMs = 10_000 } = options;
  return {
    socket,
    async call(...args) {
      try {
        const { stdout } = await run(
          program,
          ['-L', socket, '-f', '/dev/null', ...args.map(withoutSeparator)],
          { env: serverEnvironment(), timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 },
        );
        return stdout;
      } catch (error) {
        throw tmuxError(error, args[0] ?? '');
      }
    },
  };
}

/** A `;` at the end of an argument would end the command; one that stands alone is meant to. */
function withoutSeparator(argument: string): string {
  return argument.endsWith(';') && argument !== ';' ? `${argument.slice(0, -1)}\\;` : argument;
}

function serverEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR, TMUX_TMPDIR } = process.env;
  return {
    PATH,
    HOME,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    ...(TMUX_TMPDIR === undefined ? {} : { TMUX_TMPDIR }),
  };
}

const failureSchema = z.object({
  code: z.union([z.string(), z.number()]).nullish().catch(undefined),
  killed: z.boolean().optional().catch(undefined),
  stderr: z.string().optional().catch(undefined),
});

function tmuxError(error: unknown, command: string): HostError {
  const { code, killed, stderr } = failureSchema.parse(error);
  if (code === 'ENOENT') {
    return new HostError('host_unavailable', 'tmux is not installed.', { cause: error });
  }
  if (killed === true) {
    return new HostError('host_unavailable', `tmux ${command} did not answer in time.`, {
      cause: error,
      retryable: true,
    });
  }
  const said = stderr?.trim() ?? '';
  return new HostError(
    'not_found',
    `tmux ${command}: ${said === '' ? describeError(error) : said}`,
    {
      cause: error,
    },
  );
}
