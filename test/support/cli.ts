/** Runs a command of the CLI in the test's process, as `main.ts` does. */
import type { Command } from '../../src/cli/command.ts';

export interface Ran {
  readonly code: number;
  readonly lines: readonly string[];
  /** The one document of `--json`. */
  readonly json: () => unknown;
}

export async function runCommand(
  command: Command,
  options: {
    readonly values?: Record<string, unknown>;
    readonly words?: readonly string[];
    /** Epoch ms. Default: the system clock. */
    readonly now?: () => number;
  } = {},
): Promise<Ran> {
  const lines: string[] = [];
  const code = await command.run({
    values: options.values ?? {},
    positionals: options.words ?? [],
    out: (line) => lines.push(line),
    err: (line) => lines.push(line),
    signal: new AbortController().signal,
    now: options.now ?? Date.now,
    columns: 120,
  });
  return { code, lines, json: () => JSON.parse(lines.join('\n')) as unknown };
}
