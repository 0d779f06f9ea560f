/** The examples as a reader runs them: against the package that npm installs, without the network. */
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { makeIsolatedPi } from '../support/isolated-pi.ts';
import { packPackage, repository, type PackedPackage } from '../support/package.ts';
import { roleOf } from '../support/pi-children.ts';
import { startPiRpc, type PiRpc } from '../support/pi-rpc.ts';
import { call } from '../support/pi-shepherd.ts';
import {
  startScriptedModel,
  type ModelStep,
  type ScriptedModel,
} from '../support/scripted-model.ts';

const run = promisify(execFile);

let packed: PackedPackage;
/** A project with the package, and with the examples in it. */
let project: string;
beforeAll(async () => {
  packed = await packPackage();
  project = await packed.install('project');
  await cp(join(repository, 'examples'), project, { recursive: true });
}, 180_000);
afterAll(() => packed.remove());

/** A model that answers each agent by its role, and a home for Pi that uses it. */
async function openHome(
  steps: Readonly<Record<string, readonly ModelStep[]>>,
  packages: readonly string[] = [],
) {
  const model = await startScriptedModel({ steps, route: ({ system }) => roleOf(system) });
  const isolated = await makeIsolatedPi({
    baseUrl: model.baseUrl,
    models: ['m'],
    settings: { packages },
  });
  onTestFinished(async () => {
    await model.close();
    await isolated.remove();
  });
  return { model, isolated };
}

const done = (summary: string): ModelStep => ({
  toolCalls: [call('shepherd_done', { status: 'completed', summary })],
});

async function headless(args: readonly string[], env: Readonly<Record<string, string>>) {
  const PATH = [join(repository, 'node_modules', '.bin'), env['PATH'] ?? ''].join(delimiter);
  const { stdout } = await run(process.execPath, ['headless.ts', ...args], {
    cwd: project,
    env: { ...env, PATH },
    timeout: 100_000,
  });
  return stdout.trim().split('\n');
}

describe('headless.ts', () => {
  it('leads an agent without a model to the end of its task', async () => {
    const lines = await headless([], { PATH: process.env['PATH'] ?? '', HOME: packed.dir });

    expect(lines).toContain('host: opens scout: survey');
    expect(lines).toContain('shepherd: answers a question');
    expect(lines.filter((line) => line.startsWith('task: '))).toEqual([
      'task: created',
      'task: running',
      'task: waiting',
      'task: running',
      'task: completed',
    ]);
    expect(lines).toContain('result: completed: Begin at the gate. The north one.');
    expect(lines.at(-1)).toMatch(/^inspect: [1-9]\d* actors lived$/);
  }, 120_000);

  it('leads a real Pi session', async () => {
    const { isolated, model } = await openHome({
      scout: [
        {
          toolCalls: [
            call('shepherd_message', {
              target: 'shepherd',
              message: 'Which gate?',
              expectsReply: true,
            }),
          ],
        },
        { text: 'I wait for the answer.' },
        done('Begin at the north gate.'),
      ],
    });

    const lines = await headless(['--pi'], isolated.env);

    expect(lines).toContain('task: waiting');
    expect(lines).toContain('result: completed: Begin at the north gate.');
    expect(JSON.stringify(model.requests.at(-1))).toContain('The north one.');
  }, 120_000);
});

async function openHomeForAll() {
  const steps: Record<string, readonly ModelStep[]> = {
    shepherd: [
      {
        toolCalls: [
          call('ask_scout', { question: 'Where is the gate?' }),
          call('shepherd_spawn', { agent: 'planner', label: 'plan' }),
        ],
      },
      { text: 'Thank you.' },
    ],
    scout: [done('In the north.')],
  };
  const scripted = await startScriptedModel({ steps, route: ({ system }) => roleOf(system) });
  const isolated = await makeIsolatedPi({
    baseUrl: scripted.baseUrl,
    models: ['m'],
    settings: { packages: [join(project, 'embed-in-extension'), packed.clone] },
  });
  const remove = async () => {
    await scripted.close();
    await isolated.remove();
  };
  return { model: scripted, isolated, remove };
}

describe('embed-in-extension', () => {
  let results: readonly string[];
  let model: ScriptedModel;
  let rpc: PiRpc;

  beforeAll(async () => {
    // Beside Sheepfold's own extension, from a clone: two copies of it in one process.
    const home = await openHomeForAll();
    ({ model } = home);
    rpc = await startPiRpc({ pi: resolvePi(), isolated: home.isolated, args: ['--no-session'] });
    await rpc.prompt('Find out both.', 100_000);
    results = rpc.records.flatMap((record) => {
      const { message } = record as { message?: { role?: string; content?: object } };
      return record.type === 'message_end' && message?.role === 'toolResult'
        ? [JSON.stringify(message.content)]
        : [];
    });
    await rpc.close(20_000);
    await home.remove();
  }, 180_000);

  it('has a scout find the answer, beside the herd of the session itself', () => {
    expect(results).toHaveLength(2);
    expect(results[0]).toContain('In the north.');
    expect(results[1]).toContain('Agent planner: plan is ready and idle');
    expect(rpc.errors()).toBe('');
  });

  it('gives its tool to the session and not to its agents', () => {
    expect(toolsOf(model, 'shepherd')).toEqual(
      expect.arrayContaining(['ask_scout', 'shepherd_spawn']),
    );
    expect(toolsOf(model, 'scout')).toContain('shepherd_done');
    expect(toolsOf(model, 'scout')).not.toContain('ask_scout');
  });

  it('closes its session with the session of Pi', () => {
    expect(rpc.records.filter(({ type }) => type === 'extension_error')).toEqual([]);
  });
});

function toolsOf({ requests }: ScriptedModel, role: string): readonly string[] | undefined {
  return requests.find(({ queue }) => queue === role)?.tools;
}
