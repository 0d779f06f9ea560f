/** Our extension given twice to one real Pi: a second copy is refused before anything of it runs. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { BARE_FLAGS, makeIsolatedPi } from '../support/isolated-pi.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const ours = packageInfo().dir;

async function setUp() {
  const model = await startScriptedModel({ steps: { m: [{ text: 'Here.' }] } });
  const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['m'] });
  onTestFinished(async () => {
    await model.close();
    await isolated.remove();
  });
  const { node, cli } = resolvePi();
  return {
    model,
    isolated,
    /** Runs one prompt with these extensions. */
    run: (...extensions: readonly string[]) =>
      new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
        const given = extensions.flatMap((path) => ['-e', path]);
        const { stdin } = execFile(
          node,
          [cli, '-p', '--no-session', ...BARE_FLAGS, ...given, 'Who is there?'],
          { cwd: isolated.workDir, env: isolated.env, timeout: 60_000 },
          (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
        );
        stdin?.end();
      }),
  };
}

it('a copy elsewhere is refused by name, and nothing has begun', async () => {
  const { run, isolated, model } = await setUp();
  const copy = join(isolated.home, 'copy');
  await mkdir(copy);
  for (const part of ['src', 'machines', 'agents', 'package.json']) {
    await cp(join(ours, part), join(copy, part), { recursive: true });
  }
  await symlink(join(ours, 'node_modules'), join(copy, 'node_modules'));

  const { code, stdout, stderr } = await run(ours, copy);

  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/copy\/src\/pi\/parent-extension\.ts": Tool "shepherd_spawn" conflicts/);
  expect(model.requests).toEqual([]);
  expect(existsSync(join(isolated.workDir, '.shepherd'))).toBe(false);
}, 90_000);

it('the same files by two paths are one extension', async () => {
  const { run, isolated, model } = await setUp();
  const link = join(isolated.home, 'link');
  await symlink(ours, link);

  const { code, stdout } = await run(ours, link, join(ours, 'src', 'pi', 'parent-extension.ts'));

  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Here.\n' });
  expect(model.requests).toHaveLength(1);
}, 90_000);
