#!/usr/bin/env node
/** The `sheepfold` command: argv in, exit code out. Only the command that is asked for is loaded. */
import { parseArgs } from 'node:util';
import { ConfigError, describeError } from '../errors.ts';
import type { Command } from './command.ts';
import { packageInfo } from './package-dir.ts';

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./commands/demo.ts')).demo,
  sessions: async () => (await import('./commands/sessions.ts')).sessions,
  status: async () => (await import('./commands/status.ts')).status,
  stalls: async () => (await import('./commands/stalls.ts')).stalls,
  'detect-stall': async () => (await import('./commands/detect-stall.ts')).detectStall,
  inspect: async () => (await import('./commands/inspect.ts')).inspect,
  attach: async () => (await import('./commands/attach.ts')).attach,
  interrupt: async () => (await import('./commands/interrupt.ts')).interrupt,
  mailbox: async () => (await import('./commands/mailbox.ts')).mailbox,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
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
      return `  ${name.padEnd(13)} ${summary}`;
    }),
  );
  return [
    'Usage: sheepfold <command> [options]',
    '',
    ...rows,
    '',
    'Each takes --json and --help; sheepfold --version prints the version.',
  ].join('\n');
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
  try {
    return await runCommand(name, command, rest);
  } catch (error) {
    if (command.errorsAsJson !== true) throw error;
    const message = describeError(error);
    out(JSON.stringify({ ok: false, error: message, usage: usageOf(name, command) }));
    err(`sheepfold: ${message}`);
    return 1;
  }
}

async function runCommand(name: string, command: Command, rest: string[]): Promise<number> {
  const aborting = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => aborting.abort(new Error(`ended by ${signal}`)));
  }
  const { values, positionals } = parse(name, command, rest);
  if (values['help'] === true) {
    const lines = [
      `${usageOf(name, command)}\n\n${command.summary}\n`,
      `Options: ${optionsOf(command)}`,
    ];
    out([...lines, ...(command.details ?? [])].join('\n'));
    return 0;
  }
  if (positionals.length > 0 && command.positionals === undefined) {
    throw new ConfigError(
      'invalid_argument',
      `sheepfold ${name} takes no "${positionals.join(' ')}"; it takes ${optionsOf(command)}.`,
    );
  }
  return command.run({
    values,
    positionals,
    out,
    err,
    signal: aborting.signal,
    now: Date.now,
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  });
}

function parse(name: string, command: Command, args: string[]) {
  try {
    const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
    const { tokens, ...parsed } = parseArgs({
      args,
      options,
      allowPositionals: true,
      tokens: true,
    });
    const named = tokens.flatMap((token) => (token.kind === 'option' ? token.name : []));
    const twice = named.find((option, index) => named.indexOf(option) < index);
    if (twice !== undefined) throw new Error(`--${twice} is given more than once`);
    return parsed;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError('invalid_argument', `sheepfold ${name}: ${reason}`, { cause });
  }
}

function usageOf(name: string, { positionals }: Command): string {
  return `Usage: sheepfold ${name}${positionals === undefined ? '' : ` ${positionals}`} [options]`;
}

function optionsOf(command: Command): string {
  return [...Object.keys(command.options), 'help'].map((option) => `--${option}`).join(' ');
}

// A reader that has seen enough (`| head`) is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') err(`sheepfold: cannot write: ${error.message}`);
  process.exitCode = error.code === 'EPIPE' ? 0 : 1;
});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // What a signal ends has ended what it started; the signal is the reason, not the abort.
  const reason = error instanceof Error && error.name === 'AbortError' ? error.cause : error;
  err(`sheepfold: ${describeError(reason)}`);
  process.exitCode = 1;
}
