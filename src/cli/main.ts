#!/usr/bin/env node
/** The `sheepfold` command: argv in, exit code out. Only the command that is asked for is loaded. */
import { parseArgs } from 'node:util';
import { ConfigError, describeError } from '../errors.ts';
import type { Command } from './command.ts';
import { packageInfo } from './package-dir.ts';

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./commands/demo.ts')).demo,
};

function out(line: string): void {
  process.stdout.write(`${line}\n`);
}

function err(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function help(): Promise<string> {
  const rows = await Promise.all(
    Object.entries(commands).map(async ([name, load]) => {
      const { summary } = await load();
      return `  ${name.padEnd(12)} ${summary}`;
    }),
  );
  return ['Usage: sheepfold <command> [options]', '', ...rows, '', 'Each takes --json.'].join('\n');
}

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version' || name === '-v') {
    out(packageInfo().version);
    return 0;
  }
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    out(await help());
    return name === undefined ? 1 : 0;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) {
    throw new ConfigError(
      'invalid_argument',
      `There is no command "${name}"; there is ${Object.keys(commands).join(', ')}.`,
    );
  }
  const command = await load();
  const aborting = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => aborting.abort(new Error(`ended by ${signal}`)));
  }
  const { values, positionals } = parse(name, command, rest);
  return command.run({ values, positionals, out, err, signal: aborting.signal });
}

function parse(name: string, command: Command, args: string[]) {
  try {
    return parseArgs({ args, options: command.options, allowPositionals: true });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError('invalid_argument', `sheepfold ${name}: ${reason}`, { cause });
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  err(`sheepfold: ${describeError(error)}`);
  process.exitCode = 1;
}
