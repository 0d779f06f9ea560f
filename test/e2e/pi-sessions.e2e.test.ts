/** What becomes of a herd when its Pi goes to another session and comes back, in a real Pi. */
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { listSessions } from '../../src/runtime/sessions.ts';
import { BARE_FLAGS, makeIsolatedPi } from '../support/isolated-pi.ts';
import { startPiRpc } from '../support/pi-rpc.ts';
import { call } from '../support/pi-shepherd.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

it('parks the herd when Pi goes to a new session, and takes it up when Pi comes back', async () => {
  const model = await startScriptedModel({
    steps: {
      m: [
        { toolCalls: [call('shepherd_spawn', { agent: 'scout', label: 'left' })] },
        { text: 'Spawned.' },
        { toolCalls: [call('shepherd_status', { id: 'left' })] },
        { text: 'Not mine.' },
        { toolCalls: [call('shepherd_status', { id: 'left' })] },
        { text: 'Mine.' },
      ],
    },
  });
  undo.push(() => model.close());
  const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['m'] });
  undo.push(() => isolated.remove());
  const args = ['--session-dir', join(isolated.home, 's'), ...BARE_FLAGS, '-e', packageInfo().dir];
  const pi = await startPiRpc({ pi: resolvePi(), isolated, args });
  undo.push(() => pi.close(20_000));
  const sessions = () => listSessions(join(isolated.workDir, '.shepherd', 'sessions'));
  const results = () =>
    pi.records.flatMap((record) =>
      record.type === 'tool_execution_end' ? [JSON.stringify(record)] : [],
    );

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
  expect(results().at(-1)).toContain('invalid_target');

  await pi.request({ type: 'switch_session', sessionPath: sessionFile });
  await vi.waitFor(async () => {
    const found = (await sessions()).find(({ name }) => name === parked?.name);
    expect(found).toMatchObject({ state: 'alive', liveAgents: 1 });
  }, 20_000);
  await pi.prompt('and now');
  expect(results().at(-1)).toContain('is idle');

  await pi.close(20_000);
  expect((await sessions()).map(({ liveAgents }) => liveAgents)).toEqual([0, 0]);
}, 120_000);
