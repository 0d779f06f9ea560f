/** What the runtime hears of its notices: read by the model, or never taken by Pi. */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { expect, it } from 'vitest';
import type { OpenShepherdOptions } from '../../src/pi/parent/herd-of-session.ts';
import { registerParent } from '../../src/pi/parent/session.ts';
import type { Notice } from '../../src/runtime/shepherd.ts';
import { createHandShepherd } from './support/hand-shepherd.ts';
import { says, startPi } from './support/pi-session.ts';
import { until } from './support/until.ts';

/** A parent whose runtime opens with the session. */
async function setUp(change: (api: ExtensionAPI) => ExtensionAPI = (api) => api) {
  const { shepherd, calls } = createHandShepherd();
  const openings: OpenShepherdOptions[] = [];
  const pi = await startPi({
    extensions: [
      (api) =>
        registerParent(change(api), {
          open: (options) => {
            openings.push(options);
            return Promise.resolve(shepherd);
          },
          hasHerd: () => true,
        }),
    ],
  });
  await until(() => expect(openings).toHaveLength(1));
  const seen = () => calls.filter(([name]) => name === 'seen');
  return { pi, seen, notify: openings[0]!.notify };
}

const notice = (id: string, wake = false): Notice => ({
  id,
  kind: 'shepherd.message.incoming',
  text: `text of ${id}`,
  wake,
  deliverAs: 'steer',
  details: {},
  atMs: 0,
});

it('notes those that the model has read in one call, once', async () => {
  const { pi, seen, notify } = await setUp();
  await Promise.all([notify(notice('a')), notify(notice('b'))]);
  expect(seen()).toEqual([]);
  pi.script(says('Noted.'), says('And on.'));

  await notify(notice('c', true));
  await pi.session.waitForIdle();
  await pi.session.prompt('go on');

  expect(seen()).toEqual([['seen', ['a', 'b', 'c']]]);
});

it('notes nothing for an answer that failed', async () => {
  const { pi, seen, notify } = await setUp();
  await notify(notice('a'));
  pi.script(says('', { stopReason: 'error', errorMessage: '500: down' }), says('Noted.'));

  await pi.session.prompt('go');
  expect(seen()).toEqual([]);
  await pi.session.prompt('again');

  expect(seen()).toEqual([['seen', ['a']]]);
});

it('rejects one that Pi has taken three times and never stored', async () => {
  let given = 0;
  const { seen, notify } = await setUp(
    (api) =>
      new Proxy(api, {
        get: (target, name) =>
          name === 'sendMessage' ? () => (given += 1) : (Reflect.get(target, name) as unknown),
      }),
  );

  await expect(notify(notice('a'))).rejects.toMatchObject({ code: 'uncertain', retryable: false });

  expect([given, seen()]).toEqual([3, []]);
});
