/** The package as users get it: into Pi, into a TypeScript project, and twice into one process. */
import { execFile } from 'node:child_process';
import { access, cp, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { doctorReportSchema } from '../../src/cli/doctor/report.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { makeIsolatedPi, type IsolatedPi } from '../support/isolated-pi.ts';
import type * as api from '../../src/index.ts';
import { npmSettings, packPackage, repository, type PackedPackage } from '../support/package.ts';
import { roleOf } from '../support/pi-children.ts';
import { startPiRpc } from '../support/pi-rpc.ts';
import { call } from '../support/pi-shepherd.ts';
import { startScriptedModel, type ModelStep } from '../support/scripted-model.ts';

const run = promisify(execFile);

let packed: PackedPackage;
/** A project with the package from the tarball. */
let project: string;
let installed: string;
beforeAll(async () => {
  packed = await packPackage();
  project = await packed.install('project', ['@types/node']);
  installed = join(project, 'node_modules', 'sheepfold');
}, 180_000);
afterAll(() => packed.remove());

describe('the tarball', () => {
  it('has what its manifest names, and no tests', async () => {
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
      exports: Record<string, string | Record<string, string>>;
      pi: { extensions: string[] };
    };
    const named = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((entry) =>
        typeof entry === 'string' ? entry : Object.values(entry),
      ),
      ...manifest.pi.extensions,
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'agents/scout.md',
      'docs/mailbox.md',
      'examples/headless.ts',
      'src/hosts/runner.ts',
    ];

    await Promise.all(named.map((file) => access(join(installed, file))));
    for (const absent of ['test', 'dist/test', 'node_modules', 'tsconfig.json']) {
      await expect(access(join(installed, absent))).rejects.toThrow('ENOENT');
    }
  });

  it('brings the command', async () => {
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
      version: string;
    };

    const { stdout } = await run(
      join(project, 'node_modules', '.bin', 'sheepfold'),
      ['--version'],
      {
        env: { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin` },
      },
    );

    expect(stdout.trim()).toBe(version);
  });
});

const hello: readonly ModelStep[] = [{ text: 'Hello.' }];

const spawnScout: readonly ModelStep[] = [
  { toolCalls: [call('shepherd_spawn', { agent: 'scout', label: 'survey' })] },
  { text: 'It is there.' },
];

/** What Pi needs to use the script, and npm to use the registry. */
async function openPi(shepherd: readonly ModelStep[]) {
  const model = await startScriptedModel({
    steps: { shepherd },
    route: ({ system }) => roleOf(system),
  });
  const isolated = await makeIsolatedPi({
    baseUrl: model.baseUrl,
    models: ['m'],
    env: npmSettings(packed.dir, packed.registry),
  });
  onTestFinished(async () => {
    await model.close();
    await isolated.remove();
  });
  return { isolated, model };
}

/** Runs `pi <args>` and returns what it printed. */
async function pi(isolated: IsolatedPi, ...args: readonly string[]): Promise<string> {
  const { node, cli } = resolvePi();
  const { stdout } = await run(node, [cli, ...args], {
    cwd: isolated.workDir,
    env: { ...isolated.env },
    timeout: 100_000,
  });
  return stdout;
}

/** Asks Pi once, with the package loaded as `args` and its settings say. */
async function ask(
  { isolated }: Awaited<ReturnType<typeof openPi>>,
  ...args: readonly string[]
): Promise<void> {
  const rpc = await startPiRpc({ pi: resolvePi(), isolated, args: ['--no-session', ...args] });
  try {
    await rpc.prompt('Spawn a scout.', 60_000);
  } finally {
    await rpc.close(20_000);
  }
  expect(rpc.errors()).toBe('');
}

const packages = async ({ agentDir }: IsolatedPi): Promise<readonly string[]> => {
  const settings = JSON.parse(await readFile(join(agentDir, 'settings.json'), 'utf8')) as {
    packages?: readonly string[];
  };
  return (settings.packages ?? []).map((source) => resolve(agentDir, source));
};

/** The tools of a Shepherd, some of them. */
const parentTools: unknown = expect.arrayContaining(['shepherd_spawn', 'shepherd_watch']);
/** The runner, the child extension and the definition were found: the agent has said hello. */
const ready = 'Agent scout: survey is ready and idle';

describe('Pi', () => {
  it('loads a clone for one session by -e', async () => {
    const home = await openPi(hello);

    await ask(home, '-e', packed.clone);

    expect(home.model.requests.at(-1)?.tools).toEqual(parentTools);
  }, 120_000);

  it('loads the tarball for one session by -e', async () => {
    const home = await openPi(spawnScout);

    await ask(home, '-e', installed);

    expect(home.model.requests.at(-1)?.last).toContain(ready);
  }, 120_000);

  it.each([
    ['a clone', () => packed.clone],
    ['the tarball', () => installed],
  ] as const)(
    'installs %s for every session, and removes it',
    async (_name, dir) => {
      const home = await openPi(hello);

      await pi(home.isolated, 'install', dir());
      const before = await packages(home.isolated);
      await ask(home);
      await pi(home.isolated, 'remove', dir());

      expect(home.model.requests.at(-1)?.tools).toEqual(parentTools);
      expect(before).toEqual([dir()]);
      expect(await packages(home.isolated)).toEqual([]);
    },
    120_000,
  );

  it('installs it by its name from a registry', async () => {
    const home = await openPi(spawnScout);

    await pi(home.isolated, 'install', 'npm:sheepfold');
    await ask(home);

    expect(home.model.requests.at(-1)?.last).toContain(ready);
  }, 120_000);
});

describe('a TypeScript project', () => {
  const entries = `
import * as api from 'sheepfold';
import { taskMachine, sessionMachine } from 'sheepfold/machines';
import { resolveWorkflowConfig } from 'sheepfold/stall';
import manifest from 'sheepfold/package.json' with { type: 'json' };

export const options: api.ShepherdOptions = {
  host: api.createMemoryHost(),
  wall: () => 0,
  inspect: (event) => void event.type,
  notify: (notice: api.Notice) => Promise.resolve(void notice.kind),
};
export async function lead(shepherd: api.Shepherd): Promise<api.TaskResult> {
  const { taskId } = await shepherd.delegate({ target: 'scout', task: 'Look.' });
  const status: api.TaskStatus = shepherd.task(taskId);
  const messages: readonly api.MessageStatus[] = shepherd.messages(status.id);
  void messages;
  // @ts-expect-error -- there is no such option
  await shepherd.delegate({ target: 'scout', task: 'Look.', deadline: 1 });
  return shepherd.settled(taskId);
}
export function codeOf(error: unknown): api.ShepherdErrorCode | undefined {
  return api.ShepherdError.is(error) ? error.code : undefined;
}
export const all = [taskMachine, sessionMachine, resolveWorkflowConfig, manifest.version];
`;

  it('type-checks against it, with what the README shows and the examples', async () => {
    const readme = await readFile(join(repository, 'README.md'), 'utf8');
    const shown = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
    expect(shown.length).toBeGreaterThan(0);
    for (const [index, code] of shown.entries()) {
      await writeFile(join(project, `readme-${index}.ts`), code);
    }
    await writeFile(join(project, 'entries.ts'), entries);
    for (const name of ['headless.ts', 'headless-child.ts']) {
      await cp(join(repository, 'examples', name), join(project, name));
    }
    await writeFile(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'es2023',
          strict: true,
          noUncheckedIndexedAccess: true,
          // Our declarations too. XState's own break under exactOptionalPropertyTypes.
          skipLibCheck: false,
          noEmit: true,
          types: ['node'],
        },
        include: ['*.ts'],
      }),
    );

    const checked = run(
      process.execPath,
      [join(repository, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project],
      { cwd: project },
    );

    await expect(checked).resolves.toMatchObject({ stdout: '' });
  }, 120_000);
});

type Api = typeof api;

async function load(root: string): Promise<Api> {
  const entry = join(root, 'node_modules', 'sheepfold', 'dist', 'src', 'index.js');
  return (await import(pathToFileURL(entry).href)) as Api;
}

/** A session of a copy, with agents that load the same copy. */
async function open(api: Api, root: string, sessionKey: string) {
  const child = join(root, 'headless-child.ts');
  await cp(join(repository, 'examples', 'headless-child.ts'), child);
  const shepherd = await api.createShepherd({
    // One project for both: what they share is the directory, not a session.
    cwd: project,
    sessionKey,
    makeCommand: ({ identityPath }) => ({
      argv: [process.execPath, child],
      env: { SHEEPFOLD_CHILD: identityPath },
    }),
    notify: async ({ details }) => {
      if (details['expectsReply'] !== true) return;
      await shepherd.message({
        target: String(details['senderId']),
        replyTo: String(details['messageId']),
        message: `Says ${sessionKey}.`,
      });
    },
  });
  onTestFinished(() => shepherd.dispose());
  return shepherd;
}

describe('two copies in one process', () => {
  it('lead their sessions, and know the errors of each other', async () => {
    const other = join(packed.dir, 'other');
    await cp(project, other, { recursive: true });
    const [one, two] = await Promise.all([load(project), load(other)]);
    expect(one.createShepherd).not.toBe(two.createShepherd);

    const first = await open(one, project, 'one');
    const second = await open(two, other, 'two');
    const results = await Promise.all(
      [first, second].map(async (shepherd) => {
        await shepherd.spawn({ agent: 'scout', label: 'survey' });
        const { taskId } = await shepherd.delegate({ target: 'survey', task: 'Look.' });
        return shepherd.settled(taskId);
      }),
    );

    expect(results.map(({ summary }) => summary)).toEqual([
      'Begin at the gate. Says one.',
      'Begin at the gate. Says two.',
    ]);
    const unknown = thrownBy(() => first.task(results[1]?.taskId ?? ''));
    expect(unknown).not.toBeInstanceOf(two.ShepherdError);
    expect(two.ShepherdError.is(unknown) && unknown.code).toBe('unknown_task');
    const taken = await two.createShepherd({ cwd: project, sessionKey: 'one' }).catch(identity);
    expect(one.ShepherdError.is(taken) && taken.code).toBe('session_owned');

    await first.dispose();

    expect(second.status('survey').state).toBe('idle');
    expect(one.ShepherdError.is(thrownBy(() => first.agents()))).toBe(true);
  }, 120_000);
});

const identity = (error: unknown): unknown => error;

function thrownBy(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The first other Node on the PATH: below an `npm test`, the one outside of this repository. */
async function systemNode(): Promise<{ readonly node: string; readonly version: string }> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const node = join(folder, 'node');
    const { stdout } = await run(node, ['--version']).catch(() => ({ stdout: '' }));
    const version = stdout.trim().replace(/^v/, '');
    if (version !== '' && version !== process.versions.node) return { node, version };
  }
  return { node: process.execPath, version: process.versions.node };
}

describe("doctor on the system's own Node", () => {
  it('runs, and says what is needed where it is too old', async () => {
    const { node, version } = await systemNode();
    const main = join(installed, 'dist', 'src', 'cli', 'main.js');
    const env = { PATH: '/usr/bin:/bin', HOME: packed.dir };

    const args = [main, 'doctor', '--json', '--dir', packed.dir];
    const { stdout, code } = await run(node, args, { env, cwd: packed.dir }).then(
      (done) => ({ ...done, code: 0 }),
      (error: { stdout: string; code: number }) => error,
    );

    const report = doctorReportSchema.parse(JSON.parse(stdout));
    const [checked] = report.checks;
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const isOld = major < 22 || (major === 22 && minor < 19);
    expect(checked).toMatchObject({ about: 'node', status: isOld ? 'fail' : 'ok' });
    expect(checked?.message).toContain(version);
    expect(checked?.fix ?? '').toContain(isOld ? 'Install Node 22.19 or later' : '');
    expect(code).toBe(report.ok ? 0 : 1);
  });

  it('shows its help there', async () => {
    const { node } = await systemNode();

    const { stdout } = await run(node, [join(installed, 'dist', 'src', 'cli', 'main.js'), 'help']);

    expect(stdout).toContain('doctor');
  });
});
