/** Pi without a screen: the extension adds nothing to what Pi prints, and its tools work. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { BARE_FLAGS, makeIsolatedPi } from '../support/isolated-pi.ts';
import { roleOf } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const run = promisify(execFile);

/** Runs one prompt to its end, in which the model lists the definitions. */
async function prompt(mode: 'text' | 'json') {
  const model = await startScriptedModel({
    steps: {
      shepherd: [{ toolCalls: [call('shepherd', { action: 'agents' })] }, { text: 'Four.' }],
    },
    route: ({ system }) => roleOf(system),
  });
  const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['m'] });
  onTestFinished(async () => {
    await model.close();
    await isolated.remove();
  });
  const { node, cli } = resolvePi();
  const args = ['-p', '--mode', mode, ...BARE_FLAGS, '-e', packageInfo().dir, 'Which are there?'];
  const running = run(node, [cli, ...args], {
    cwd: isolated.workDir,
    env: isolated.env,
    timeout: 60_000,
  });
  // Pi reads a prompt from there, too.
  running.child.stdin?.end();
  const { stdout } = await running;
  return { stdout, model, isolated };
}

it('prints the answer alone', async () => {
  const { stdout, model } = await prompt('text');

  expect(stdout).toBe('Four.\n');
  expect(model.requests.at(-1)?.last).toContain('- scout (bundled): ');
}, 90_000);

it('prints nothing but JSON in json mode, and leaves no session that anybody owns', async () => {
  const { stdout, isolated } = await prompt('json');

  const types = stdout
    .trimEnd()
    .split('\n')
    .map((line) => z.looseObject({ type: z.string() }).parse(JSON.parse(line)).type);
  expect(types).toContain('tool_execution_end');
  expect(readdirSync(join(isolated.workDir, '.shepherd', 'sessions'))).toHaveLength(2);
}, 90_000);
