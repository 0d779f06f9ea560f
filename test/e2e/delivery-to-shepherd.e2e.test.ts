/**
 * Nothing sent to the Shepherd's own session is lost and nothing arrives twice, whatever its Pi is
 * doing meanwhile; and its tools for tasks: queue, cancel, status.
 *
 * Two real Pi, one session: each test leaves both idle.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Table, Tables } from '../../src/runtime/records.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import { listSessions } from '../../src/runtime/sessions.ts';
import { heldStep, limits } from '../support/pi-children.ts';
import { call, lastId, startPiShepherd, type PiShepherd } from '../support/pi-shepherd.ts';
import type { ModelReply, ModelRequest, ModelStep } from '../support/scripted-model.ts';

const one = (name: string, args: object): ModelReply => ({ toolCalls: [call(name, args)] });
const delegate = (args: object = {}): ModelReply =>
  one('shepherd_delegate', { target: 'scout', task: 'Ask me.', ...args });
const done = one('shepherd_done', { status: 'completed', summary: 'Asked.' });

/** What scout says: two plain messages around a question, in one go. */
function saying(word: string): ModelReply {
  const say = (message: string, expectsReply: boolean) =>
    call('shepherd_message', { target: 'parent', message: `${word} ${message}`, expectsReply });
  return {
    toolCalls: [say('plain one', false), say('asked', true), say('plain two', false)],
  };
}

/** Answers the question that the model was shown last. */
const answer: ModelStep = ({ messages }) => {
  const text = messages.findLast((message) => message.text.includes('with replyTo'))?.text ?? '';
  const [, replyTo] = /with replyTo "([^"]+)"/.exec(text) ?? [];
  return one('shepherd_message', { target: 'scout', replyTo, message: 'Because.' });
};

/** What the Shepherd's session has. */
interface Heard {
  /** Scout's plain messages, in its order. */
  readonly plain: readonly string[];
  /** How often its question. */
  readonly asked: number;
  /** Notice ids that the runtime sent and the session has not, or has more than once. */
  readonly missing: readonly string[];
  readonly doubled: readonly unknown[];
}
const onceEach: Heard = { plain: ['one', 'two'], asked: 1, missing: [], doubled: [] };

describe('the Shepherd in a real Pi', () => {
  let shepherd: PiShepherd;
  let storePath: string;

  beforeAll(async () => {
    shepherd = await startPiShepherd({
      shepherd: [one('shepherd_spawn', { agent: 'scout', label: 's' }), { text: 'Scout is here.' }],
    });
    await shepherd.prompt('spawn');
    const stateDir = join(shepherd.isolated.workDir, '.shepherd', 'sessions');
    const [session] = await listSessions(stateDir);
    storePath = join(stateDir, session?.name ?? '', 'session.db');
  });
  afterAll(() => shepherd.close());

  function readAll<T extends Table>(table: T): readonly Tables[T][] {
    const store = openSessionStore(storePath, { readOnly: true });
    try {
      return store.all(table);
    } finally {
      store.close();
    }
  }
  const notices = () => readAll('notice');
  const undelivered = () => notices().filter(({ delivered }) => !delivered);

  const requestsOf = (role: string): readonly ModelRequest[] =>
    shepherd.requests.filter(({ queue }) => queue === role);

  async function asked(role: string, count: number): Promise<void> {
    await vi.waitFor(() => expect(requestsOf(role).length).toBe(count), limits);
  }

  /** Waits until scout has said its three things, which the session does not have, and is idle. */
  async function scoutWaits(): Promise<void> {
    await vi.waitFor(() => {
      expect(undelivered()).toHaveLength(3);
      expect(readAll('agent')).toMatchObject([{ state: 'idle' }]);
    }, limits);
  }

  /** What the session has of scout's words, once scout was answered and both are idle. */
  async function heard(word: string): Promise<Heard> {
    await vi.waitFor(async () => {
      expect(requestsOf('scout').at(-1)?.last).toContain('Because.');
      expect(undelivered()).toEqual([]);
      expect(notices().at(-1)?.notice.text).toContain('Asked.');
      const { data } = await shepherd.rpc.request({ type: 'get_state' });
      expect(data).toMatchObject({ isStreaming: false });
    }, limits);
    const stored = await shepherd.stored();
    const ids = stored.map(({ details }) => details['id']);
    return {
      plain: stored.flatMap(
        ({ content }) => new RegExp(`${word} plain (\\w+)`).exec(content)?.[1] ?? [],
      ),
      asked: stored.filter(({ content }) => content.includes(`${word} asked`)).length,
      missing: notices().flatMap(({ id }) => (ids.includes(id) ? [] : id)),
      doubled: ids.filter((id, at) => ids.indexOf(id) < at),
    };
  }

  /** Has the Shepherd delegate, and holds its next answer, in which scout writes to it. */
  async function holdBusy(word: string, reply: ModelReply, ...then: ModelStep[]) {
    const { step, letGo } = heldStep(reply);
    shepherd.script('scout', saying(word), { text: 'I wait.' }, done);
    shepherd.script('shepherd', delegate(), step, ...then);
    await shepherd.rpc.request({ type: 'prompt', message: word });
    await scoutWaits();
    return letGo;
  }

  it('hears questions at the next safe point of a long turn', async () => {
    const before = requestsOf('shepherd').length;
    const status = one('shepherd_status', { id: 'scout' });
    const letGo = await holdBusy('turn', status, answer, { text: 'Answered.' });

    letGo();
    await asked('shepherd', before + 4);
    expect(await heard('turn')).toEqual(onceEach);

    const [, , third] = requestsOf('shepherd').slice(before);
    expect(third?.messages.filter(({ text }) => text.includes('turn asked'))).toHaveLength(1);
    expect(third?.messages.filter(({ text }) => text.includes('turn plain'))).toHaveLength(2);
    expect(shepherd.results().findLast((text) => text.startsWith('Agent scout: s'))).toMatch(
      /is waiting on the Shepherd.*\nTask: Ask me\.\nLatest messages/s,
    );
  });

  it('hears what waited when the user aborts its turn', async () => {
    const before = requestsOf('shepherd').length;
    await holdBusy('abort', { text: 'never said' }, answer, { text: 'Answered.' });

    // What Escape does in the terminal.
    await shepherd.rpc.request({ type: 'clear_queue' });
    await shepherd.rpc.request({ type: 'abort' });

    await asked('shepherd', before + 4);
    expect(await heard('abort')).toEqual(onceEach);
  });

  it('hears what waited when its turn fails', async () => {
    const before = requestsOf('shepherd').length;
    const failure = { status: 400, error: 'the model is on fire' };
    const letGo = await holdBusy('fail', failure, answer, { text: 'Answered.' });

    letGo();

    await asked('shepherd', before + 4);
    expect(await heard('fail')).toEqual(onceEach);
  });

  it('hears what came during a compaction, afterwards', async () => {
    const [scout, summary] = [heldStep(saying('compact')), heldStep({ text: 'So far.' })];
    const before = requestsOf('shepherd').length;
    shepherd.script('scout', scout.step, { text: 'I wait.' }, done);
    shepherd.script('shepherd', delegate(), { text: 'Delegated.' }, answer, { text: 'Answered.' });
    shepherd.script('summary', summary.step, summary.step);
    await shepherd.prompt('compact');
    const compacted = shepherd.rpc.request({ type: 'compact' });
    await vi.waitFor(() => expect(requestsOf('summary').length).toBeGreaterThan(0), limits);

    scout.letGo();
    await scoutWaits();
    summary.letGo();
    await compacted;

    await asked('shepherd', before + 4);
    expect(await heard('compact')).toEqual(onceEach);
  });

  it('queues a task, shows its place, cancels it and the running one', async () => {
    shepherd.script('scout', { hang: true });
    shepherd.script(
      'shepherd',
      delegate({ task: 'The first.' }),
      delegate({ task: 'The second.', queue: true, idempotencyKey: 'second' }),
      delegate({ task: 'The second.', queue: true, idempotencyKey: 'second' }),
      (request) => one('shepherd_status', { id: lastId(request, 'task') }),
      (request) => one('shepherd_cancel', { id: lastId(request, 'task'), reason: 'Enough.' }),
      ({ messages }) => {
        const text = messages.findLast((message) => message.text.includes('is running at'))?.text;
        return one('shepherd_cancel', { id: /shepherd-task-\w+/.exec(text ?? '')?.[0] });
      },
      { text: 'Cancelled.' },
    );

    await shepherd.prompt('queue');

    const [second, again, status, held, running] = shepherd.results().slice(-5);
    expect(second).toMatch(/is held, number 1 in the queue of shepherd-agent-/);
    expect(again).toBe(second);
    expect(status).toMatch(/is held, number 1 in the queue\.\nTask: The second\./);
    expect([held, running]).toEqual(Array(2).fill(expect.stringMatching(/^Task .* is cancelled/)));
    await vi.waitFor(() => expect(undelivered()).toEqual([]), limits);
    const told = (await shepherd.stored()).map(({ content }) => content);
    expect(told.filter((text) => / cancelled\. cancelled: Enough\./.test(text))).toHaveLength(1);
  });

  it('has nothing twice at the end of all this', async () => {
    const ids = (await shepherd.stored()).map(({ details }) => details['id']);

    expect(ids.length).toBeGreaterThan(15);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
