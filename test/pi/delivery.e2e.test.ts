import { SessionManager, type ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { describe, expect, it } from 'vitest';
import { registerDelivery } from '../../src/pi/delivery-hooks.ts';
import type { Delivery, DeliveryItem } from '../../src/pi/delivery.ts';
import { createGate, type Gate } from './support/gate.ts';
import { calls, says, startPi, type PiSession } from './support/pi-session.ts';
import { until } from './support/until.ts';

interface Setup {
  readonly pi: PiSession;
  readonly delivery: Delivery;
  readonly api: ExtensionAPI;
  readonly deliver: (
    id: string,
    how: 'steer' | 'followUp' | 'passive',
  ) => ReturnType<Delivery['deliver']>;
  /** Holds the tool `wait` until it is opened. */
  readonly gate: Gate;
}

async function setUp(sessionManager?: SessionManager): Promise<Setup> {
  const gate = createGate();
  let registered: { readonly api: ExtensionAPI; readonly delivery: Delivery } | undefined;
  const pi = await startPi({
    ...(sessionManager === undefined ? {} : { sessionManager }),
    extensions: [
      (api) => {
        registered = { api, delivery: registerDelivery(api) };
        api.registerTool({
          name: 'wait',
          label: 'Wait',
          description: 'Waits.',
          parameters: { type: 'object', properties: {} },
          async execute(_id, _parameters, signal) {
            const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
            await Promise.race([gate.passed, aborted]);
            return { content: [{ type: 'text', text: 'waited' }], details: undefined };
          },
        });
      },
    ],
  });
  const { api, delivery } = registered!;
  const deliver: Setup['deliver'] = (id, how) =>
    delivery.deliver({
      id,
      customType: 'shepherd.notice',
      text: `text of ${id}`,
      details: { about: 'a test' },
      wake: how !== 'passive',
      deliverAs: how === 'steer' ? 'steer' : ('followUp' satisfies DeliveryItem['deliverAs']),
    });
  return { pi, api, delivery, deliver, gate };
}

const ids = (pi: PiSession) => pi.customEntries().map(({ details }) => details.id);
const waits = () => says([calls('wait', {})], { stopReason: 'toolUse' });

describe('an idle Pi', () => {
  it('gets several messages of one tick, each once, in one turn', async () => {
    const { pi, deliver } = await setUp();
    pi.script(says('thanks'));

    const all = ['a', 'b', 'c', 'd', 'e'].map((id) => deliver(id, 'steer'));

    await expect(Promise.all(all)).resolves.toEqual(Array(5).fill('delivered'));
    await pi.session.waitForIdle();
    expect(ids(pi)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(pi.requests).toEqual([['a', 'b', 'c', 'd', 'e'].map((id) => `text of ${id}`)]);
    expect(pi.errors).toEqual([]);
  });

  it('gets each of several questions of one tick in a turn of its own', async () => {
    const { pi, deliver } = await setUp();
    pi.script(says('to a'), says('to b'), says('to c'));

    await Promise.all(['a', 'b', 'c'].map((id) => deliver(id, 'followUp')));
    await pi.session.waitForIdle();

    expect(ids(pi)).toEqual(['a', 'b', 'c']);
    expect(pi.requests.map((texts) => texts.at(-1))).toEqual([
      'text of a',
      'text of b',
      'text of c',
    ]);
  });

  it('D3: is not woken by passive messages, and its model reads them with the next prompt', async () => {
    const { pi, deliver } = await setUp();

    await Promise.all([deliver('a', 'passive'), deliver('b', 'passive')]);

    expect(pi.session.isIdle).toBe(true);
    expect(pi.requests).toEqual([]);
    pi.script(says('ok'));
    await pi.session.prompt('go');
    expect(pi.requests).toEqual([['text of a', 'text of b', 'go']]);
  });

  it('keeps type, display and details of a message in its session', async () => {
    const { pi, deliver } = await setUp();

    await deliver('a', 'passive');

    expect(pi.customEntries()).toMatchObject([
      {
        customType: 'shepherd.notice',
        content: 'text of a',
        display: true,
        details: { id: 'a', about: 'a test' },
      },
    ]);
  });
});

describe('a busy Pi', () => {
  it('gets steer after the running tools, passive with it, followUp one by one at the end', async () => {
    const { pi, deliver, gate } = await setUp();
    pi.script(waits(), says('read s'), says('read f1'), says('read f2'));
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    const all = [
      deliver('f1', 'followUp'),
      deliver('p', 'passive'),
      deliver('s', 'steer'),
      deliver('f2', 'followUp'),
    ];
    gate.open();
    await run;

    await expect(Promise.all(all)).resolves.toEqual(Array(4).fill('delivered'));
    expect(ids(pi)).toEqual(['p', 's', 'f1', 'f2']);
    expect(pi.requests.map((texts) => texts.at(-1))).toEqual([
      'go',
      'text of s',
      'text of f1',
      'text of f2',
    ]);
    expect(pi.errors).toEqual([]);
  });

  it('prolongs its last turn for a steer message, and not for a passive one', async () => {
    const { pi, deliver } = await setUp();
    const answers = [createGate(), createGate()];
    pi.script(
      async () => {
        await answers[0]!.passed;
        return says('first');
      },
      async () => {
        await answers[1]!.passed;
        return says('second');
      },
    );
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    const steer = deliver('s', 'steer');
    answers[0]!.open();
    await until(() => expect(pi.requests).toHaveLength(2));
    const passive = deliver('p', 'passive');
    answers[1]!.open();
    await run;

    await expect(Promise.all([steer, passive])).resolves.toEqual(['delivered', 'delivered']);
    expect(ids(pi)).toEqual(['s', 'p']);
    expect(pi.requests).toHaveLength(2);
  });

  it('is what loses a message that waits in its own queue when the user presses Escape', async () => {
    const { pi, api } = await setUp();
    pi.script(waits());
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    api.sendMessage(
      { customType: 'shepherd.notice', content: 'lost', display: true, details: { id: 'a' } },
      { triggerTurn: true, deliverAs: 'followUp' },
    );
    // What Pi's interactive mode does on Escape.
    pi.session.clearQueue();
    await pi.session.abort();
    await run;

    expect(ids(pi)).toEqual([]);
  });

  it('D2: loses nothing of ours by an abort; what wakes is read in a new turn', async () => {
    const { pi, deliver } = await setUp();
    pi.script(waits(), says('read f'), says('read s'));
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    const all = [deliver('f', 'followUp'), deliver('s', 'steer'), deliver('p', 'passive')];
    pi.session.clearQueue();
    await pi.session.abort();
    await run;

    await expect(Promise.all(all)).resolves.toEqual(Array(3).fill('delivered'));
    await pi.session.waitForIdle();
    expect(ids(pi)).toEqual(['p', 's', 'f']);
    expect(pi.requests).toHaveLength(3);
  });

  it('D2: is woken anew for a message that came while its tools were aborted', async () => {
    const { pi, deliver } = await setUp();
    pi.script(waits(), says('read s'));
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    const delivered = deliver('s', 'steer');
    await pi.session.abort();
    await run;

    await expect(delivered).resolves.toBe('delivered');
    await pi.session.waitForIdle();
    expect(pi.requests).toHaveLength(2);
    expect(pi.session.getLastAssistantText()).toBe('read s');
  });

  it('goes on in a new run after a failed one', async () => {
    const { pi, deliver } = await setUp();
    const answer = createGate();
    pi.script(async () => {
      await answer.passed;
      return says('', { stopReason: 'error', errorMessage: '500: down' });
    }, says('read it'));
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    const delivered = deliver('a', 'followUp');
    answer.open();
    await run;

    await expect(delivered).resolves.toBe('delivered');
    await pi.session.waitForIdle();
    expect(ids(pi)).toEqual(['a']);
    expect(pi.requests).toHaveLength(2);
  });

  it('keeps a user’s prompt that comes in the same tick', async () => {
    const { pi, deliver } = await setUp();
    pi.script(says('one'), says('two'));

    const run = pi.session.prompt('go');
    const delivered = deliver('a', 'followUp');
    await run;

    await expect(delivered).resolves.toBe('delivered');
    await pi.session.waitForIdle();
    expect(pi.requests.at(-1)).toEqual(['go', 'one', 'text of a']);
    expect(pi.errors).toEqual([]);
  });
});

describe('sessions that end and begin', () => {
  it('D1: does not send again what an earlier process delivered and could not ack', async () => {
    const sessionManager = SessionManager.inMemory('/');
    const first = await setUp(sessionManager);
    await first.deliver('a', 'passive');
    await first.pi.quit();

    const second = await setUp(sessionManager);

    await expect(second.deliver('a', 'passive')).resolves.toBe('delivered');
    expect(ids(second.pi)).toEqual(['a']);
  });

  it('starts no turn while Pi quits, and says session_closed', async () => {
    const { pi, deliver } = await setUp();
    pi.script(waits());
    const run = pi.session.prompt('go');
    await until(() => expect(pi.requests).toHaveLength(1));

    const delivered = deliver('a', 'followUp');
    await Promise.all([
      pi.quit(),
      expect(delivered).rejects.toMatchObject({ code: 'session_closed' }),
    ]);
    await run;

    expect(pi.requests).toHaveLength(1);
  });
});
