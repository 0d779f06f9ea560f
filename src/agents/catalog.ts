/**
 * Finds the agent definitions that count here: which directories, in which order, which files.
 *
 * Reads files and nothing else: no cache, no approval, no setting; callers pass those in.
 *
 * A1. The first definition of a name wins: `<agentDir>/agents`, `<home>/.agents/agents`, the nearest
 *     `.pi/agents`, the nearest `.agents/agents`, the bundled directory; in one directory the
 *     earlier file name.
 * A2. A file that cannot be used never hides the others: it is skipped and reported.
 * A3. The content hash is of the very bytes that were parsed.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, ShepherdError } from '../errors.ts';
import type { AgentDefinition, DefinitionSource } from './definition.ts';
import { parseAgent } from './frontmatter.ts';
import { nearestFirst } from './nearest.ts';

/** Whose definitions count besides the bundled ones. */
export type AgentScope = 'user' | 'project' | 'both';

/** A file or directory that could not be used as its author meant. */
export interface AgentProblem {
  readonly path: string;
  /** Names the path as well, so that it can be shown alone. */
  readonly message: string;
}

export interface AgentCatalog {
  /** One definition a name, in order of precedence. */
  readonly agents: readonly AgentDefinition[];
  readonly problems: readonly AgentProblem[];
}

export interface DiscoverAgentsOptions {
  /** Where the search for `.pi/agents` and `.agents/agents` begins; it goes up to the root. */
  readonly cwd: string;
  /** Pi's own directory of the user, `~/.pi/agent` unless moved. */
  readonly agentDir: string;
  readonly homeDir: string;
  readonly scope: AgentScope;
  readonly includeBundled: boolean;
  /** Default: `bundledAgentsDir()`. */
  readonly bundledDir?: string;
}

interface Place {
  readonly directory: string;
  readonly source: DefinitionSource;
}

/**
 * Reads every definition that counts for `cwd` and tells what it could not use.
 *
 * A directory that does not exist is no problem; one that cannot be read is. Hidden files and a
 * README without frontmatter are passed over.
 */
export function discoverAgents(options: DiscoverAgentsOptions): AgentCatalog {
  const agents = new Map<string, AgentDefinition>();
  const problems: AgentProblem[] = [];
  for (const place of places(options)) {
    const found = readDirectory(place);
    problems.push(...found.problems);
    for (const agent of found.agents) {
      if (!agents.has(agent.name)) agents.set(agent.name, agent);
    }
  }
  return { agents: [...agents.values()], problems };
}

/**
 * Returns the definition called exactly `name`, case included.
 *
 * @throws ConfigError `unknown_agent` that lists the names there are, the nearest first, and says so
 * when a file of that name was skipped.
 */
export function findAgent(catalog: AgentCatalog, name: string): AgentDefinition {
  const agent = catalog.agents.find((candidate) => candidate.name === name);
  if (agent) return agent;
  const names = nearestFirst(
    name,
    catalog.agents.map((candidate) => candidate.name),
  );
  const skipped = catalog.problems.filter(({ path }) => basename(path) === `${name}.md`);
  throw new ConfigError(
    'unknown_agent',
    [
      `no agent is called ${JSON.stringify(name)}`,
      names.length > 0 ? `there are ${names.join(', ')}` : 'no definition was found at all',
      ...skipped.map(({ message }) => message),
    ].join('; '),
    { data: { name, names } },
  );
}

/**
 * Returns the `agents` directory of this package, next to `src` or to `dist`.
 *
 * @param moduleUrl the module from whose place the directory is sought; default this one.
 */
export function bundledAgentsDir(moduleUrl: string = import.meta.url): string {
  const fromSources = fileURLToPath(new URL('../../agents', moduleUrl));
  // Built, this module is dist/src/agents/catalog.js: one directory deeper.
  return existsSync(fromSources)
    ? fromSources
    : fileURLToPath(new URL('../../../agents', moduleUrl));
}

function places(options: DiscoverAgentsOptions): readonly Place[] {
  const { scope, includeBundled, bundledDir } = options;
  const users = [join(options.agentDir, 'agents'), join(options.homeDir, '.agents', 'agents')];
  const found: Place[] = [];
  if (scope !== 'project') {
    found.push(...users.map((directory): Place => ({ directory, source: 'user' })));
  }
  if (scope !== 'user') {
    for (const folder of ['.pi', '.agents']) {
      const directory = nearestAncestor(options.cwd, join(folder, 'agents'), users);
      if (directory !== undefined) found.push({ directory, source: 'project' });
    }
  }
  if (includeBundled) {
    found.push({ directory: bundledDir ?? bundledAgentsDir(), source: 'bundled' });
  }
  return found;
}

/**
 * Walks up from `cwd`. The user's own directories are passed over: a project below the home
 * directory would else find `~/.agents/agents` and call it the project's.
 */
function nearestAncestor(
  cwd: string,
  subdirectory: string,
  users: readonly string[],
): string | undefined {
  const own = new Set(users.map(realPath));
  let ancestor = resolve(cwd);
  for (;;) {
    const candidate = join(ancestor, subdirectory);
    if (!isAbsent(candidate) && !own.has(realPath(candidate))) return candidate;
    const parent = dirname(ancestor);
    if (parent === ancestor) return undefined;
    ancestor = parent;
  }
}

function readDirectory({ directory, source }: Place): AgentCatalog {
  if (isAbsent(directory)) return { agents: [], problems: [] };
  let files: readonly string[];
  try {
    files = readdirSync(directory)
      .filter((file) => file.endsWith('.md') && !file.startsWith('.'))
      .toSorted();
  } catch (error) {
    return { agents: [], problems: [problem(directory, error)] };
  }

  const agents = new Map<string, AgentDefinition>();
  const problems: AgentProblem[] = [];
  for (const file of files) {
    const path = join(directory, file);
    try {
      // Anything else that ends in .md is no definition; reading a pipe would wait for ever.
      if (!statSync(path).isFile()) continue;
      const bytes = readFileSync(path);
      const text = decode(bytes, path);
      if (/^readme\.md$/i.test(file) && !/^\uFEFF?---/.test(text)) continue;
      const { definition, warnings } = parseAgent(text, path);
      problems.push(...warnings.map((message) => ({ path, message })));
      const earlier = agents.get(definition.name);
      if (earlier) {
        const taken = `${path}: "${definition.name}" is taken by ${basename(earlier.path)}; skipped`;
        problems.push({ path, message: taken });
        continue;
      }
      const contentHash = createHash('sha256').update(bytes).digest('hex');
      agents.set(definition.name, { ...definition, source, path, contentHash });
    } catch (error) {
      problems.push(problem(path, error));
    }
  }
  return { agents: [...agents.values()], problems };
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigError('invalid_agent', `${path}: the file is not UTF-8; save it as UTF-8`, {
      cause,
      data: { path },
    });
  }
}

function problem(path: string, error: unknown): AgentProblem {
  if (ShepherdError.is(error)) return { path, message: error.message };
  const reason = error instanceof Error ? error.message : String(error);
  return { path, message: `${path}: cannot be read: ${reason}` };
}

/** False where we may not look: the reading that follows says why. */
function isAbsent(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOTDIR';
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Not there, or not for us to see: then only its name can be compared.
    return resolve(path);
  }
}
