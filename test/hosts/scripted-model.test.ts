/** The scripted model and the isolated Pi as the tests and `sheepfold demo` use them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { BARE_FLAGS, makeIsolatedPi } from '../support/isolated-pi.ts';
import { startPiRpc } from '../support/pi-rpc.ts';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model.ts';

let model: ScriptedModel;
beforeEach(async () => {
  model = await startScriptedModel({
    // The agents share one model id and are told apart by their system prompt.
    route: ({ system, model: id }) => /you are the (\w+)/.exec(system)?.[1] ?? id,
  });
});
afterEach(() => model.close());

function ask(system: string, text: string): Promise<Response> {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: [{ type: 'text', text }] },
  ];
  return fetch(`${model.baseUrl}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages }),
  });
}

describe('scripted model', () => {
  it('plays one queue of steps per agent and records what it was shown', async () => {
    model.push('scout', { text: 'first' }, ({ last }) => ({ text: `second after ${last}` }));
    model.push('m', { text: 'plain' });

    const answers = [];
    for (const [system, text] of [
      ['you are the scout', 'a'],
      ['nobody', 'b'],
      ['you are the scout', 'c'],
    ] as const) {
      answers.push(await (await ask(system, text)).text());
    }

    expect(answers[0]).toContain('"content":"first"');
    expect(answers[1]).toContain('"content":"plain"');
    expect(answers[2]).toContain('"content":"second after c"');
    expect(model.requests).toMatchObject([
      { number: 1, queue: 'scout', system: 'you are the scout', last: 'a' },
      { number: 2, queue: 'm', last: 'b' },
      { number: 3, queue: 'scout', messages: [{ role: 'user', text: 'c' }] },
    ]);
    expect(model.remaining('scout')).toBe(0);
  });

  it('fails with the status of the step, and with 500 when it has none left or the step throws', async () => {
    model.push('m', { status: 429, error: 'slow down' }, () => {
      throw new Error('bad script');
    });

    const answers = [await ask('', 'a'), await ask('', 'b'), await ask('', 'c')];

    expect(answers.map(({ status }) => status)).toEqual([429, 500, 500]);
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(texts[0]).toContain('slow down');
    expect(texts[1]).toContain('bad script');
    expect(texts[2]).toContain('no step left in queue m for request 3');
  });

  it('closes while requests hang or are delayed', async () => {
    model.push('m', { hang: true }, { delayMs: 60_000 });
    const hanging = [ask('', 'a'), ask('', 'b')].map((asked) => asked.catch(() => 'cut'));
    while (model.requests.length < 2) await new Promise(setImmediate);

    await model.close();

    expect(await Promise.all(hanging)).toEqual(['cut', 'cut']);
  });
});

it('drives a real Pi over rpc, its dialogs answered', async () => {
  const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['parent'] });
  model.push('parent', { text: 'Hello from the fold.' });
  const extension = join(isolated.home, 'extension.mjs');
  await writeFile(
    extension,
    `export default (pi) => pi.registerCommand('ask', {
       handler: async (args, ctx) => ctx.ui.notify(String(await ctx.ui.confirm('Sure?', 'Say so.'))),
     });`,
  );
  const pi = await startPiRpc({
    pi: resolvePi(),
    isolated,
    args: ['--no-session', '-e', extension, ...BARE_FLAGS],
    answerDialog: ({ title }) => (title === 'Sure?' ? { confirmed: true } : undefined),
  });

  try {
    await pi.prompt('hello');

    const said = await pi.request({ type: 'get_last_assistant_text' });
    expect(said['data']).toEqual({ text: 'Hello from the fold.' });
    pi.send({ type: 'prompt', message: '/ask' });
    await pi.waitFor(({ method, message }) => method === 'notify' && message === 'true');
    await expect(pi.request({ type: 'set_model', provider: 'no', modelId: 'no' })).rejects.toThrow(
      /set_model: Model not found/,
    );
  } finally {
    expect(await pi.close()).toEqual({ code: 0, signal: null });
    await isolated.remove();
  }
});
