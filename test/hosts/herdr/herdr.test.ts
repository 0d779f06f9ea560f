/** What only Herdr can get wrong, on our stand-in for it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { checkHerdr } from '../../../src/cli/doctor/terminals.ts';
import type { PlaceRef } from '../../../src/hosts/host.ts';
import { createHerdrClient, herdrSocket } from '../../../src/hosts/herdr/client.ts';
import { readStarted } from '../../../src/hosts/launch.ts';
import { hasTmux } from '../../tui/has-tmux.ts';
import { listen } from '../host-contract.ts';
import { processesOf } from '../process-bench.ts';
import { until } from '../until.ts';
import { makeHerdrBench, type HerdrBench } from './herdr-bench.ts';

describe.skipIf(!hasTmux)('a pane of Herdr', () => {
  let bench: HerdrBench;
  afterEach(() => bench.cleanUp());

  const shows = (ref: PlaceRef, text: string): Promise<unknown> =>
    until(`it shows ${text}`, async () =>
      (await bench.host.read(ref, { lines: 50 })).includes(text),
    );

  it('is placed as it is asked for, never in focus, and its id is told to nobody', async () => {
    bench = await makeHerdrBench();
    const first = await bench.host.open(bench.launch());
    const [paneId = ''] = bench.herdr.panes();
    const [workspaceId = ''] = paneId.split(':');
    const inside = bench.hostWith({
      env: { ...bench.herdr.env, HERDR_PANE_ID: paneId, HERDR_WORKSPACE_ID: workspaceId },
    });

    for (const placement of ['tab', 'pane_right', 'pane_down', 'workspace'] as const) {
      await inside.open({ ...bench.launch(), placement });
    }

    const made = bench.herdr.calls.filter((call) => /create|split/.test(call));
    expect(made).toEqual([
      // There was no workspace for a tab to be in.
      'tab.create',
      'workspace.create',
      'tab.create',
      'pane.split',
      'pane.split',
      'workspace.create',
    ]);
    expect(bench.herdr.focused()).toBeUndefined();
    expect(JSON.stringify(first)).not.toContain(paneId);
  });

  it('takes the next best place where the one it began beside has gone', async () => {
    bench = await makeHerdrBench();
    const host = bench.hostWith({
      env: { ...bench.herdr.env, HERDR_PANE_ID: 'w9:p9', HERDR_WORKSPACE_ID: 'w9' },
    });

    const ref = await host.open({ ...bench.launch(), placement: 'pane_right' });

    expect(await host.inspect(ref)).toMatchObject({ presence: 'present' });
  });

  it.each(["it's", 'a; b;', '$(id)', '-n', 'ünï 🐑'])('may be labelled %s', async (label) => {
    bench = await makeHerdrBench();
    const ref = await bench.host.open({ ...bench.launch(), label });
    await shows(ref, 'ready');
    expect(bench.herdr.panes()).toHaveLength(1);
  });

  it('gets nothing typed but one short line without a secret', async () => {
    bench = await makeHerdrBench();
    const ref = await bench.host.open(bench.launchOf('environment'));
    await shows(ref, '"SECRET":"wool"');

    const screen = await bench.host.read(ref, { lines: 50 });
    const [typed = ''] = screen.split('\n');
    expect(typed).toBe(`$ sh '${join(ref.launchDir, 'run.sh')}'`);
    expect(readFileSync(join(ref.launchDir, 'run.sh'), 'utf8')).not.toContain('wool');
  });

  it('whose fresh shell is busy is waited for', async () => {
    bench = await makeHerdrBench({ busyMs: 700 });
    const beganMs = performance.now();
    const ref = await bench.host.open(bench.launch());
    expect(performance.now() - beganMs).toBeGreaterThan(650);
    await shows(ref, 'ready');
  });

  it('whose fresh shell loses what is typed is typed into again, and starts one child', async () => {
    // In the middle of the path: a quote is left open.
    bench = await makeHerdrBench({ truncatesAt: 20 }, { silenceMs: 300 });
    const ref = await bench.host.open(bench.launch());
    await shows(ref, 'ready');

    expect(bench.herdr.calls.filter((call) => call === 'pane.send_input')).toHaveLength(2);
    const commands = (await processesOf(bench.root)).map((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    );
    expect(commands.filter((command) => command.includes('child.ts'))).toHaveLength(1);
  });

  it('that never runs what is typed fails the launch, and is taken away', async () => {
    bench = await makeHerdrBench({ busyMs: 60_000 }, { openTimeoutMs: 500 });

    await expect(bench.host.open(bench.launch())).rejects.toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('did not run what was typed'),
    });

    await until('the pane is gone', () => bench.herdr.panes().length === 0);
  });

  it('is found again when somebody has moved it', async () => {
    bench = await makeHerdrBench();
    const ref = await bench.host.open(bench.launch());
    await shows(ref, 'ready');
    const [before = ''] = bench.herdr.panes();

    const after = bench.herdr.move(before);

    expect(after).not.toBe(before);
    expect(await bench.host.read(ref, { lines: 50 })).toContain('ready');
    await bench.host.interrupt(ref);
    expect(await bench.host.close(ref, { graceMs: 5_000 })).toBe('closed');
    expect(bench.herdr.panes()).toEqual([]);
  });

  it('that somebody closes by hand is an exit, told once', async () => {
    bench = await makeHerdrBench();
    const heard = listen(bench.host);
    const ref = await bench.host.open(bench.launch());
    await shows(ref, 'ready');

    await bench.herdr.closeByHand(bench.herdr.panes()[0] ?? '');

    await heard.exits(1);
    expect((await bench.host.inspect(ref)).presence).toBe('dead');
    await until('no process is left', async () => (await processesOf(ref.launchDir)).length === 0);
    expect(heard.events).toHaveLength(1);
  });

  it('whose child ended by itself shows what it showed, until it is tidied away', async () => {
    bench = await makeHerdrBench();
    const ended = await bench.host.open(bench.launch());
    const alive = await bench.host.open(bench.launch());
    await bench.end(ended, 'code 3');
    await until('it is dead', async () => (await bench.host.inspect(ended)).presence === 'dead');
    expect(await bench.host.read(ended, { lines: 10 })).toContain('ready');

    await bench.host.tidy?.([ended, alive]);

    expect(bench.herdr.panes()).toHaveLength(1);
    expect(await bench.host.read(alive, { lines: 10 })).toBeDefined();
  });

  it('whose child ignores polite signals is ended all the same, with its grandchildren', async () => {
    bench = await makeHerdrBench();
    const ref = await bench.host.open(bench.launchOf('stubborn'));
    await shows(ref, 'grandchild');
    expect(await bench.host.close(ref, { graceMs: 200 })).toBe('closed');
    await until('nothing is left', async () => (await processesOf(ref.launchDir)).length === 0);
  });

  it('fails with what the child showed when it ends at once', async () => {
    bench = await makeHerdrBench();
    await expect(bench.host.open(bench.launchOf('fail'))).resolves.toBeDefined();
    const heard = listen(bench.host);
    const [exit] = await heard.exits(1);
    expect(exit).toMatchObject({
      exit: { code: 1, output: expect.stringContaining('no such model') },
    });
  });
});

describe.skipIf(!hasTmux)('the events of Herdr', () => {
  let bench: HerdrBench;
  afterEach(() => bench.cleanUp());

  /** Hosts that would look by themselves once a second only. */
  const slow = { sweepMs: 1_000 };

  it.each([true, false])(
    'come in any spelling, again and of before (replay: %s): an exit is told once',
    async (replays) => {
      bench = await makeHerdrBench({ replays }, slow);
      const heard = listen(bench.host);
      const refs = [await bench.host.open(bench.launch()), await bench.host.open(bench.launch())];
      await until('it listens', () => bench.herdr.calls.includes('events.subscribe'));

      for (const ref of refs) await bench.end(ref, 'code 3');
      for (const event of ['pane_exited', 'pane.exited', 'pane_closed', 'pane.sparkled']) {
        bench.herdr.tell({ event, data: { pane_id: 'w1:p1' } });
      }
      bench.herdr.tell(['no', 'event']);

      await heard.exits(2);
      await wait(0);
      expect(heard.events).toHaveLength(2);
    },
  );

  it('are followed again when the server has come back', async () => {
    bench = await makeHerdrBench({}, slow);
    await bench.host.open(bench.launch());
    const subscribed = () => bench.herdr.calls.filter((call) => call === 'events.subscribe').length;
    await until('it listens', () => subscribed() === 1);

    await bench.herdr.vanish();
    await bench.herdr.comeBack();

    await until('it listens again', () => subscribed() === 2);
    expect(bench.herdr.panes()).toHaveLength(1);
  });
});

describe.skipIf(!hasTmux)('a server of Herdr', () => {
  let bench: HerdrBench;
  afterEach(() => bench.cleanUp());

  it('that has gone makes nothing gone; its panes can be looked at when it is back', async () => {
    bench = await makeHerdrBench();
    const heard = listen(bench.host);
    const ref = await bench.host.open(bench.launch());
    await bench.print(ref, 'one');

    await bench.herdr.vanish();

    expect(await bench.host.inspect(ref)).toMatchObject({ presence: 'present' });
    for (const ask of [() => bench.host.read(ref, { lines: 1 }), () => bench.host.interrupt(ref)]) {
      await expect(ask()).rejects.toMatchObject({ code: 'host_unavailable', retryable: true });
    }
    await expect(bench.host.open(bench.launch())).rejects.toMatchObject({
      code: 'host_unavailable',
    });
    expect(heard.events).toEqual([]);
    await bench.herdr.comeBack();
    expect(await bench.host.read(ref, { lines: 50 })).toContain('one');
  });

  it('that is gone does not keep a child from being closed', async () => {
    bench = await makeHerdrBench();
    const ref = await bench.host.open(bench.launch());
    await bench.herdr.vanish();

    expect(await bench.host.close(ref, { graceMs: 5_000 })).toBe('closed');

    await bench.herdr.comeBack();
    await bench.host.tidy?.([ref]);
    expect(bench.herdr.panes()).toEqual([]);
  });

  it('of an old protocol is refused, and left alone', async () => {
    bench = await makeHerdrBench({ protocol: 13 });

    await expect(bench.host.open(bench.launch())).rejects.toMatchObject({
      code: 'host_unavailable',
      message: expect.stringMatching(/speaks protocol 13; 14 or later is needed/),
    });

    expect(new Set(bench.herdr.calls)).toEqual(new Set(['ping']));
    expect(readdirSync(bench.root)).toHaveLength(1);
  });

  it('is examined by sheepfold doctor', async () => {
    bench = await makeHerdrBench({ protocol: 22 });
    const bin = join(bench.herdr.env['HERDR_BIN_PATH'] ?? '', '..');
    const env = { ...process.env, ...bench.herdr.env, PATH: `${bin}:${process.env['PATH']}` };
    const signal = new AbortController().signal;

    expect(await checkHerdr({ host: 'herdr', env, signal })).toMatchObject({
      status: 'ok',
      message: '0.8.2, protocol 22',
    });
    await bench.herdr.vanish();
    expect(await checkHerdr({ host: 'herdr', env, signal })).toMatchObject({ status: 'fail' });
    await bench.herdr.comeBack();
  });

  it('that hangs up, or says something else, is not reachable', async () => {
    bench = await makeHerdrBench();
    const client = createHerdrClient({ socket: join(bench.root, 'nothing.sock'), timeoutMs: 500 });
    await expect(client.call('pane.list', {}, {} as never)).rejects.toMatchObject({
      code: 'host_unavailable',
      message: expect.stringContaining('nothing.sock'),
    });
  });

  it('is told by our runner where it runs', async () => {
    bench = await makeHerdrBench();
    const ref = await bench.host.open(bench.launch());
    const [paneId] = bench.herdr.panes();
    expect(await readStarted(ref.launchDir)).toMatchObject({ place: { herdrPane: paneId } });
  });
});

it.each([
  [{ HERDR_SOCKET_PATH: '/a/b.sock', HERDR_SESSION: 'x' }, '/a/b.sock'],
  [{ HOME: '/home/me' }, '/home/me/.config/herdr/herdr.sock'],
  [{ HOME: '/home/me', XDG_CONFIG_HOME: '/conf' }, '/conf/herdr/herdr.sock'],
  [{ HOME: '/home/me', HERDR_SESSION: 'two' }, '/home/me/.config/herdr/sessions/two/herdr.sock'],
])('with %j the socket is %s', (env, path) => {
  expect(herdrSocket(env)).toBe(path);
});
