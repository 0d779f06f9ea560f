/** What a command of the CLI is; one file each in `commands/`. */
import type { ParseArgsOptionsConfig } from 'node:util';

export interface CommandContext {
  readonly values: Readonly<Record<string, unknown>>;
  /** Writes a line to standard output. */
  readonly out: (line: string) => void;
  /** Writes a line to standard error. */
  readonly err: (line: string) => void;
  /** Aborted by SIGINT and SIGTERM: a command ends what it started. */
  readonly signal: AbortSignal;
}

export interface Command {
  /** One line for `sheepfold help`. */
  readonly summary: string;
  readonly options: ParseArgsOptionsConfig;
  /** Returns the exit code. */
  run(context: CommandContext): Promise<number>;
}
