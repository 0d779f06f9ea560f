/** A program in a real terminal: tmux on a socket of its own, its screen read as text. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';

const run = promisify(execFile);

export interface TerminalOptions {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly width?: number;
  readonly height?: number;
}

export interface Terminal {
  /** What is to be seen now, without colours. */
  screen(): Promise<string>;
  /** Waits until a text is to be seen; fails with the screen when it never is. */
  shows(text: string | RegExp): Promise<string>;
  /** Waits until it is to be seen no more. */
  hides(text: string | RegExp): Promise<string>;
  /** Types a line and sends it. */
  enter(line: string): Promise<void>;
  /** Types without sending. */
  type(text: string): Promise<void>;
  /** A key by tmux's name: `Escape`, `Enter`, `C-o`, `Down`. */
  press(key: string): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  close(): Promise<void>;
}

/** Only a hang reaches it. */
const limits = { timeout: 30_000, interval: 100 };

const isSeen = (text: string | RegExp, on: string): boolean =>
  typeof text === 'string' ? on.includes(text) : text.test(on);

export async function openTerminal(options: TerminalOptions): Promise<Terminal> {
  const { argv, cwd, env, width = 100, height = 40 } = options;
  const dir = await mkdtemp(join(tmpdir(), 'sheepfold-tui-'));
  const tmux = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await run('tmux', ['-S', join(dir, 'socket'), '-f', '/dev/null', ...args], {
      env: { ...env },
    });
    return stdout;
  };
  const size = ['-x', String(width), '-y', String(height)];
  const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  await tmux('new-session', '-d', '-s', 'pi', ...size, '-c', cwd, ...variables, '--', ...argv);
  // What it said last stays to be seen.
  await tmux('set-option', '-g', 'remain-on-exit', 'on');

  const screen = (): Promise<string> => tmux('capture-pane', '-p', '-t', 'pi');
  const until = (text: string | RegExp, wanted: boolean): Promise<string> =>
    vi.waitFor(async () => {
      const now = await screen();
      if (isSeen(text, now) !== wanted) {
        throw new Error(`${String(text)} is ${wanted ? 'not' : 'still'} to be seen:\n${now}`);
      }
      return now;
    }, limits);

  return {
    screen,
    shows: (text) => until(text, true),
    hides: (text) => until(text, false),
    async enter(line) {
      await tmux('send-keys', '-t', 'pi', '-l', line);
      await tmux('send-keys', '-t', 'pi', 'Enter');
    },
    async type(text) {
      await tmux('send-keys', '-t', 'pi', '-l', text);
    },
    async press(key) {
      await tmux('send-keys', '-t', 'pi', key);
    },
    async resize(newWidth, newHeight) {
      await tmux('resize-window', '-t', 'pi', '-x', String(newWidth), '-y', String(newHeight));
    },
    async close() {
      await tmux('kill-server').catch(() => undefined);
      await rm(dir, { recursive: true, force: true });
    },
  };
}
