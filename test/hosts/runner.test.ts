/** The runner as a terminal host starts it: `node runner.ts <launchDir>` in the pane itself. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  launchPaths,
  type LaunchSpec,
  readExit,
  readStarted,
  writeSpec,
} from '../../src/hosts/launch.ts';
import { describeSelf, writeOwner } from '../../src/hosts/owner.ts';
import { sendSignal } from '../../src/hosts/processes.ts';
import { runnerPath } from '../../src/hosts/runner-path.ts';
import { expectCode } from './host-contract.ts';
import { makeProcessBench, type ProcessBench, processesOf } from './process-bench.ts';
import { until } from './until.ts';

let bench: ProcessBench;
beforeEach(async () => {
  bench = await makeProcessBench();
});
afterEach(() => bench.cleanUp());

/** Starts the runner in terminal mode, with pipes in place of the terminal. */
async function startInTerminal(behaviour: string, more: Partial<LaunchSpec> = {}) {
  const { launchId, launchDir, argv, cwd, env, label } = bench.launchOf(behaviour);
  await mkdir(launchDir);
  await writeSpec(launchDir, {
    v: 1,
    launchId,
    argv: [...argv],
    cwd,
    env: { ...env, TERM: 'parent', HERDR_PANE_ID: 'parent' },
    label,
    mode: 'terminal',
    ...more,
  });
  const runner = spawn(process.execPath, ['--no-warnings', runnerPath(), launchDir], {
    cwd: launchDir,
    env: { TERM: 'pane', TMUX_PANE: '%7', OTHER: 'not passed on' },
    detached: true,
    stdio: 'pipe',
  });
  let output = '';
  runner.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  let complaints = '';
  runner.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const exited = once(runner, 'exit');
  await until('the child is ready', () => output.includes('ready'));
  return { launchDir, runner, exited, output: () => output, complaints: () => complaints };
}

describe('terminal mode', () => {
  it('gives the child the terminal and its exit code to the pane', async () => {
    const { launchDir, runner, exited, output } = await startInTerminal('leave');

    runner.stdin.write('hello\ngo\n');

    expect(await exited).toEqual([0, null]);
    expect(output()).toContain('got hello');
    expect(await readExit(launchDir)).toMatchObject({ code: 0, signal: null });
  });

  it('describes the pane, not the terminal of the parent', async () => {
    const { launchDir, runner, exited, output } = await startInTerminal('environment');

    const env: unknown = JSON.parse(output().split('\n')[0] ?? '');
    expect(env).toMatchObject({ SECRET: 'wool', TERM: 'pane', TMUX_PANE: '%7' });
    expect(env).not.toHaveProperty('OTHER');
    expect(env).not.toHaveProperty('HERDR_PANE_ID');
    expect(await readStarted(launchDir)).toMatchObject({
      runnerPid: runner.pid,
      pgid: runner.pid,
      place: { tmuxPane: '%7' },
    });
    runner.kill('SIGTERM');
    await exited;
  });

  it('survives the hang-up that the child gets itself, and passes SIGTERM on', async () => {
    const { launchDir, runner, exited, output } = await startInTerminal('obey');

    runner.kill('SIGHUP');
    runner.kill('SIGTERM');

    expect(await exited).toEqual([143, null]);
    expect(output()).toContain('bye');
    expect(await readExit(launchDir)).toMatchObject({ code: 143, signal: null });
  });

  it('leaves nothing of the foreground group behind', async () => {
    const { launchDir, exited } = await startInTerminal('stubborn');
    const started = await readStarted(launchDir);

    sendSignal(started?.pid ?? 0, 'SIGKILL');

    expect(await exited).toEqual([137, null]);
    expect(await readExit(launchDir)).toMatchObject({ code: null, signal: 'SIGKILL' });
    // The grandchild in a session of its own is no member of the group: only a close finds it.
    await until('one is left', async () => (await processesOf(bench.root)).length === 1);
    for (const pid of await processesOf(bench.root)) sendSignal(pid, 'SIGKILL');
  });

  it('ends an orphan with all that it started, and outlives it to say so', async () => {
    const ownerFile = join(bench.root, 'owner.json');
    const self = await describeSelf();
    await writeOwner(ownerFile, { v: 1, owner: self, takenAtMs: 1 });
    const { launchDir, exited, complaints } = await startInTerminal('stubborn', {
      ownerFile,
      orphanGraceMs: 300,
    });

    await writeOwner(ownerFile, { v: 1, owner: { ...self, startTime: 1 }, takenAtMs: 2 });

    expect(await exited).toEqual([137, null]);
    expect(await readExit(launchDir)).toMatchObject({ signal: 'SIGKILL', reason: 'orphaned' });
    await until('it says so', () => complaints().includes('has been dead for 300 ms: ending'));
    expect(await processesOf(bench.root)).toEqual([]);
  });
});

it('is the source file outside node_modules, else the built one', async () => {
  const installed = join(bench.root, 'node_modules', 'sheepfold');
  const here = join(installed, 'src', 'hosts', 'runner-path.ts');
  const built = join(installed, 'dist', 'src', 'hosts', 'runner.js');
  await mkdir(join(here, '..'), { recursive: true });
  await writeFile(here, '');

  expect(runnerPath()).toMatch(/src\/hosts\/runner\.ts$/);
  expect(() => runnerPath(here)).toThrow(expectCode('host_unavailable'));
  await mkdir(join(built, '..'), { recursive: true });
  await writeFile(built, '');
  await writeFile(join(built, '..', 'runner-path.js'), '');
  expect(runnerPath(here)).toBe(built);
  expect(runnerPath(join(built, '..', 'runner-path.js'))).toBe(built);
});

it('refuses a directory without a launch', async () => {
  const runner = spawn(process.execPath, ['--no-warnings', runnerPath(), bench.root], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const complaint = once(runner.stderr.setEncoding('utf8'), 'data');

  expect(await once(runner, 'exit')).toEqual([1, null]);
  expect((await complaint)[0]).toContain('no spec.json');
  expect(await readExit(bench.root)).toBeUndefined();
  expect(launchPaths(bench.root).claim).toBe(join(bench.root, 'claim.json'));
});
