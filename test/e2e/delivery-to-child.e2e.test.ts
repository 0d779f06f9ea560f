/**
 * Nothing sent to a child is lost and nothing arrives twice, whatever its Pi is doing meanwhile.
 *
 * One real Pi, one session: each test leaves it idle.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { heldStep, limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';
import type { ModelReply, ModelRequest, ModelStep } from '../support/scripted-model.ts';

const look: ModelReply = { text: 'I look.', toolCalls: [call('ls', { path: '.' })] };

/** Answers every question that the model was shown and has not answered yet. */
function answerAll({ messages }: ModelRequest): ModelReply {
  const shown = messages.flatMap(({ text }) =>
    [...text.matchAll(/Answer with shepherd_message, .*replyTo "([^"]+)"/g)].map(([, id]) => id),
  );
  return {
    toolCalls: shown.map((replyTo) =>
      call('shepherd_message', { target: 'shepherd', replyTo, message: `about ${replyTo}` }),
    ),
  };
}

const countOf = (texts: readonly string[], word: string): number =>
  texts.join('\n').split(word).length - 1;

/** Ids of a plain message, a followUp question, a steer question and a plain message. */
type Sent = readonly [string, string, string, string];

interface Lanes {
  readonly passive: readonly string[];
  readonly waking: readonly string[];
}

/** Each once, in the order of sending within its lane; steer goes before followUp. */
const inOrder = ([first, end, soon, second]: Sent): Lanes => ({
  passive: [first, second],
  waking: [soon, end],
});

describe('a real Pi child', () => {
  let herd: PiChildren;
  let scout: string;

  beforeAll(async () => {
    herd = await openPiChildren();
    ({ id: scout } = await herd.shepherd.spawn({ agent: 'scout', label: 'd' }));
  });
  afterAll(() => herd.close());

  async function tell(
    message: string,
    how: { readonly ask?: boolean; readonly steer?: boolean } = {},
  ): Promise<string> {
    const { messageId } = await herd.shepherd.message({
      target: scout,
      message,
      expectsReply: how.ask ?? false,
      delivery: how.steer === true ? 'steer' : 'followUp',
    });
    return messageId;
  }

  /** Two plain messages and a question of each kind, held by the child while it cannot take them. */
  async function tellMuch(word: string): Promise<Sent> {
    const ids: Sent = [
      await tell(`${word} plain one`),
      await tell(`${word} asked at the end`, { ask: true }),
      await tell(`${word} asked soon`, { ask: true, steer: true }),
      await tell(`${word} plain two`),
    ];
    await herd.holds(scout, ids);
    return ids;
  }

  /** Waits until the model of scout was asked so often in all. */
  async function asked(count: number): Promise<readonly ModelRequest[]> {
    await vi.waitFor(() => expect(herd.requests('scout').length).toBe(count), limits);
    return herd.requests('scout');
  }

  async function isIdle(): Promise<void> {
    await vi.waitFor(() => expect(herd.shepherd.status(scout).state).toBe('idle'), limits);
  }

  /** What the session has of these, by lane and in its order, once the model has seen all of them. */
  async function received([first, end, soon, second]: Sent): Promise<Lanes> {
    await vi.waitFor(() => {
      const receipts = [first, end, soon, second].map(receiptOf);
      expect(receipts).not.toContain('queued');
      expect(receipts).not.toContain('delivered');
    }, limits);
    return { passive: storedOf([first, second]), waking: storedOf([soon, end]) };
  }

  const receiptOf = (id: string) => herd.shepherd.messages(id)[0]?.receipt;
  const storedOf = (ids: readonly string[]): readonly string[] =>
    herd
      .stored(scout)
      .map(({ details }) => String(details['id']))
      .filter((id) => ids.includes(id));

  /** Has the model asked once so far, held in its answer, before the messages come. */
  async function wake(...steps: readonly ModelStep[]): Promise<number> {
    const before = herd.requests('scout').length;
    herd.script('scout', ...steps);
    await tell('begin', { ask: true });
    await asked(before + 1);
    return before;
  }

  it('gets steer at the next safe point of a long turn, followUp after the work', async () => {
    const first = heldStep(look);
    herd.script('scout', first.step, look, { text: 'I have looked.' }, answerAll, {
      toolCalls: [call('shepherd_done', { status: 'completed', summary: 'Looked.' })],
    });
    const { taskId } = await herd.shepherd.delegate({ target: scout, task: 'Look around.' });
    await asked(1);

    const ids = await tellMuch('turn');
    first.letGo();
    const result = await herd.shepherd.settled(taskId);

    const shown = (await asked(5)).map(({ messages }) => messages.map(({ text }) => text));
    expect(shown.map((texts) => countOf(texts, 'turn asked soon'))).toEqual([0, 1, 1, 1, 1]);
    expect(shown.map((texts) => countOf(texts, 'turn plain'))).toEqual([0, 2, 2, 2, 2]);
    expect(shown.map((texts) => countOf(texts, 'turn asked at the end'))).toEqual([0, 0, 0, 1, 1]);
    expect(result).toMatchObject({ status: 'completed', summary: 'Looked.' });
    expect(await received(ids)).toEqual(inOrder(ids));
    expect(ids.map(receiptOf)).toEqual(['seen', 'answered', 'answered', 'seen']);
    await isIdle();
  });

  it('gets what waited when its turn is interrupted', async () => {
    const before = await wake({ hang: true }, { text: 'Soon.' }, { text: 'At the end.' });

    const ids = await tellMuch('interrupt');
    await herd.shepherd.interrupt(scout);

    await asked(before + 3);
    expect(await received(ids)).toEqual(inOrder(ids));
    await isIdle();
  });

  it('gets what waited when its task is cancelled, and hears of that once', async () => {
    const before = herd.requests('scout').length;
    herd.script('scout', { hang: true }, { text: 'Soon.' }, { text: 'At the end.' });
    const { taskId } = await herd.shepherd.delegate({ target: scout, task: 'Never ends.' });
    await asked(before + 1);

    const ids = await tellMuch('cancel');
    herd.shepherd.cancel(taskId, 'not needed any more');

    await asked(before + 3);
    expect(await received(ids)).toEqual(inOrder(ids));
    await isIdle();
    const closed = herd
      .stored(scout)
      .filter(({ customType }) => customType === 'shepherd.task.closed');
    expect(closed).toMatchObject([{ content: expect.stringContaining('not needed any more') }]);
    expect(herd.shepherd.task(taskId).result).toMatchObject({ returnCode: 130 });
  });

  it('gets what waited when its turn fails', async () => {
    const failing = heldStep({ status: 400, error: 'the model is on fire' });
    const before = await wake(failing.step, { text: 'Soon.' }, { text: 'At the end.' });

    const ids = await tellMuch('fail');
    failing.letGo();

    await asked(before + 3);
    expect(await received(ids)).toEqual(inOrder(ids));
    await isIdle();
  });

  it('gets what came during a compaction, afterwards', async () => {
    const summary = heldStep({ text: 'What happened so far.' });
    const before = herd.requests('scout').length;
    herd.script('summary', summary.step, summary.step);
    herd.script('scout', { text: 'Soon.' }, { text: 'At the end.' });
    await herd.compact(scout);
    await vi.waitFor(() => expect(herd.requests('summary').length).toBeGreaterThan(0), limits);

    const ids = await tellMuch('compact');
    expect(storedOf(ids)).toEqual([]);
    summary.letGo();

    await asked(before + 2);
    expect(await received(ids)).toEqual(inOrder(ids));
    await isIdle();
  });

  it('has no message twice at the end of all this', () => {
    const ids = herd.stored(scout).map(({ details }) => details['id']);

    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
