/** Questions that cross, a recipient that is closed, a sender that is too fast: with real Pi children. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { heldStep, limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';
import type { ModelReply, ModelRequest, ModelStep } from '../support/scripted-model.ts';

const one = (name: string, args: object): ModelReply => ({ toolCalls: [call(name, args)] });
const done = (summary: string): ModelReply =>
  one('shepherd_done', { status: 'completed', summary });
const ask = (target: string): ModelReply =>
  one('shepherd_message', { target, message: 'After you?', expectsReply: true });

/** Goes on by what it was shown last, as a sensible model would. */
const goOn: ModelStep = ({ last, messages }) => {
  const [, target, replyTo] = /target "([^"]+)", replyTo "([^"]+)"/.exec(last) ?? [];
  if (replyTo !== undefined) {
    return one('shepherd_message', { target, replyTo, message: 'After you.' });
  }
  if (last.startsWith('wait_cycle')) return done('Went on without.');
  if (last.startsWith('[Reply]')) return done('Was answered.');
  if (last.includes('will not answer')) return done('Nobody is left to ask.');
  const isRefused = messages.slice(-4).some(({ text }) => text.startsWith('rate_limited'));
  return isRefused ? done('Wrote too much.') : { text: 'Noted.' };
};

describe('a conversation of real Pi children', () => {
  let herd: PiChildren;
  let scout: string;
  let planner: string;
  /** What a child says to its next task or question, before it goes on by what it is shown. */
  const first: Readonly<Record<string, ModelStep[]>> = { scout: [], planner: [] };

  beforeAll(async () => {
    herd = await openPiChildren({ messagesPerMinute: 3 });
    for (const [name, steps] of Object.entries(first)) {
      const step: ModelStep = (request) => {
        const isNew = /^\[(Task|Question)/.test(request.last);
        const next = (isNew ? steps.shift() : undefined) ?? goOn;
        return typeof next === 'function' ? next(request) : next;
      };
      herd.script(name, ...Array.from({ length: 40 }, () => step));
    }
    const spawned = await Promise.all(
      ['scout', 'planner'].map((agent) => herd.shepherd.spawn({ agent, label: agent })),
    );
    [scout, planner] = spawned.map(({ id }) => id) as [string, string];
  });
  afterAll(() => herd.close());

  async function requested(name: string, count: number): Promise<readonly ModelRequest[]> {
    await vi.waitFor(
      () => expect(herd.requests(name).length).toBeGreaterThanOrEqual(count),
      limits,
    );
    return herd.requests(name);
  }

  it('refuses exactly one of two crossing questions, with the path; both tasks end', async () => {
    const held = { scout: heldStep(ask('planner')), planner: heldStep(ask('scout')) };
    first['scout']?.push(held.scout.step);
    first['planner']?.push(held.planner.step);
    const tasks = await Promise.all(
      [scout, planner].map((target) => herd.shepherd.delegate({ target, task: 'Ask the other.' })),
    );
    await Promise.all(['scout', 'planner'].map((name) => requested(name, 1)));

    for (const { letGo } of Object.values(held)) letGo();
    const ends = await Promise.all(tasks.map(({ taskId }) => herd.shepherd.settled(taskId)));

    const answers = ['scout', 'planner'].map((name) => herd.requests(name)[1]?.last ?? '');
    const refused = answers.filter((text) => text.startsWith('wait_cycle: '));
    expect(refused).toEqual([expect.stringMatching(/(scout|planner): \w+ → .* → \w+: \w+/)]);
    expect(answers.filter((text) => text.includes('is accepted'))).toHaveLength(1);
    expect(new Set(ends.map(({ summary }) => summary))).toEqual(
      new Set(['Was answered.', 'Went on without.']),
    );
    const requests = tasks.flatMap(({ taskId }) => herd.shepherd.task(taskId).requests);
    expect(requests).toMatchObject([{ state: 'answered' }]);
  });

  it('tells a sender as its tool result that it writes too often', async () => {
    const write = call('shepherd_message', { target: 'shepherd', message: 'Hello.' });
    first['scout']?.push({ toolCalls: [write, write, write, write] });
    const { taskId } = await herd.shepherd.delegate({ target: scout, task: 'Write.' });

    await herd.shepherd.settled(taskId);

    const shown = herd.requests('scout').at(-1)?.messages.slice(-4) ?? [];
    const texts = shown.map(({ text }) => text);
    expect(texts.filter((text) => text.includes('is accepted'))).toHaveLength(3);
    expect(texts.filter((text) => text.startsWith('rate_limited: '))).toEqual([
      expect.stringMatching(/3 messages a minute to the Shepherd .* wait \d+ s/),
    ]);
  });

  it('resolves a question at once when its recipient is closed', async () => {
    const before = herd.requests('planner').length;
    first['planner']?.push({ hang: true });
    first['scout']?.push(ask('planner'));
    const { taskId } = await herd.shepherd.delegate({ target: scout, task: 'Ask planner.' });
    await requested('planner', before + 1);

    await herd.shepherd.close(planner);
    const result = await herd.shepherd.settled(taskId);

    const { states, requests } = herd.shepherd.task(taskId);
    expect(requests).toMatchObject([{ state: 'recipient_gone', recipientId: planner }]);
    expect(states.map(({ state }) => state)).toEqual([
      'created',
      'running',
      'waiting',
      'running',
      'completed',
    ]);
    expect(result).toMatchObject({ returnCode: 0, summary: 'Nobody is left to ask.' });
  });
});
