/** Real Pi children in panes of our stand-in for Herdr: the canonical flow, a crash, a parent that goes and comes back. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ask, answer, complete } from '../../src/cli/demo/phrases.ts';
import { readTold } from '../../src/cli/demo/report.ts';
import { canonical } from '../../src/cli/demo/scenarios/canonical.ts';
import { createHerdrHost } from '../../src/hosts/herdr/host.ts';
import { readStarted } from '../../src/hosts/launch.ts';
import { sendSignal } from '../../src/hosts/processes.ts';
import { writeSetting } from '../../src/settings/write.ts';
import { startFakeHerdr, type FakeHerdr } from '../hosts/herdr/fake-herdr.ts';
import { limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { kill, openPiProject } from '../support/pi-project.ts';
import { hasTmux } from '../tui/has-tmux.ts';

describe.skipIf(!hasTmux)('agents in Herdr', () => {
  let herdr: FakeHerdr;
  let children: PiChildren | undefined;
  beforeEach(async () => {
    herdr = await startFakeHerdr();
  });
  afterEach(async () => {
    await children?.close();
    children = undefined;
    await herdr.stop();
  }, 60_000);

  const open = async (policy = {}): Promise<PiChildren> => {
    children = await openPiChildren(policy, { host: createHerdrHost({ env: herdr.env }) });
    return children;
  };
  const statesIn = (paneId: string) =>
    herdr.reports.filter((report) => report['pane_id'] === paneId).map(({ state }) => state);

  it('play the canonical flow, and tell Herdr when they work', async () => {
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
    const [scoutPane = ''] = herdr.panes();
    await shepherd.spawn({ agent: 'planner', label: 'plan', placement: 'workspace' });

    const { taskId } = await shepherd.delegate({ target: scout.id, task: 'Survey; ask planner.' });
    const result = await shepherd.settled(taskId, AbortSignal.timeout(60_000));

    expect(result).toMatchObject({ status: 'completed', summary: 'The mailbox first.' });
    expect(await shepherd.read(scout.id, { lines: 40 })).toContain('I wait for planner.');
    expect(shepherd.status(scout.id).host).toBe('herdr');
    expect(JSON.stringify(shepherd.agents())).not.toContain(scoutPane);
    await vi.waitFor(() => expect(statesIn(scoutPane).at(-1)).toBe('idle'), limits);
    expect(statesIn(scoutPane)).toEqual(['idle', 'working', 'idle', 'working', 'idle']);
    const seqs = herdr.reports.map(({ seq }) => Number(seq));
    expect(seqs.every((seq) => seq > 0)).toBe(true);

    await shepherd.close(scout.id);
    expect(herdr.panes()).not.toContain(scoutPane);
    expect(herdr.panes()).toHaveLength(1);
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
      await vi.waitFor(() => expect(herd.requests('scout')).toHaveLength(1), limits);
      const started = await readStarted(join(shepherd.sessionDir, 'launch', `${scout.id}.1`));

      sendSignal(started?.pid ?? 0, signal);

      const result = await shepherd.settled(taskId, AbortSignal.timeout(30_000));
      expect(result).toMatchObject({ status: 'failed', error: expect.stringMatching(how) });
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
    await vi.waitFor(() => expect(herd.requests('scout')).toHaveLength(1), limits);

    await shepherd.interrupt(scout.id);

    await vi.waitFor(() => expect(shepherd.status(scout.id).state).toBe('idle'), limits);
    expect(shepherd.task(taskId).state).toBe('running');
  }, 120_000);

  it('fail to spawn with what they showed, and leave no pane', async () => {
    const { shepherd } = await open({ spawnTimeoutMs: 5_000 });
    await expect(
      shepherd.spawn({ agent: 'scout', label: 'survey', cwd: '/nowhere' }),
    ).rejects.toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('/nowhere is not a directory'),
    });
    await vi.waitFor(() => expect(herdr.panes()).toEqual([]), limits);
  }, 60_000);

  it('outlive a killed parent inside Herdr, and are taken up by the next one', async () => {
    const { steps, look } = canonical.cast();
    // As a Pi in a pane of Herdr has it: the setting `auto` takes Herdr.
    const project = await openPiProject(steps, herdr.env);
    try {
      writeSetting(join(project.isolated.agentDir, 'sheepfold', 'config.json'), 'host', 'auto');
      const first = await project.start();
      await first.request({ type: 'prompt', message: 'go' });
      const { store } = await project.openStore();
      await vi.waitFor(() => {
        expect(store.all('task')).toMatchObject([{ state: 'waiting' }]);
        expect(store.all('agent').map(({ state }) => state)).toContain('idle');
      }, limits);
      expect(store.all('agent').map(({ place }) => place?.host)).toEqual(['herdr', 'herdr']);
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
      await vi.waitFor(() => expect(herdr.panes()).toEqual([]), limits);
    } finally {
      await project.close();
    }
  }, 180_000);
});
