/** Finds the installed Pi and writes the command line and environment of a child Pi session. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { AgentDefinition } from '../agents/definition.ts';
import { ConfigError, HostError } from '../errors.ts';

const PI_PACKAGE = '@earendil-works/pi-coding-agent';
/** Pi 1.6's own floor; older ones lack `node:module` enableCompileCache or type stripping. */
const MIN_NODE = [22, 19] as const;

/** How to start Pi: `node cli …`. */
export interface PiInstall {
  readonly node: string;
  readonly cli: string;
  readonly version: string;
}

export interface ResolvePiOptions {
  /** Where `PATH` is looked up. Default: this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The script this process runs. Default: `process.argv[1]`. */
  readonly script?: string | undefined;
  /** Folders from which `node_modules` are looked for. Default: this file's folder, then the cwd. */
  readonly from?: readonly string[] | undefined;
  /** Default: the version of this Node. */
  readonly nodeVersion?: string | undefined;
}

/**
 * Finds Pi: the one this process is, else the nearest installed package, else the one on `PATH`.
 *
 * @throws ConfigError `unsupported_node`, HostError `launch_failed` when no Pi is installed.
 */
export function resolvePi(options: ResolvePiOptions = {}): PiInstall {
  const env = options.env ?? process.env;
  const script = options.script ?? process.argv[1];
  const from = options.from ?? [dirname(fileURLToPath(import.meta.url)), process.cwd()];
  checkNode(options.nodeVersion ?? process.versions.node);

  const found =
    (script === undefined ? undefined : piAround(script)) ??
    firstOf(from.flatMap(ancestorsOf), (folder) =>
      readPiPackage(join(folder, 'node_modules', PI_PACKAGE)),
    ) ??
    firstOf((env['PATH'] ?? '').split(delimiter), (folder) => piAround(join(folder, 'pi')));
  if (found !== undefined) return { node: process.execPath, ...found };
  throw new HostError(
    'launch_failed',
    `found no Pi: not in node_modules of ${from.join(' or ')}, no npm-installed pi on PATH; install it with: npm install -g ${PI_PACKAGE}`,
  );
}

export interface PiCommandOptions {
  readonly pi: Pick<PiInstall, 'node' | 'cli'>;
  readonly definition: AgentDefinition;
  /** Path of the child extension. */
  readonly childExtension: string;
  readonly sessionDir: string;
  /** A file that holds the definition's body. */
  readonly promptFile: string;
  /** Names of the child extension's tools: they stay allowed whatever the definition allows. */
  readonly childTools: readonly string[];
  /** `provider/model` of the Shepherd, for definitions that name none. */
  readonly model?: string | undefined;
  /** It gets a terminal, with Pi's own screen. Default: it reads records. */
  readonly inTerminal?: boolean | undefined;
}

/** The command line of a child; paths must be absolute. */
export function buildPiCommand(options: PiCommandOptions): readonly [string, ...string[]] {
  const { pi, definition, childTools } = options;
  const model = definition.model ?? options.model;
  const mode = options.inTerminal === true ? [] : ['--mode', 'rpc'];
  const args = [...mode, '--session-dir', options.sessionDir, '-e', options.childExtension];
  if (model !== undefined) args.push('--model', model);
  if (definition.thinking !== 'default') args.push('--thinking', definition.thinking);
  if (definition.tools !== undefined) {
    args.push('--tools', allowTools(definition.tools, childTools).join(','));
  }
  // Pi takes an empty file for no prompt at all and would fall back to its own.
  if (definition.body.trim() !== '') {
    const flag = definition.omitSystemPrompt ? '--system-prompt' : '--append-system-prompt';
    args.push(flag, options.promptFile);
  }
  if (definition.omitContextFiles) args.push('-nc');
  return [pi.node, pi.cli, ...args];
}

/**
 * The definition's allow-list with the child tools in it.
 *
 * A list of only `+name` and `-name` changes Pi's default set instead of replacing it, and Pi refuses a
 * mix, so there the child tools take a plus too.
 */
function allowTools(tools: readonly string[], childTools: readonly string[]): string[] {
  const changesDefault = tools.length > 0 && tools.every((tool) => /^[+-]/.test(tool));
  const ours = childTools.map((tool) => (changesDefault ? `+${tool}` : tool));
  return [...new Set([...tools, ...ours])];
}

/** Set by Pi for one session's shell commands, or by us for one child: never passed on. */
const PER_SESSION =
  /^(?:PI_SESSION_ID|PI_SESSION_FILE|PI_PROVIDER|PI_MODEL|PI_REASONING_LEVEL|AI_AGENT|SHEEPFOLD_.*)$/;

/** The parent's environment for a child whose identity lies in the 0600 file `identityPath`. */
export function childEnvironment(
  parentEnv: Readonly<Record<string, string | undefined>>,
  { identityPath }: { readonly identityPath: string },
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(parentEnv)) {
    if (value !== undefined && !PER_SESSION.test(name)) env[name] = value;
  }
  env['SHEEPFOLD_CHILD'] = identityPath;
  return env;
}

function checkNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [minMajor, minMinor] = MIN_NODE;
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return;
  throw new ConfigError(
    'unsupported_node',
    `Node ${version} cannot run Pi children; Node ${MIN_NODE.join('.')} or later can`,
  );
}

const piPackageSchema = z.looseObject({
  name: z.literal(PI_PACKAGE),
  version: z.string(),
  bin: z.looseObject({ pi: z.string() }),
});

type FoundPi = Pick<PiInstall, 'cli' | 'version'>;

function readPiPackage(folder: string): FoundPi | undefined {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return undefined;
  const manifest = piPackageSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!manifest.success) return undefined;
  const { version, bin } = manifest.data;
  return { cli: join(folder, bin.pi), version };
}

/** The Pi package that a script belongs to, through links as npm makes them in its bin folders. */
function piAround(script: string): FoundPi | undefined {
  if (!existsSync(script)) return undefined;
  return firstOf(ancestorsOf(dirname(realpathSync(script))), readPiPackage);
}

function ancestorsOf(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...ancestorsOf(parent)];
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
