import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import type { Notice } from '../../src/runtime/shepherd.ts';
import type { TestChild } from '../support/child.ts';
import { openHerd, openWait, textsOf, type TestHerd } from '../support/herd.ts';

const { coalesceMs } = defaultPolicy;
const minuteMs = 60_000;

/** Lets the coalescing window pass and the parent act on it. */
async function pass(herd: TestHerd, child: TestChild, byMs = coalesceMs): Promise<void> {
  herd.advance(byMs);
  await child.roster();
}

/** What the Shepherd has been told of watched tasks. */
function completions(herd: TestHerd): readonly Notice[] {
  return herd.notices.filter((notice) => notice.kind === 'shepherd.task.completion');
}

/** The task ids of each such notice, in its order. */
function toldIds(herd: TestHerd): readonly (readonly string[])[] {
  return completions(herd).map(({ details }) =>
    (details['results'] as { taskId: string }[]).map(({ taskId }) => taskId),
  );
}

/** Agents with a task each. */
async function openFlock(labels: readonly string[]) {
  const herd = await openHerd();
  const flock: { child: TestChild; taskId: string }[] = [];
  for (const label of labels) {
    const child = await herd.hatch(label);
    flock.push({ child, taskId: await herd.delegate(child) });
  }
  return { herd, flock };
}

describe('a watch', () => {
  it('returns at once and tells the outcome once, as a steer with a turn', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    const watch = herd.shepherd.watch(taskId);

    expect(watch).toEqual({
      watcherId: expect.stringMatching(/^shepherd-watch-/),
      taskIds: [taskId],
      pending: [taskId],
      completed: [],
    });
    await one.done('completed', { summary: 'Seven sheep.' });
    expect(herd.notices).toEqual([]);
    await pass(herd, one);
    expect(herd.notices).toMatchObject([
      {
        kind: 'shepherd.task.completion',
        wake: true,
        deliverAs: 'steer',
        text: expect.stringMatching(
          /^Watched task settled: scout: one completed\n\n.*Seven sheep/s,
        ),
        details: {
          watcherId: watch.watcherId,
          results: [{ taskId, status: 'completed', returnCode: 0, agent: 'scout: one' }],
        },
      },
    ]);
    await pass(herd, one, 60 * minuteMs);
    expect(herd.notices).toHaveLength(1);
  });

  it.each([
    ['completed', 0, (_herd: TestHerd, one: TestChild) => one.done('completed')],
    ['failed', 1, (_herd: TestHerd, one: TestChild) => one.done('failed')],
    ['blocked', 2, (_herd: TestHerd, one: TestChild) => one.done('blocked')],
    ['timed_out', 124, (herd: TestHerd) => herd.advance(minuteMs)],
    ['cancelled', 130, (herd: TestHerd, one: TestChild) => herd.shepherd.close(one.id)],
  ] as const)('tells %s with return code %i', async (status, returnCode, settle) => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
    herd.shepherd.watch(taskId);

    await settle(herd, one);
    await herd.shepherd.settled(taskId);
    await pass(herd, two);

    expect(completions(herd)).toMatchObject([
      { details: { results: [{ status, returnCode, ok: returnCode === 0 }] } },
    ]);
    expect(textsOf(herd, 'shepherd.notice')).toEqual([]);
  });

  it('says nothing of waiting, idle and answers', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.shepherd.watch([taskId]);

    one.turn('turn_started');
    one.turn('turn_settled', { content: 'All done!' });
    await pass(herd, one, minuteMs);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    await pass(herd, one, minuteMs);

    expect(herd.notices).toEqual([]);
  });

  it('tells outcomes of one moment together, in the caller’s order', async () => {
    const { herd, flock } = await openFlock(['one', 'two', 'three']);
    const [one, two, three] = flock as [(typeof flock)[0], (typeof flock)[0], (typeof flock)[0]];
    herd.shepherd.watch([three.taskId, one.taskId, two.taskId]);

    await one.child.done('failed');
    await pass(herd, two.child, coalesceMs - 1);
    await three.child.done('completed');
    await pass(herd, two.child, 1);

    expect(toldIds(herd)).toEqual([[three.taskId, one.taskId]]);
    expect(completions(herd)[0]?.text).toContain('scout: three completed, scout: one failed');
    await two.child.done('blocked');
    await pass(herd, two.child);
    expect(toldIds(herd)).toEqual([[three.taskId, one.taskId], [two.taskId]]);
  });

  it('gives back what has settled before, and does not tell it again', async () => {
    const { herd, flock } = await openFlock(['one', 'two']);
    const [one, two] = flock as [(typeof flock)[0], (typeof flock)[0]];
    await one.child.done('completed', { summary: 'Seven.' });

    const watch = herd.shepherd.watch([two.taskId, one.taskId]);

    expect(watch).toMatchObject({
      taskIds: [two.taskId, one.taskId],
      pending: [two.taskId],
      completed: [{ taskId: one.taskId, summary: 'Seven.' }],
    });
    await two.child.done('completed');
    await pass(herd, two.child);
    expect(toldIds(herd)).toEqual([[two.taskId]]);
  });

  it('of nothing but settled tasks tells nothing', async () => {
    const { herd, flock } = await openFlock(['one']);
    const [one] = flock as [(typeof flock)[0]];
    await one.child.done('completed');

    expect(herd.shepherd.watch(one.taskId)).toMatchObject({ pending: [], completed: [{}] });

    await pass(herd, one.child, minuteMs);
    expect(completions(herd)).toEqual([]);
  });

  it('and another one tell the same outcome once each', async () => {
    const { herd, flock } = await openFlock(['one', 'two']);
    const [one, two] = flock as [(typeof flock)[0], (typeof flock)[0]];
    const first = herd.shepherd.watch(one.taskId);
    const second = herd.shepherd.watch([one.taskId, two.taskId]);

    await one.child.done('completed');
    await pass(herd, two.child);
    await two.child.done('completed');
    await pass(herd, two.child, minuteMs);

    expect(completions(herd).map(({ details }) => details['watcherId'])).toEqual([
      first.watcherId,
      second.watcherId,
      second.watcherId,
    ]);
    expect(toldIds(herd)).toEqual([[one.taskId], [one.taskId], [two.taskId]]);
  });

  it('does not tell of the next task of that agent', async () => {
    const { herd, flock } = await openFlock(['one']);
    const [one] = flock as [(typeof flock)[0]];
    herd.shepherd.watch(one.taskId);
    await one.child.done('completed');
    await pass(herd, one.child);

    await herd.delegate(one.child, 'Again.');
    await one.child.done('completed');
    await pass(herd, one.child);

    expect(toldIds(herd)).toEqual([[one.taskId]]);
  });

  it.each([
    ['none', () => [], 'invalid_argument'],
    ['one twice', (id: string) => [id, id], 'invalid_argument'],
    ['an unknown one', (id: string) => [id, 'shepherd-task-000000000000'], 'unknown_task'],
    ['an empty one', (id: string) => [id, ''], 'unknown_task'],
  ] as const)('of %s is refused and watches nothing', async (_name, idsOf, code) => {
    const { herd, flock } = await openFlock(['one']);
    const [one] = flock as [(typeof flock)[0]];

    expect(() => herd.shepherd.watch(idsOf(one.taskId))).toThrow(expect.objectContaining({ code }));

    await one.child.done('completed');
    await pass(herd, one.child);
    expect(herd.notices.map(({ kind }) => kind)).toEqual(['shepherd.notice']);
  });

  it('of an agent is refused and names its task', async () => {
    const { herd, flock } = await openFlock(['one']);
    const [one] = flock as [(typeof flock)[0]];

    expect(() => herd.shepherd.watch(one.child.id)).toThrow(
      expect.objectContaining({
        code: 'unknown_task',
        message: expect.stringContaining(one.taskId) as string,
      }),
    );
  });
});

describe('an outcome that nobody watches', () => {
  it.each([
    ['timed_out', (herd: TestHerd) => herd.advance(minuteMs)],
    ['cancelled', (herd: TestHerd, one: TestChild) => herd.shepherd.close(one.id)],
    ['failed', (herd: TestHerd, one: TestChild) => herd.host.exit(`${one.id}.1`, { code: 1 })],
  ] as const)('is one notice that wakes nobody: %s', async (status, settle) => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);

    await settle(herd, one);
    await herd.shepherd.settled(taskId);
    await pass(herd, two, minuteMs);

    expect(herd.notices).toMatchObject([
      {
        kind: 'shepherd.notice',
        wake: false,
        deliverAs: 'followUp',
        text: expect.stringContaining(`${taskId} of scout: one ${status}`),
        details: { taskId, agentId: one.id, status },
      },
    ]);
  });
});
