/**
 * A real child that ends its turn without `shepherd_done`: it is reminded once, then the Shepherd is
 * told once.
 *
 * Two real Pis, one session: each test leaves them idle, and scout without a task.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseEnvelope, type Envelope } from '../../src/mailbox/envelope.ts';
import type { Notice } from '../../src/runtime/shepherd.ts';
import { heldStep, limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';
import type { ModelReply, ModelRequest } from '../support/scripted-model.ts';

const done: ModelReply = {
  toolCalls: [call('shepherd_done', { status: 'completed', summary: 'counted' })],
};

/** Answers the question that the model was asked last. */
function answer({ messages }: ModelRequest): ModelReply {
  const text = messages.map((message) => message.text).join('\n');
  const [, target, replyTo] =
    [...text.matchAll(/shepherd_message, target "([^"]+)", replyTo "([^"]+)"/g)].at(-1) ?? [];
  return { toolCalls: [call('shepherd_message', { target, replyTo, message: 'I look for it.' })] };
}

describe('a child that leaves its task open', () => {
  let herd: PiChildren;
  let scout: string;
  const notices: Notice[] = [];

  beforeAll(async () => {
    herd = await openPiChildren();
    herd.shepherd.on((change) => {
      if (change.type === 'notice') notices.push(change.notice);
    });
    const [agent] = await Promise.all([
      herd.shepherd.spawn({ agent: 'scout', label: 's' }),
      herd.shepherd.spawn({ agent: 'planner', label: 'p' }),
    ]);
    scout = agent.id;
  }, 120_000);
  afterAll(() => herd.close());

  /** Requests of earlier tests. */
  let before = 0;
  beforeEach(() => {
    before = herd.requests('scout').length;
    notices.length = 0;
  });

  const asked = () => herd.requests('scout').slice(before);
  const forgotten = () => notices.filter(({ details }) => details['code'] === 'done_forgotten');
  const delegate = async (): Promise<string> =>
    (await herd.shepherd.delegate({ target: scout, task: 'Count the flock.' })).taskId;

  /** Scout's turns so far have ended, and the runtime has heard of it. */
  const rests = (turns: number) =>
    vi.waitFor(() => {
      expect(asked()).toHaveLength(turns);
      expect(herd.shepherd.status(scout).state).toBe('idle');
    }, limits);

  /** Reminders of a task that were ever put into scout's inbox. */
  function reminders(taskId: string): readonly Envelope[] {
    const inbox = join(herd.shepherd.sessionDir, 'mailbox', `${scout}.1`, 'inbox');
    return ['new', 'cur', 'done']
      .flatMap((box) => readdirSync(join(inbox, box)).map((name) => join(inbox, box, name)))
      .map((path) => parseEnvelope(readFileSync(path, 'utf8')))
      .filter(
        (envelope) =>
          envelope.kind === 'notice' &&
          envelope.code === 'done_reminder' &&
          envelope.taskId === taskId,
      );
  }

  it('gets one reminder turn, then the Shepherd one notice that wakes nobody, and no more', async () => {
    herd.script('scout', { text: 'I think that was it.' }, { text: 'As I said.' });

    const taskId = await delegate();

    await vi.waitFor(() => expect(forgotten()).toHaveLength(1), limits);
    expect(forgotten()).toMatchObject([
      { kind: 'shepherd.notice', wake: false, details: { taskId, agentId: scout } },
    ]);
    expect(asked()).toHaveLength(2);
    expect(asked()[1]?.last).toMatch(/^\[Notice\]\n.*Task ID: .* is still open\./s);
    expect(herd.shepherd.task(taskId).state).toBe('running');

    herd.script('scout', answer, { text: 'Told.' }, done);
    const question = { target: scout, message: 'What is missing?', expectsReply: true };
    const { messageId } = await herd.shepherd.message(question);
    await rests(4);
    expect(herd.shepherd.messages(messageId)).toMatchObject([{ receipt: 'answered' }]);
    await herd.shepherd.message({ ...question, message: 'Hand it in.' });

    await expect(herd.shepherd.settled(taskId)).resolves.toMatchObject({ status: 'completed' });
    expect(forgotten()).toHaveLength(1);
    expect(reminders(taskId)).toHaveLength(1);
  });

  it('settles as ever when the reminder helps', async () => {
    herd.script('scout', { text: 'I think that was it.' }, done);

    const taskId = await delegate();

    await expect(herd.shepherd.settled(taskId)).resolves.toMatchObject({
      status: 'completed',
      summary: 'counted',
    });
    await rests(2);
    expect(forgotten()).toEqual([]);
  });

  it('is not reminded while its task waits for a reply', async () => {
    const planning = heldStep(answer);
    herd.script('planner', planning.step, { text: 'Told.' });
    herd.script(
      'scout',
      {
        toolCalls: [
          call('shepherd_message', { target: 'planner', message: 'Where?', expectsReply: true }),
        ],
      },
      { text: 'I wait.' },
      done,
    );

    const taskId = await delegate();
    await rests(2);
    expect(herd.shepherd.task(taskId).state).toBe('waiting');
    planning.letGo();

    await expect(herd.shepherd.settled(taskId)).resolves.toMatchObject({ status: 'completed' });
    expect(reminders(taskId)).toEqual([]);
    await rests(3);
  });

  it('is not reminded after a turn that was aborted', async () => {
    const looking = heldStep({ text: 'too late' });
    herd.script('scout', looking.step);

    const taskId = await delegate();
    await vi.waitFor(() => expect(asked()).toHaveLength(1), limits);
    await herd.shepherd.interrupt(scout);
    await rests(1);
    looking.letGo();
    // Published after whatever the end of that turn led to: mail of one box keeps its order.
    await herd.shepherd.message({ target: scout, message: 'FYI' });

    expect(reminders(taskId)).toEqual([]);
    expect(herd.shepherd.task(taskId).state).toBe('running');
    herd.shepherd.cancel(taskId);
  });

  it('is not reminded after a turn that failed', async () => {
    herd.script('scout', { status: 500, error: 'the model is on fire' });

    const taskId = await delegate();

    await expect(herd.shepherd.settled(taskId)).resolves.toMatchObject({ status: 'failed' });
    await rests(1);
    await herd.shepherd.message({ target: scout, message: 'FYI' });
    expect(reminders(taskId)).toEqual([]);
    expect(forgotten()).toEqual([]);
  });
});
