/** `/shepherd inspect` on real Pi: a page for as long as the session lives. */
import { afterEach, expect, it } from 'vitest';
import { call, startPiShepherd, type PiShepherd } from '../support/pi-shepherd.ts';

let shepherd: PiShepherd | undefined;
afterEach(() => shepherd?.close());

it('opens a page over the herd of a Pi session, and closes it with the session', async () => {
  shepherd = await startPiShepherd({
    shepherd: [
      { toolCalls: [call('shepherd_spawn', { agent: 'scout', label: 'survey' })] },
      { text: 'Spawned.' },
    ],
    scout: [],
  });
  const { rpc } = shepherd;
  await shepherd.prompt('go');
  const page = async (): Promise<string> => {
    const from = rpc.records.length;
    rpc.send({ type: 'prompt', message: '/shepherd inspect' });
    const said = await rpc.waitFor(
      (record) => record['method'] === 'notify' && rpc.records.indexOf(record) >= from,
      20_000,
    );
    return /http:\S+/.exec(String(said['message']))?.[0] ?? String(said['message']);
  };

  const url = await page();

  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-z]{64}\/$/);
  expect(await page()).toBe(url);
  expect(await (await fetch(url)).text()).toContain('Sheepfold inspector');
  for (const file of ['web/main.ts', 'lib/preact.js', 'charts/agent.svg']) {
    expect((await fetch(`${url}${file}`)).status).toBe(200);
  }
  expect(await (await fetch(`${url}api/names`)).json()).toMatchObject({
    agents: [{ agent: 'scout', label: 'survey' }],
  });
  expect(await (await fetch(`${url}api/session`)).json()).toMatchObject({ isLive: true });

  await shepherd.close();
  shepherd = undefined;
  await expect(fetch(url)).rejects.toThrow('fetch failed');
}, 120_000);
