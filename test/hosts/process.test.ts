import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { AgentHost, Launch, PlaceRef } from '../../src/hosts/host.ts';
import {
  claimLaunch,
  launchPaths,
  readDialogs,
  readExit,
  readSpec,
  readStarted,
} from '../../src/hosts/launch.ts';
import { createProcessHost, type ProcessHostOptions } from '../../src/hosts/process.ts';
import { identify, isAlive, sendSignal } from '../../src/hosts/processes.ts';
import { expectCode, listen } from './host-contract.ts';
import { makeProcessBench, type ProcessBench, processesOf } from './process-bench.ts';
import { until } from './until.ts';

let bench: ProcessBench | undefined;
afterEach(async () => {
  await bench?.cleanUp();
  bench = undefined;
});

async function setUp(options?: ProcessHostOptions): Promise<ProcessBench> {
  bench = await makeProcessBench(options);
  return bench;
}

/** Opens one child and waits until it is ready. */
async function openChild(
  behaviour: string,
  options: ProcessHostOptions & { readonly args?: string[] } = {},
): Promise<{ bench: ProcessBench; host: AgentHost; launch: Launch; ref: PlaceRef }> {
  const { args = [], ...hostOptions } = options;
  const made = await setUp(hostOptions);
  const launch = made.launchOf(behaviour, ...args);
  const ref = await made.host.open(launch);
  await made.printed(ref, 'ready');
  return { bench: made, host: made.host, launch, ref };
}

describe('launch directory', () => {
  it('is closed to others, with the whole launch in spec.json', async () => {
    const { launch, ref } = await openChild('obey');

    const paths = launchPaths(ref.launchDir);
    expect((await stat(ref.launchDir)).mode & 0o777).toBe(0o700);
    const files = [paths.spec, paths.started, paths.claim, paths.output, paths.input];
    const modes = await Promise.all(files.map(async (file) => (await stat(file)).mode & 0o777));
    expect(modes).toEqual(files.map(() => 0o600));
    const { launchId, argv, cwd, env, label } = launch;
    expect(await readSpec(ref.launchDir)).toMatchObject({ launchId, argv, cwd, env, label });
  });

  it('names the child by pid, start time and a process group of its own', async () => {
    const { host, ref } = await openChild('obey');

    const started = await readStarted(ref.launchDir);

    expect(started?.pgid).toBe(started?.pid);
    expect(await isAlive({ pid: started?.pid ?? 0, startTime: started?.startTime ?? 0 })).toBe(
      true,
    );
    expect(await isAlive({ pid: started?.pid ?? 0, startTime: 1 })).toBe(false);
    expect(await host.inspect(ref)).toEqual({ presence: 'present', pid: started?.pid });
  });

  it('gives a launch to one runner, and takes over from a dead one that started nothing', async () => {
    const { root } = await setUp();
    const dead = { pid: process.pid, startTime: 1 };
    const living = await identify(process.pid);

    expect(await claimLaunch(root, dead)).toBe(true);
    expect(await claimLaunch(root, living)).toBe(true);
    expect(await claimLaunch(root, living)).toBe(false);
  });

  it('reads missing files as undefined and refuses broken ones as uncertain', async () => {
    const { root, host } = await setUp();
    const ref: PlaceRef = { host: 'process', launchId: 'broken', launchDir: root };

    expect(await readStarted(root)).toBeUndefined();
    expect(await readExit(join(root, 'nowhere'))).toBeUndefined();
    await writeFile(launchPaths(root).started, '{"pid":1}');

    await expect(readStarted(root)).rejects.toEqual(expectCode('uncertain'));
    expect(await host.inspect(ref)).toEqual({ presence: 'unknown' });
    await rm(launchPaths(root).started);
  });
});

describe('child', () => {
  it('gets exactly the environment of its launch', async () => {
    const { bench: made, launch, ref } = await openChild('environment');

    const output = await made.printed(ref, 'ready');

    const env: unknown = JSON.parse(output.split('\n')[0] ?? '');
    expect(env).toEqual(launch.env);
  });

  it('never reads an end of its input, and gets whole lines from anybody', async () => {
    const { bench: made, ref } = await openChild('obey');
    const { input } = launchPaths(ref.launchDir);

    await writeFile(input, 'first\n');
    await writeFile(input, 'second\n');

    const output = await made.printed(ref, 'got second');
    expect(output).toContain('got first');
    expect(output).not.toContain('end of input');
  });

  it('is interrupted by an abort record on its input', async () => {
    const { bench: made, host, ref } = await openChild('obey');

    await host.interrupt(ref);

    const output = await made.printed(ref, 'got {');
    expect(output.split('\n')).toContain('got {"type":"abort"}');
  });

  it('is heard by its own exit code when it traps SIGTERM', async () => {
    const { host, ref } = await openChild('obey');
    const heard = listen(host);

    expect(await host.close(ref, { graceMs: 5000 })).toBe('closed');

    const [exit] = await heard.exits(1);
    expect(exit).toMatchObject({ exit: { code: 143, signal: null } });
    expect(await readExit(ref.launchDir)).toMatchObject({ code: 143, signal: null });
  });

  it('passes on a signal that its runner gets', async () => {
    const { host, ref } = await openChild('obey');
    const heard = listen(host);
    const started = await readStarted(ref.launchDir);

    sendSignal(started?.runnerPid ?? 0, 'SIGTERM');

    expect(await heard.exits(1)).toMatchObject([{ exit: { code: 143 } }]);
  });

  it('that ignores SIGTERM is killed with its grandchildren, those in other sessions too', async () => {
    const { bench: made, host, ref } = await openChild('stubborn');
    await made.grandchildren(ref, 2);
    const heard = listen(host);

    expect(await host.close(ref, { graceMs: 200 })).toBe('closed');

    expect(await processesOf(made.root)).toEqual([]);
    expect(await heard.exits(1)).toMatchObject([{ exit: { code: null, signal: 'SIGKILL' } }]);
  });

  it('leaves nothing in its process group when it ends by itself', async () => {
    const { bench: made, host, ref } = await openChild('leave');
    await made.grandchildren(ref, 1);
    const heard = listen(host);

    await made.print(ref, 'go');

    expect(await heard.exits(1)).toMatchObject([{ exit: { code: 0, signal: null } }]);
    await until('nothing is left', async () => (await processesOf(made.root)).length === 0);
  });

  it('that vanishes with its runner has neither code nor signal', async () => {
    const { host, ref } = await openChild('obey', { now: () => 42 });
    const heard = listen(host);
    const started = await readStarted(ref.launchDir);

    sendSignal(started?.runnerPid ?? 0, 'SIGKILL');
    sendSignal(started?.pid ?? 0, 'SIGKILL');

    const [exit] = await heard.exits(1);
    expect(exit).toMatchObject({ exit: { code: null, signal: null, atMs: 42 } });
  });

  it('is still found and closed when somebody removed its directory', async () => {
    const { host, ref } = await openChild('obey');
    await rm(ref.launchDir, { recursive: true });

    expect(await host.inspect(ref)).toMatchObject({ presence: 'present' });
    expect(await host.close(ref, { graceMs: 5000 })).toBe('closed');
  });

  it('is signalled once by closes at the same time', async () => {
    const { bench: made, host, ref } = await openChild('obey');

    const outcomes = await Promise.all([
      host.close(ref, { graceMs: 5000 }),
      host.close(ref, { graceMs: 0 }),
    ]);

    expect(outcomes).toEqual(['closed', 'closed']);
    expect(await made.printed(ref, 'bye')).not.toMatch(/bye[^]*bye/);
  });
});

describe('open', () => {
  it('throws what a child printed that ends at once, or tells it as an exit', async () => {
    const { host, launchOf } = await setUp();
    const heard = listen(host);

    const outcome = await host.open(launchOf('fail')).then(
      async () => (await heard.exits(1))[0]?.exit.output,
      (error: unknown) => String(error),
    );

    expect(outcome).toContain('no such model');
  });

  it('names the program that does not exist', async () => {
    const { host, brokenLaunch } = await setUp();
    const launch = brokenLaunch();

    await expect(host.open(launch)).rejects.toThrow(/cannot start .*no-such-program.*ENOENT/);

    expect(await readExit(launch.launchDir)).toMatchObject({ code: 127, signal: null });
    await expect(host.open(launch)).rejects.toEqual(expectCode('launch_failed'));
  });

  it('names the working directory that does not exist', async () => {
    const { host, launch, root } = await setUp();

    const opened = host.open({ ...launch(), cwd: join(root, 'nowhere') });

    await expect(opened).rejects.toThrow(/nowhere is not a directory/);
  });

  it('names the launch directory that cannot be made', async () => {
    const { host, launch, root } = await setUp();
    await writeFile(join(root, 'file'), '');

    const opened = host.open({ ...launch(), launchDir: join(root, 'file', 'launch') });

    await expect(opened).rejects.toEqual(expectCode('launch_failed'));
    await expect(opened).rejects.toThrow(/file\/launch: ENOTDIR/);
  });

  it('shows what the runner complained of when that cannot run', async () => {
    const { host, launch, root } = await setUp({ runner: '/no/such/runner.js' });

    await expect(host.open(launch())).rejects.toThrow(/Cannot find module '\/no\/such\/runner.js'/);

    expect(await processesOf(root)).toEqual([]);
  });

  it('ends what it began when it is aborted half way', async () => {
    const { host, launch, root } = await setUp();
    const abort = new AbortController();
    const opened = host.open(launch(), abort.signal);
    opened.catch(() => undefined);
    await until('the runner runs', async () => (await processesOf(root)).length > 0);

    abort.abort();

    await expect(opened).rejects.toEqual(expectCode('launch_failed'));
    expect(await processesOf(root)).toEqual([]);
  });

  it('gives up on a runner that starts nothing in time', async () => {
    const { root, launch } = await setUp();
    const lazy = join(root, 'lazy.mjs');
    await writeFile(lazy, 'setInterval(() => {}, 1000);');
    const host = createProcessHost({ runner: lazy, openTimeoutMs: 100 });

    await expect(host.open(launch())).rejects.toThrow(/did not start within 100 ms/);

    expect(await processesOf(root)).toEqual([]);
    host.dispose();
  });

  it('takes up a launch whose child ended meanwhile instead of starting it again', async () => {
    const { bench: made, host, launch, ref } = await openChild('leave');
    await made.print(ref, 'go');
    await until('the end', async () => (await host.inspect(ref)).presence === 'dead');
    const next = made.another();
    const heard = listen(next);

    expect(await next.open(launch)).toEqual(ref);

    expect(await heard.exits(1)).toMatchObject([{ exit: { code: 0 } }]);
  });
});

describe('parent', () => {
  it('that adopts a child it cannot see for a moment tells of its end all the same', async () => {
    const { bench: made, host, ref } = await openChild('obey');
    host.dispose();
    const next = made.another();
    const heard = listen(next);
    const { started } = launchPaths(ref.launchDir);
    const well = await readFile(started);
    await writeFile(started, '');
    expect(await next.adopt(ref)).toEqual({ presence: 'unknown' });

    await writeFile(started, well);
    await made.end(ref, 'code 3');

    expect(await heard.exits(1)).toMatchObject([{ ref, exit: { code: 3 } }]);
    expect(await next.close(ref, { graceMs: 0 })).toBe('already_gone');
  });

  it('that is killed leaves a child which the next one adopts, drives and closes', async () => {
    const { bench: made, ref, next } = await openFromKilledParent();
    const heard = listen(next);

    expect(await next.adopt(ref)).toMatchObject({ presence: 'present' });

    await next.interrupt(ref);
    const output = await made.printed(ref, 'got {"type":"abort"}');
    expect(output).not.toContain('end of input');
    expect(await next.close(ref, { graceMs: 5000 })).toBe('closed');
    expect(await heard.exits(1)).toMatchObject([{ exit: { code: 143 } }]);
  });

  it('that was killed opens its launch again and gets the same child', async () => {
    const { launch, ref, next } = await openFromKilledParent();
    const before = await readStarted(ref.launchDir);

    expect(await next.open(launch)).toEqual(ref);

    expect(await readStarted(ref.launchDir)).toEqual(before);
  });

  it('ends the line that a killed one left half written', async () => {
    const { bench: made, ref } = await openChild('obey');
    await writeFile(launchPaths(ref.launchDir).input, '{"type":"ab');
    const next = made.another();

    await next.adopt(ref);
    await next.interrupt(ref);

    const output = await made.printed(ref, 'got {"type":"abort"}');
    expect(output.split('\n')).toContain('got {"type":"ab');
  });
});

async function openFromKilledParent() {
  const made = await setUp();
  const launch = made.launchOf('obey');
  const file = join(made.root, 'launch.json');
  await writeFile(file, JSON.stringify(launch));
  const opener = fileURLToPath(new URL('./opener.ts', import.meta.url));
  const parent = spawn(process.execPath, ['--no-warnings', opener, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(parent.stdout, 'data');
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  const ref: PlaceRef = { host: 'process', launchId: launch.launchId, launchDir: launch.launchDir };
  const next = made.another();
  await made.printed(ref, 'ready');
  return { bench: made, launch, ref, next };
}

describe('output', () => {
  it('is shown as what the agent said and called, without deltas', async () => {
    const { bench: made, host, ref } = await openChild('chat');
    await made.printed(ref, 'careful');

    expect((await host.read(ref, { lines: 20 })).split('\n')).toEqual([
      'I look.\u2028Then I tell.',
      '→ read {"path":"a.txt"}',
      '✗ read: no such file',
      'ready',
      '! careful',
    ]);
    expect(await host.read(ref, { lines: 2 })).toBe('ready\n! careful');
    const kept = await readFile(launchPaths(ref.launchDir).output, 'utf8');
    expect(kept).toContain('"agent_settled"');
    expect(kept).not.toMatch(/message_update|tool_execution_update/);
  });

  it('is bounded on disk, keeps the end and cuts endless lines', async () => {
    const outputBytes = 64 * 1024;
    const { host, ref } = await openChild('flood', { args: ['4000'], limits: { outputBytes } });
    const { output, errors } = launchPaths(ref.launchDir);

    const files = [output, `${output}.old`, errors, `${errors}.old`];
    const sizes = await Promise.all(files.map(async (file) => (await statOf(file))?.size ?? 0));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(outputBytes);
    const shown = await host.read(ref, { lines: 60 });
    expect(shown).toContain('line 3999');
    expect(shown).toContain('1500000 characters in one line');
  });
});

function statOf(file: string) {
  return stat(file).catch(() => undefined);
}

describe('dialog', () => {
  it('that nobody answers is cancelled, noted and told once, also to a later parent', async () => {
    const {
      bench: made,
      host,
      ref,
    } = await openChild('ask', {
      limits: { dialogTimeoutMs: 50 },
    });
    const heard = listen(host);
    const cancelled = { type: 'dialog_cancelled', ref, title: 'Delete it?' };

    await made.printed(ref, 'got {"type":"extension_ui_response","id":"d1","cancelled":true}');
    await until('the event', () => heard.events.length > 0);

    expect(heard.events).toEqual([cancelled]);
    const notes = (await readDialogs(ref.launchDir)).map(({ event, id }) => `${id} ${event}`);
    expect(notes).toEqual(['d1 opened', 'd2 opened', 'd1 cancelled']);
    const next = made.another();
    const heardLater = listen(next);
    await next.adopt(ref);
    await next.close(ref, { graceMs: 5000 });
    await heardLater.exits(1);
    expect(heardLater.events).toHaveLength(1);
  });

  it('that somebody answered is left alone', async () => {
    const { bench: made, ref } = await openChild('ask', { limits: { dialogTimeoutMs: 500 } });
    const note = { event: 'answered', id: 'd1', method: 'confirm', title: '', atMs: 1 };

    await writeFile(launchPaths(ref.launchDir).dialogs, `${JSON.stringify(note)}\n`, { flag: 'a' });
    await made.print(ref, '{"type":"extension_ui_response","id":"d1","confirmed":true}');
    await made.printed(ref, '"confirmed":true');

    const output = await until('the limit has passed', async () => {
      const { mtimeMs } = await stat(launchPaths(ref.launchDir).spec);
      return Date.now() - mtimeMs > 1500 && made.host.read(ref, { lines: 50 });
    });
    expect(output).not.toContain('cancelled');
  });
});
