/** What a command of the CLI is; one file each in `commands/`. */
import type { ParseArgsOptionsConfig } from 'node:util';

export interface CommandContext {
  readonly values: Readonly<Record<string, unknown>>;
  /** Words after the command; empty unless the command declares them. */
  readonly positionals: readonly string[];
  /** Writes a line to standard output. */
  readonly out: (line: string) => void;
  /** Writes a line to standard error. */
  readonly err: (line: string) => void;
  /** Aborted by SIGINT and SIGTERM: a command ends what it started. */
  readonly signal: AbortSignal;
  /** Epoch ms. */
  readonly now: () => number;
  /** Width of the terminal; undefined where output goes elsewhere. */
  readonly columns: number | undefined;
}

export interface Command {
  /** One line for `sheepfold help`. */
  readonly summary: string;
  readonly options: ParseArgsOptionsConfig;
  /** Further lines for its `--help`. */
  readonly details?: readonly string[];
  /** How its words are written in the usage, `<what> [id]`. Default: it takes none. */
  readonly positionals?: string;
  /** A failure is a line of JSON on standard output, too: `{ ok: false, error, usage }`. */
  readonly errorsAsJson?: boolean;
  /** Returns the exit code. */
  run(context: CommandContext): Promise<number>;
}
