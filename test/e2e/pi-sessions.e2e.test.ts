/** What becomes of a herd when its Pi goes to another session and comes back, in a real Pi. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { listSessions } from '../../src/runtime/sessions.ts';
import { BARE_FLAGS, makeIsolatedPi } from '../support/isolated-pi.ts';
import { startPiRpc } from '../support/pi-rpc.ts';
import { call } from '../support/pi-shepherd.ts';
import { startScriptedModel, type ModelReply } from '../support/scripted-model.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** Each turn of the model that calls a tool, and the one that ends it. */
const turn = (name: string, args: object): readonly ModelReply[] => [
  { toolCalls: [call(name, args)] },
  { text: 'Noted.' },
];
const spawnLeft = turn('shepherd_spawn', { agent: 'scout', label: 'left' });
const statusOfLeft = turn('shepherd_status', { id: 'left' });

async function startPi(steps: readonly ModelReply[]) {
  const model = await startScriptedModel({ steps: { m: steps } });
  undo.push(() => model.close());
  const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['m'] });
  undo.push(() => isolated.remove());
  const reloader = join(isolated.home, 'reloader.js');
  await writeFile(
    reloader,
    'export default (pi) => pi.registerCommand("again", { handler: (_, ctx) => ctx.reload() });',
  );
  const pi = await startPiRpc({
    pi: resolvePi(),
    isolated,
    args: [
      '--session-dir',
      join(isolated.home, 's'),
      ...BARE_FLAGS,
      '-e',
      packageInfo().dir,
      '-e',
      reloader,
    ],
  });
  undo.push(() => pi.close(20_000));
  return {
    pi,
    sessions: () => listSessions(join(isolated.workDir, '.shepherd', 'sessions')),
    lastResult: () =>
      JSON.stringify(pi.records.findLast(({ type }) => type === 'tool_execution_end')),
  };
}

it('parks the herd when Pi goes to a new session, and takes it up when Pi comes back', async () => {
  const { pi, sessions, lastResult } = await startPi([
    ...spawnLeft,
    ...statusOfLeft,
    ...statusOfLeft,
  ]);

  await pi.prompt('spawn');
  const { data } = await pi.request({ type: 'get_state' });
  const { sessionFile } = data as { sessionFile: string };
  await pi.request({ type: 'new_session' });

  const [parked] = await vi.waitFor(async () => {
    const found = await sessions();
    expect(found).toMatchObject([{ state: 'parked', liveAgents: 1 }]);
    return found;
  }, 20_000);
  await pi.waitFor((record) => JSON.stringify(record).includes('Left behind in this project'));
  await pi.prompt('whose is it');
  expect(lastResult()).toContain('invalid_target');

  await pi.request({ type: 'switch_session', sessionPath: sessionFile });
  await vi.waitFor(async () => {
    const found = (await sessions()).find(({ name }) => name === parked?.name);
    expect(found).toMatchObject({ state: 'alive', liveAgents: 1 });
  }, 20_000);
  await pi.prompt('and now');
  expect(lastResult()).toContain('is idle');

  await pi.close(20_000);
  expect((await sessions()).map(({ liveAgents }) => liveAgents)).toEqual([0, 0]);
}, 120_000);

it('keeps the herd over a reload, and starts empty in a fork', async () => {
  const { pi, sessions, lastResult } = await startPi([
    ...spawnLeft,
    ...statusOfLeft,
    ...statusOfLeft,
  ]);
  await pi.prompt('spawn');
  const { data: before } = await pi.request({ type: 'get_state' });
  const { sessionFile } = before as { sessionFile: string };

  await pi.request({ type: 'prompt', message: '/again' });
  await pi.prompt('still there?');
  expect(lastResult()).toContain('is idle');

  const { data } = await pi.request({ type: 'get_fork_messages' });
  const { messages } = data as { messages: readonly { entryId: string }[] };
  await pi.request({ type: 'fork', entryId: messages.at(-1)?.entryId });
  await vi.waitFor(
    async () => expect(await sessions()).toMatchObject([{ state: 'parked', liveAgents: 1 }]),
    20_000,
  );
  await pi.prompt('and in the fork?');
  expect(lastResult()).toContain('invalid_target');

  // Back, so that the quit closes it.
  await pi.request({ type: 'switch_session', sessionPath: sessionFile });
  await vi.waitFor(
    async () => expect((await sessions())[0]).toMatchObject({ state: 'alive' }),
    20_000,
  );
  await pi.close(20_000);
  expect((await sessions())[0]).toMatchObject({ state: 'released', liveAgents: 0 });
}, 120_000);
