/** `/shepherd adopt` of the session that a Pi has already, typed as soon as it starts. */
import { afterEach, expect, it, vi } from 'vitest';
import { sessions, sessionsReportSchema } from '../../src/cli/commands/sessions.ts';
import { delegate, spawn, watchTasks } from '../../src/cli/demo/phrases.ts';
import { limits } from '../support/pi-children.ts';
import { runCommand } from '../support/cli.ts';
import { isAlive, kill, openPiProject } from '../support/pi-project.ts';
import type { PiRpc } from '../support/pi-rpc.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

const parts = [{ agent: 'scout', label: 'survey', task: 'Survey this project.' }];

/** What it says to `/shepherd adopt 0001`. */
async function answerToAdopt(pi: PiRpc): Promise<unknown> {
  await pi.request({ type: 'prompt', message: '/shepherd adopt 0001' });
  return pi.waitFor(
    ({ type, message }) => type === 'extension_ui_request' && String(message).includes('0001-'),
    60_000,
  );
}

it('answers that it has it already, and ends the herd with one quit', async () => {
  const project = await openPiProject({
    shepherd: [spawn(parts), delegate(parts), watchTasks, { text: 'I am free.' }],
    scout: [{ hang: true }],
  });
  undo.push(() => project.close());
  const listed = async () => {
    const { json } = await runCommand(sessions, {
      values: { dir: project.isolated.workDir, json: true },
    });
    return sessionsReportSchema.parse(json()).sessions;
  };
  const first = await project.start();
  await first.prompt('go', 60_000);
  const { store } = await project.openStore();
  await vi.waitFor(() => expect(project.requests('scout')).toHaveLength(1), limits);
  const [childPid = 0] = store.all('agent').flatMap(({ pid }) => pid ?? []);
  await kill(first);

  const second = await project.start('-c');

  expect(await answerToAdopt(second)).toMatchObject({
    method: 'notify',
    message: expect.stringMatching(/^This Pi session has 0001-\S+ already/),
  });
  expect(await listed()).toMatchObject([
    { owner: { pid: second.pid, state: 'held', verdict: 'alive' }, liveAgents: 1, openTasks: 1 },
  ]);
  expect(isAlive(childPid)).toBe(true);

  await second.close(20_000);
  expect(isAlive(childPid)).toBe(false);
  expect(await listed()).toMatchObject([
    { owner: { state: 'released' }, liveAgents: 0, openTasks: 0 },
  ]);

  // The same once the herd has ended, when nothing of its own stands in the way.
  const third = await project.start('-c');
  expect(await answerToAdopt(third)).toMatchObject({
    message: expect.stringMatching(/^This Pi session has 0001-\S+ already/),
  });
  await third.close(20_000);
  expect(await listed()).toMatchObject([{ owner: { state: 'released' }, liveAgents: 0 }]);
}, 180_000);
