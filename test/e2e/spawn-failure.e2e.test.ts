/** Children that never come up, on each host: the spawn fails with what they showed, and nothing is left. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHerdrHost } from '../../src/hosts/herdr/host.ts';
import type { AgentHost } from '../../src/hosts/host.ts';
import { readStarted } from '../../src/hosts/launch.ts';
import { createProcessHost } from '../../src/hosts/process.ts';
import { createTmuxClient, socketOf } from '../../src/hosts/tmux/client.ts';
import { createTmuxHost } from '../../src/hosts/tmux/host.ts';
import { startFakeHerdr, type FakeHerdr } from '../hosts/herdr/fake-herdr.ts';
import { limits, openPiChildren, type Argv, type PiChildren } from '../support/pi-children.ts';
import { isAlive } from '../support/pi-project.ts';
import { hasTmux } from '../tui/has-tmux.ts';

const run = promisify(execFile);
const kinds = ['process', 'tmux', 'herdr'] as const;

let herdr: FakeHerdr | undefined;
let children: PiChildren | undefined;
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sheepfold-spawn-'));
});
afterEach(async () => {
  const sessionDir = children?.shepherd.sessionDir;
  await children?.close();
  if (sessionDir !== undefined) {
    const { socket } = createTmuxClient(socketOf(join(sessionDir, 'launch', 'any')));
    await run('tmux', ['-L', socket, 'kill-server']).catch(() => undefined);
  }
  await herdr?.stop();
  children = undefined;
  herdr = undefined;
  await rm(dir, { recursive: true });
}, 60_000);

async function hostOf(kind: (typeof kinds)[number]): Promise<AgentHost> {
  if (kind === 'process') return createProcessHost();
  if (kind === 'tmux') return createTmuxHost();
  herdr = await startFakeHerdr();
  return createHerdrHost({ env: herdr.env });
}

/** Spawns scout with another command line; returns how that failed. */
async function failure(
  kind: (typeof kinds)[number],
  makeArgv: (argv: Argv) => Argv,
  spawnTimeoutMs = 20_000,
): Promise<unknown> {
  children = await openPiChildren({ spawnTimeoutMs }, { host: await hostOf(kind), makeArgv });
  const { shepherd } = children;
  const failed: unknown = await shepherd
    .spawn({ agent: 'scout', label: 'survey' })
    .catch((error: unknown) => error);
  await vi.waitFor(async () => {
    const launches = await readdir(join(shepherd.sessionDir, 'launch'));
    expect(launches).toHaveLength(1);
    const started = await readStarted(join(shepherd.sessionDir, 'launch', launches[0] ?? ''));
    expect(started !== undefined && isAlive(started.pid)).toBe(false);
  }, limits);
  expect(shepherd.agents()).toMatchObject([{ state: 'failed' }]);
  return failed;
}

describe.skipIf(!hasTmux).each(kinds)('on %s, a child', (kind) => {
  it('whose model there is not', async () => {
    const failed = await failure(kind, (argv) => [...argv, '--model', 'nowhere/wolf']);
    expect(failed).toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('wolf') as string,
    });
  }, 90_000);

  it('whose Pi there is not', async () => {
    const failed = await failure(kind, ([node, , ...args]) => [
      node,
      join(dir, 'no-pi', 'cli.js'),
      ...args,
    ]);
    expect(failed).toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('Cannot find module') as string,
    });
  }, 90_000);

  it('whose extension throws', async () => {
    const extension = join(dir, 'throws.ts');
    await writeFile(extension, "export default () => { throw new Error('no wool today'); };\n");
    const failed = await failure(kind, (argv) => [...argv, '-e', extension]);
    expect(failed).toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('no wool today') as string,
    });
  }, 90_000);

  it('that never says hello', async () => {
    const failed = await failure(
      kind,
      ([node]) => [node, '-e', "console.log('grazing'); setInterval(() => {}, 1e6)"],
      3_000,
    );
    expect(failed).toMatchObject({ code: 'spawn_deadline' });
  }, 90_000);
});
