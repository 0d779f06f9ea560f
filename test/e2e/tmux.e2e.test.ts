/** Real Pi children in panes of tmux: the canonical flow, a crash, a close, a parent that goes and comes back. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { attach } from '../../src/cli/commands/attach.ts';
import { createHosts } from '../../src/hosts/hosts.ts';
import { readStarted } from '../../src/hosts/launch.ts';
import { sendSignal } from '../../src/hosts/processes.ts';
import { createTmuxClient, socketOf, type TmuxClient } from '../../src/hosts/tmux/client.ts';
import { ask, answer, complete } from '../../src/cli/demo/phrases.ts';
import { readTold } from '../../src/cli/demo/report.ts';
import { canonical } from '../../src/cli/demo/scenarios/canonical.ts';
import { writeSetting } from '../../src/settings/write.ts';
import { runCommand } from '../support/cli.ts';
import { limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { kill, openPiProject } from '../support/pi-project.ts';
import { hasTmux } from '../tui/has-tmux.ts';
import { join } from 'node:path';

const run = promisify(execFile);
let children: PiChildren | undefined;
let tmux: TmuxClient | undefined;
afterEach(async () => {
  await children?.close();
  if (tmux !== undefined) {
    await run('tmux', ['-L', tmux.socket, 'kill-server']).catch(() => undefined);
  }
}, 60_000);

const open = async (policy = {}): Promise<PiChildren> => {
  children = await openPiChildren(policy, { host: createHosts('tmux') });
  tmux = createTmuxClient(socketOf(join(children.shepherd.sessionDir, 'launch', 'any')));
  return children;
};

describe.skipIf(!hasTmux)('agents in tmux', () => {
  it('play the canonical flow, side by side, where somebody can look', async () => {
    const herd = await open();
    const { shepherd } = herd;
    herd.script(
      'scout',
      ask('planner', 'Which part first?'),
      { text: 'I wait for planner.' },
      complete('The mailbox first.'),
    );
    herd.script('planner', (request) => answer(request, 'The mailbox.'), { text: 'Answered.' });
    const scout = await shepherd.spawn({ agent: 'scout', label: 'survey' });
    await shepherd.spawn({ agent: 'planner', label: 'plan', placement: 'pane_right' });

    const { taskId } = await shepherd.delegate({ target: scout.id, task: 'Survey; ask planner.' });
    const result = await shepherd.settled(taskId, AbortSignal.timeout(60_000));

    expect(result).toMatchObject({ status: 'completed', summary: 'The mailbox first.' });
    expect(shepherd.task(taskId).states.map(({ state }) => state)).toEqual([
      'created',
      'running',
      'waiting',
      'running',
      'completed',
    ]);
    const screen = await shepherd.read(scout.id, { lines: 40 });
    expect(screen).toContain('I wait for planner.');
    const panes = await tmux?.call('list-panes', '-a', '-F', '#{window_panes}');
    expect(panes?.trim().split('\n')).toEqual(['2', '2']);
    expect(shepherd.status(scout.id).host).toBe('tmux');
    const dir = join(shepherd.sessionDir, '..', '..', '..');
    const shown = await runCommand(attach, {
      values: { dir, print: true },
      words: ['scout: survey'],
    });
    expect(shown.lines).toEqual([
      expect.stringMatching(/^tmux -L sheepfold-[0-9a-f]{8} attach -t '%\d+'$/),
    ]);

    await shepherd.close(scout.id);
    expect(await tmux?.call('list-panes', '-a', '-F', '#{pane_id}')).toMatch(/^%\d+\n$/);
  }, 180_000);

  it.each([
    ['SIGKILL', /ended by SIGKILL/],
    ['SIGTERM', /exited with code/],
  ] as const)(
    'that is ended by %s fails its task, with what it showed',
    async (signal, how) => {
      const herd = await open();
      const { shepherd } = herd;
      herd.script('scout', { hang: true });
      const scout = await shepherd.spawn({ agent: 'scout', label: 'survey' });
      const { taskId } = await shepherd.delegate({ target: scout.id, task: 'Survey.' });
      await vi.waitFor(() => expect(children?.requests('scout')).toHaveLength(1), limits);
      const started = await readStarted(join(shepherd.sessionDir, 'launch', `${scout.id}.1`));

      sendSignal(started?.pid ?? 0, signal);

      const result = await shepherd.settled(taskId, AbortSignal.timeout(30_000));
      expect(result).toMatchObject({
        status: 'failed',
        error: expect.stringMatching(how) as string,
      });
      expect(result.error).toContain('Survey.');
    },
    120_000,
  );

  it('stop their turn on request, and go on', async () => {
    const herd = await open();
    const { shepherd } = herd;
    herd.script('scout', { hang: true });
    const scout = await shepherd.spawn({ agent: 'scout', label: 'survey' });
    const { taskId } = await shepherd.delegate({ target: scout.id, task: 'Survey.' });
    await vi.waitFor(() => expect(children?.requests('scout')).toHaveLength(1), limits);

    await shepherd.interrupt(scout.id);

    await vi.waitFor(() => expect(shepherd.status(scout.id).state).toBe('idle'), limits);
    expect(shepherd.task(taskId).state).toBe('running');
  }, 120_000);

  it('fail to spawn with what they showed', async () => {
    const { shepherd } = await open({ spawnTimeoutMs: 5_000 });
    await expect(
      shepherd.spawn({ agent: 'scout', label: 'survey', cwd: '/nowhere' }),
    ).rejects.toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('/nowhere is not a directory') as string,
    });
  }, 60_000);

  it('outlive a killed parent, and are taken up by the next one', async () => {
    const { steps, look } = canonical.cast();
    const project = await openPiProject(steps);
    try {
      writeSetting(join(project.isolated.agentDir, 'sheepfold', 'config.json'), 'host', 'tmux');
      const first = await project.start();
      await first.request({ type: 'prompt', message: 'go' });
      const { store, dir } = await project.openStore();
      tmux = createTmuxClient(socketOf(join(dir, 'launch', 'any')));
      await vi.waitFor(() => {
        expect(store.all('task')).toMatchObject([{ state: 'waiting' }]);
        expect(store.all('agent').map(({ state }) => state)).toContain('idle');
      }, limits);
      expect(store.all('agent').map(({ place }) => place?.host)).toEqual(['tmux', 'tmux']);
      await kill(first);
      expect(look?.(store)).toBeUndefined();

      const second = await project.start('-c');
      await vi.waitFor(
        () => expect(store.all('task')).toMatchObject([{ state: 'completed' }]),
        limits,
      );
      await vi.waitFor(
        () => expect(readTold(project.piSessionDir).notifications).toMatchObject([{ count: 1 }]),
        limits,
      );
      await second.close(20_000);
      // A quit closes the herd: no pane is left, and with the last one no server.
      await vi.waitFor(
        () => expect(tmux?.call('list-panes', '-a')).rejects.toMatchObject({ code: 'not_found' }),
        limits,
      );
    } finally {
      await project.close();
    }
  }, 180_000);
});
