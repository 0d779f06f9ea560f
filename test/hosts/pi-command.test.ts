import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/agents/definition.ts';
import {
  buildPiCommand,
  childEnvironment,
  type PiCommandOptions,
  resolvePi,
} from '../../src/hosts/pi-command.ts';
import { makeIsolatedPi } from '../support/isolated-pi.ts';
import { expectCode } from './host-contract.ts';

const run = promisify(execFile);

const definition: AgentDefinition = {
  name: 'scout',
  description: 'Looks around.',
  tools: undefined,
  model: undefined,
  thinking: 'default',
  omitSystemPrompt: false,
  omitPiDocumentation: false,
  omitContextFiles: false,
  userInvocable: true,
  body: 'You look around.',
  source: 'bundled',
  path: '/agents/scout.md',
  contentHash: '',
};

function commandFor(
  changes: Partial<AgentDefinition>,
  options: Partial<PiCommandOptions> = {},
): string {
  const command = buildPiCommand({
    pi: { node: 'node', cli: 'cli.js' },
    definition: { ...definition, ...changes },
    childExtension: '/child.ts',
    sessionDir: '/sessions',
    promptFile: '/prompt.md',
    childTools: ['shepherd_message', 'shepherd_done'],
    ...options,
  });
  return command.join(' ');
}

const base = 'node cli.js --mode rpc --session-dir /sessions -e /child.ts';
const prompt = '--append-system-prompt /prompt.md';

describe('buildPiCommand', () => {
  it('adds the body to the prompt and leaves the rest to Pi', () => {
    expect(commandFor({})).toBe(`${base} ${prompt}`);
  });

  it("takes the definition's model, else the inherited one", () => {
    const inherited = { model: 'scripted/parent' };

    expect(commandFor({}, inherited)).toBe(`${base} --model scripted/parent ${prompt}`);
    expect(commandFor({ model: 'own' }, inherited)).toBe(`${base} --model own ${prompt}`);
  });

  it('passes a thinking level', () => {
    expect(commandFor({ thinking: 'high' })).toBe(`${base} --thinking high ${prompt}`);
  });

  it('keeps the child tools allowed, once each', () => {
    expect(commandFor({ tools: ['read', 'shepherd_done'] })).toBe(
      `${base} --tools read,shepherd_done,shepherd_message ${prompt}`,
    );
    expect(commandFor({ tools: [] })).toBe(
      `${base} --tools shepherd_message,shepherd_done ${prompt}`,
    );
  });

  it('adds the child tools to a list that changes the default set', () => {
    expect(commandFor({ tools: ['+grep', '-write'] })).toBe(
      `${base} --tools +grep,-write,+shepherd_message,+shepherd_done ${prompt}`,
    );
  });

  it("replaces Pi's prompt and leaves out context files on request", () => {
    expect(commandFor({ omitSystemPrompt: true, omitContextFiles: true })).toBe(
      `${base} --system-prompt /prompt.md -nc`,
    );
  });

  it('names no prompt file for an empty body', () => {
    expect(commandFor({ body: ' \n' })).toBe(base);
  });
});

describe('childEnvironment', () => {
  it("drops what belongs to the parent's session and names the identity", () => {
    const parent = {
      PATH: '/bin',
      ANTHROPIC_API_KEY: 'kept',
      PI_OFFLINE: '1',
      PI_CODING_AGENT_DIR: '/agent',
      PI_SESSION_ID: 'x',
      PI_SESSION_FILE: 'x',
      PI_PROVIDER: 'x',
      PI_MODEL: 'x',
      PI_REASONING_LEVEL: 'x',
      AI_AGENT: 'pi',
      SHEEPFOLD_CHILD: '/other.json',
      SHEEPFOLD_DEBUG: '1',
      EMPTY: undefined,
    };

    expect(childEnvironment(parent, { identityPath: '/identity.json' })).toEqual({
      PATH: '/bin',
      ANTHROPIC_API_KEY: 'kept',
      PI_OFFLINE: '1',
      PI_CODING_AGENT_DIR: '/agent',
      SHEEPFOLD_CHILD: '/identity.json',
    });
  });
});

describe('resolvePi', () => {
  let root: string;
  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'sheepfold-pi-')));
  });
  afterEach(() => rm(root, { recursive: true }));

  /** Makes a Pi package below `node_modules` of a folder and gives the path of its cli. */
  async function install(folder: string, version: string): Promise<string> {
    const pi = join(root, folder, 'node_modules', '@earendil-works', 'pi-coding-agent');
    await mkdir(join(pi, 'dist'), { recursive: true });
    const manifest = {
      name: '@earendil-works/pi-coding-agent',
      version,
      bin: { pi: 'dist/cli.js' },
    };
    await writeFile(join(pi, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(pi, 'dist', 'cli.js'), '');
    return join(pi, 'dist', 'cli.js');
  }

  it('finds the Pi of this checkout, which knows every flag that is built', async () => {
    const isolated = await makeIsolatedPi({ root, baseUrl: 'http://127.0.0.1:1', models: ['m'] });

    const pi = resolvePi();

    const { stdout } = await run(pi.node, [pi.cli, '--help'], { env: isolated.env });
    const changes = { tools: ['read'], thinking: 'max', omitContextFiles: true } as const;
    const built = [
      commandFor(changes, { model: 'scripted/m' }),
      commandFor({ omitSystemPrompt: true }),
    ];
    const flags = built
      .flatMap((command) => command.split(' '))
      .filter((part) => part.startsWith('-'));
    expect(pi.version).toMatch(/^1\.6\./);
    expect(flags.filter((flag) => !stdout.includes(`${flag} `))).toEqual([]);
  });

  it('takes the Pi that this process is, through a link in a bin folder', async () => {
    const cli = await install('global', '1.6.9');
    await install('project', '1.5.0');
    await symlink(cli, join(root, 'pi'));

    const pi = resolvePi({ script: join(root, 'pi'), from: [join(root, 'project')] });

    expect(pi).toEqual({ node: process.execPath, cli, version: '1.6.9' });
  });

  it('takes the nearest installed package, else the one on PATH', async () => {
    const outer = await install('.', '1.6.1');
    const inner = await install('project', '1.6.2');
    const global = await install('global', '1.6.3');
    await mkdir(join(root, 'bin'));
    await symlink(global, join(root, 'bin', 'pi'));
    const find = (from: string, env = {}) =>
      resolvePi({ script: join(root, 'other.js'), from: [from], env }).cli;

    expect(find(join(root, 'project', 'src'))).toBe(inner);
    expect(find(join(root, 'elsewhere'))).toBe(outer);
    expect(find('/', { PATH: `/nowhere:${join(root, 'bin')}` })).toBe(global);
  });

  it('says what to install when there is none', () => {
    const nowhere = { script: '/no.js', from: ['/'], env: {} };

    expect(() => resolvePi(nowhere)).toThrow(expectCode('launch_failed'));
    expect(() => resolvePi(nowhere)).toThrow(/npm install -g @earendil-works\/pi-coding-agent/);
  });

  it('refuses a Node that cannot run Pi', () => {
    expect(() => resolvePi({ nodeVersion: '20.20.2' })).toThrow(expectCode('unsupported_node'));
    expect(() => resolvePi({ nodeVersion: '22.18.0' })).toThrow(expectCode('unsupported_node'));
    expect(resolvePi({ nodeVersion: '22.19.0' }).cli).toContain('pi-coding-agent');
  });
});
