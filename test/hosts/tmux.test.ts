/** What only tmux can get wrong. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHosts } from '../../src/hosts/hosts.ts';
import { chooseHost } from '../../src/hosts/choose.ts';
import { socketOf } from '../../src/hosts/tmux/client.ts';
import { createTmuxHost, findPane } from '../../src/hosts/tmux/host.ts';
import { hasTmux } from '../tui/has-tmux.ts';
import { listen } from './host-contract.ts';
import { processesOf } from './process-bench.ts';
import { makeTmuxBench, type TmuxBench } from './tmux-bench.ts';
import { until } from './until.ts';

describe.skipIf(!hasTmux)('a pane', () => {
  let bench: TmuxBench;
  beforeEach(async () => {
    bench = await makeTmuxBench();
  });
  afterEach(() => bench.cleanUp());

  const shows = (ref: Parameters<TmuxBench['print']>[0], text: string): Promise<unknown> =>
    until(`it shows ${text}`, async () =>
      (await bench.host.read(ref, { lines: 50 })).includes(text),
    );

  it('is placed as it is asked for, and without stealing the focus', async () => {
    for (const placement of ['tab', 'tab', 'pane_right', 'pane_down', 'workspace'] as const) {
      await bench.host.open({ ...bench.launch(), placement });
    }
    const windows = await bench.tmux.call(
      'list-windows',
      '-a',
      '-F',
      '#{session_name} #{window_panes} #{window_active}',
    );
    expect(windows.trim().split('\n')).toEqual([
      expect.stringMatching(/^\S+ 1 1$/),
      'herd 3 1',
      'herd 1 0',
    ]);
  });

  it.each(['a; b;', 'x#{pid}', '#(id)', 'ünïcode 🐑', 'it\'s "quoted"', '-n'])(
    'may be labelled %s',
    async (label) => {
      await bench.host.open({ ...bench.launch(), label });
      await bench.host.open({ ...bench.launch(), label });
      const names = await bench.tmux.call('list-windows', '-a', '-F', '#{window_name}');
      expect(names).toBe(`${label}\n${label}\n`);
    },
  );

  it('gets nothing of the parent’s environment but what its launch says', async () => {
    process.env['SHEEPFOLD_TEST_SECRET'] = 'of the parent';
    try {
      const ref = await bench.host.open(bench.launchOf('environment'));
      await shows(ref, '"SECRET":"wool"');
      expect(await bench.host.read(ref, { lines: 100 })).not.toContain('of the parent');
      expect(await bench.tmux.call('show-environment', '-g')).not.toContain('of the parent');
    } finally {
      delete process.env['SHEEPFOLD_TEST_SECRET'];
    }
  });

  it('whose child ignores polite signals is ended all the same, with its grandchildren', async () => {
    const ref = await bench.host.open(bench.launchOf('stubborn'));
    await shows(ref, 'grandchild');
    expect(await bench.host.close(ref, { graceMs: 200 })).toBe('closed');
    await until('nothing is left', async () => (await processesOf(bench.root)).length === 0);
    await expect(findPane(bench.tmux, ref.launchId)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('that somebody closes by hand is an exit, and its child is gone', async () => {
    const heard = listen(bench.host);
    const ref = await bench.host.open(bench.launch());
    await shows(ref, 'ready');
    await bench.tmux.call('kill-pane', '-t', await findPane(bench.tmux, ref.launchId));
    await heard.exits(1);
    expect((await bench.host.inspect(ref)).presence).toBe('dead');
  });

  it('that ended by itself shows what it showed, until it is tidied away; a living one stays', async () => {
    const ended = await bench.host.open(bench.launch());
    const alive = await bench.host.open(bench.launch());
    await bench.end(ended, 'code 3');
    await until('it is dead', async () => (await bench.host.inspect(ended)).presence === 'dead');
    expect(await bench.host.read(ended, { lines: 10 })).toContain('ready');

    await bench.host.tidy?.([ended, alive]);

    await expect(findPane(bench.tmux, ended.launchId)).rejects.toMatchObject({ code: 'not_found' });
    expect(await findPane(bench.tmux, alive.launchId)).toMatch(/^%/);
  });

  it('that exits at once is never lost, forty times', async () => {
    const opened = await Promise.all(
      Array.from({ length: 40 }, () =>
        bench.host.open(bench.launchOf('fail')).then(
          () => 'opened',
          (error: Error) => error.message,
        ),
      ),
    );
    const heard = opened.filter((one) => one !== 'opened');
    for (const message of heard) expect(message).toContain('ended at once');
    const told = listen(bench.host);
    await told.exits(opened.length - heard.length);
  }, 60_000);

  it('shows 200 kB of text', async () => {
    const ref = await bench.host.open(bench.launchOf('flood'));
    expect(ref.host).toBe('tmux');
    await until(
      'the flood',
      async () => (await bench.host.read(ref, { lines: 5_000 })).length > 200_000,
    );
  });

  it('whose server is gone is dead, and not unknown, as its child is; one that hangs makes nothing gone', async () => {
    const ref = await bench.host.open(bench.launch());
    await shows(ref, 'ready');
    const slow = createTmuxHost({ program: join(bench.root, 'no-tmux') });
    await expect(slow.read(ref, { lines: 1 })).rejects.toMatchObject({ code: 'host_unavailable' });
    expect((await slow.adopt(ref)).presence).toBe('present');
    slow.dispose();
    await bench.tmux.call('kill-server');
    await until('it is dead', async () => (await bench.host.inspect(ref)).presence === 'dead');
  });
});

describe('all hosts as one', () => {
  it('know nothing of a place of somebody else’s host, and close none', async () => {
    const hosts = createHosts('process');
    const ref = { host: 'moon', launchId: 'x.1', launchDir: '/nowhere' };
    expect(await hosts.inspect(ref)).toEqual({ presence: 'unknown' });
    expect(await hosts.adopt(ref)).toEqual({ presence: 'unknown' });
    await expect(hosts.close(ref, { graceMs: 0 })).rejects.toThrow('"moon"');
    hosts.dispose();
  });

  it.each([
    ['auto', {}, 'process'],
    ['auto', { TMUX: '/tmp/tmux-0/default,1,0' }, 'tmux'],
    ['process', { TMUX: 'x' }, 'process'],
    ['tmux', {}, 'tmux'],
    ['herdr', {}, 'herdr'],
    ['auto', { HERDR_ENV: '1', HERDR_SOCKET_PATH: '/h.sock' }, 'herdr'],
    ['auto', { HERDR_ENV: '1', HERDR_SOCKET_PATH: '/h.sock', TMUX: 'x' }, 'herdr'],
    ['auto', { HERDR_ENV: '1' }, 'process'],
  ] as const)('the setting %s, with %j, is %s', (wanted, env, kind) => {
    expect(chooseHost(wanted, env)).toMatchObject({ kind, why: expect.any(String) as string });
  });

  it('a server’s name is the same for each launch of a session, and another for another one', () => {
    expect(socketOf('/a/launch/x.1')).toBe(socketOf('/a/launch/y.2'));
    expect(socketOf('/a/launch/x.1')).not.toBe(socketOf('/b/launch/x.1'));
  });
});
