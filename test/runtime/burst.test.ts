import { expect, it } from 'vitest';
import { eventually, openHerd, type TestHerd } from '../support/herd.ts';
import type { TestChild } from '../support/child.ts';

const count = 150;

/** Sends messages to another agent without waiting; the parent finds them all at once. */
function burst(from: TestChild, to: TestChild): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    from.send({ kind: 'message', targetId: to.id, content: `${index}`, delivery: 'followUp' }),
  );
}

const commitsOf = (herd: TestHerd): number => herd.store.journal({ after: 0, limit: 9_999 }).length;

const contents = (child: TestChild): readonly string[] =>
  child.received.flatMap((envelope) => (envelope.kind === 'message' ? [envelope.content] : []));

it('hands on every message of a burst once, in order, each with its own step', async () => {
  const herd = await openHerd({ policy: { messagesPerMinute: count } });
  const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
  const before = commitsOf(herd);

  burst(one, two);
  herd.nudge();

  await eventually(() => expect(two.received.length).toBeGreaterThanOrEqual(count));
  expect(contents(two)).toEqual(Array.from({ length: count }, (_, index) => `${index}`));
  expect(commitsOf(herd) - before).toBeGreaterThanOrEqual(count);
});

it('loses nothing and doubles nothing when the disk fails in the middle of a burst', async () => {
  const herd = await openHerd({ policy: { messagesPerMinute: count } });
  const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];

  burst(one, two);
  herd.store.break(3);
  herd.nudge();

  await eventually(() => expect(two.received.length).toBeGreaterThanOrEqual(count));
  expect(contents(two)).toEqual(Array.from({ length: count }, (_, index) => `${index}`));
});
