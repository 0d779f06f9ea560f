/** Pi is killed while its model thinks about what a herd said: it is not lost, and not told twice. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { answer, ask, complete, delegate, spawn, watchTasks } from '../../src/cli/demo/phrases.ts';
import { listPendingMail } from '../../src/mailbox/pending-mail.ts';
import { heldStep, limits } from '../support/pi-children.ts';
import {
  isAlive,
  kill,
  openPiProject,
  sessionFileOf,
  storedIn,
  type PiProject,
} from '../support/pi-project.ts';
import type { PiRpc } from '../support/pi-rpc.ts';
import type { ModelStep } from '../support/scripted-model.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

const parts = [{ agent: 'scout', label: 'survey', task: 'Survey this project.' }];
const free: ModelStep = { text: 'I am free until I am woken.' };

interface Saying {
  /** What the Shepherd does once scout is there. */
  readonly shepherd: readonly ModelStep[];
  /** With what scout ends. */
  readonly scout: ModelStep;
  readonly envelope: 'task_done' | 'reply';
  readonly customType: string;
}

const completion: Saying = {
  shepherd: [delegate(parts), watchTasks, free],
  scout: complete('A newcomer begins with the mailbox.'),
  envelope: 'task_done',
  customType: 'shepherd.task.completion',
};
const reply: Saying = {
  shepherd: [ask('scout', 'Where does a newcomer begin?'), free],
  scout: (request) => answer(request, 'With the mailbox.'),
  envelope: 'reply',
  customType: 'shepherd.message.reply',
};
const sayings = [
  ['the completion', completion],
  ['the reply to its question', reply],
] as const;

/** Longer than a piece of the stream, so that the model stands still in the middle of it. */
const beginning = 'I begin to think about what scout has said';
const midAnswer: ModelStep = { text: `${beginning}, and never end.`, pieceDelayMs: 600_000 };
/** Before its first word. */
const silent: ModelStep = { hang: true };

interface Scene {
  readonly project: PiProject;
  /** Of scout. */
  readonly childPid: number;
}

/** Kills the Shepherd's Pi while scout works; scout then says it to nobody. */
async function killedWhileScoutWorks(
  { shepherd, scout, envelope }: Saying,
  then: readonly ModelStep[],
): Promise<Scene> {
  const held = heldStep(scout);
  const project = await openPiProject({
    shepherd: [spawn(parts), ...shepherd, ...then],
    scout: [held.step, { text: 'Said.' }],
  });
  undo.push(() => project.close());
  const first = await project.start();
  await first.prompt('go', 60_000);
  await vi.waitFor(() => expect(project.requests('scout')).toHaveLength(1), limits);
  const { store, dir } = await project.openStore();
  const [childPid = 0] = store.all('agent').flatMap(({ pid }) => pid ?? []);
  await kill(first);
  held.letGo();
  await vi.waitFor(
    () =>
      expect(listPendingMail(join(dir, 'mailbox'))).toContainEqual(
        expect.objectContaining({
          end: 'outbox',
          envelope: expect.objectContaining({ kind: envelope }),
        }),
      ),
    limits,
  );
  return { project, childPid };
}

/** Resolves once the Pi has been shown a message of this kind, and its model has begun to answer. */
async function thinksOf(pi: PiRpc, customType: string, word = beginning.slice(0, 20)) {
  await pi.waitFor((record) => isCustom(record['message'], customType), 60_000);
  await pi.waitFor(
    (record) => record.type === 'message_update' && JSON.stringify(record).includes(word),
    60_000,
  );
}

function isCustom(message: unknown, customType: string): boolean {
  return (message as { customType?: unknown } | undefined)?.customType === customType;
}

it.each(sayings)(
  'tells %s to the next Pi that adopts the herd, when the one before was killed while it thought',
  async (_name, saying) => {
    const { project, childPid } = await killedWhileScoutWorks(saying, [
      midAnswer,
      { text: 'Noted.' },
    ]);

    const second = await project.start();
    await second.request({ type: 'prompt', message: '/shepherd adopt 0001' });
    await thinksOf(second, saying.customType);
    const secondFile = await sessionFileOf(second);
    expect(existsSync(secondFile)).toBe(false);
    await kill(second);
    expect(isAlive(childPid)).toBe(true);

    const third = await project.start();
    await third.request({ type: 'prompt', message: '/shepherd adopt 0001' });
    await thinksOf(third, saying.customType, 'Noted.');
    await third.waitFor(({ type }) => type === 'agent_settled');
    const thirdFile = await sessionFileOf(third);
    expect(storedIn(thirdFile, saying.customType)).toHaveLength(1);
    expect(project.requests('shepherd').at(-1)?.last).toContain('mailbox');

    await third.close(20_000);
    expect(storedIn(thirdFile, saying.customType)).toHaveLength(1);
    expect(isAlive(childPid)).toBe(false);
  },
  180_000,
);

const again = 'This session ended before you could act on the message above.';

it.each([
  ['in the middle of its answer', midAnswer],
  ['before its first word', silent],
])(
  'asks the model once more about what it was killed over %s',
  async (_name, thought) => {
    const { project } = await killedWhileScoutWorks(completion, [thought, { text: 'Noted.' }]);
    const { customType } = completion;

    const second = await project.start('-c');
    await second.waitFor((record) => isCustom(record['message'], customType), 60_000);
    const file = await sessionFileOf(second);
    await vi.waitFor(() => {
      expect(storedIn(file, customType)).toHaveLength(1);
      expect(project.requests('shepherd').at(-1)?.last).toContain('mailbox');
    }, limits);
    if (thought === midAnswer) await thinksOf(second, customType);
    const asked = project.requests('shepherd').length;
    await kill(second);

    const third = await project.start('-c');
    await thinksOf(third, 'shepherd.notice', 'Noted.');
    await third.waitFor(({ type }) => type === 'agent_settled');

    const [request, ...more] = project.requests('shepherd').slice(asked);
    expect(more).toEqual([]);
    expect(request?.last).toContain(again);
    expect(request?.messages.at(-2)?.text).toContain('mailbox');
    await third.close(20_000);
    expect(storedIn(file, customType)).toHaveLength(1);
  },
  180_000,
);

it.each([
  ['in the middle of it', midAnswer],
  ['before its first word', silent],
])(
  'does not ask again about an answer that its user aborted %s',
  async (_name, thought) => {
    const { project } = await killedWhileScoutWorks(completion, [thought, { text: 'Here.' }]);
    const { customType } = completion;
    const second = await project.start('-c');
    await second.waitFor((record) => isCustom(record['message'], customType), 60_000);
    if (thought === midAnswer) await thinksOf(second, customType);
    await vi.waitFor(
      () => expect(project.requests('shepherd').at(-1)?.last).toContain('mailbox'),
      limits,
    );
    await second.request({ type: 'abort' });
    await second.waitFor(({ type }) => type === 'agent_settled');
    const asked = project.requests('shepherd').length;
    await kill(second);

    const third = await project.start('-c');
    await third.prompt('Are you there?', 60_000);

    const [request, ...more] = project.requests('shepherd').slice(asked);
    expect(more).toEqual([]);
    expect(request?.last).toBe('Are you there?');
    const file = await sessionFileOf(third);
    await third.close(20_000);
    expect(storedIn(file, customType)).toHaveLength(1);
    expect(
      storedIn(file, 'shepherd.notice').filter(({ content }) => content.includes(again)),
    ).toEqual([]);
  },
  180_000,
);
