/** What an agent wrote last, found in its outbox once it had ended. */
import { expect, it } from 'vitest';
import type { EnvelopeDraft } from '../../src/mailbox/envelope.ts';
import type { TestChild } from '../support/child.ts';
import { eventually, openHerd, textsOf, type TestHerd } from '../support/herd.ts';

/** Has an agent say something at the instant of its end, too late to be heard. */
async function endSaying(herd: TestHerd, child: TestChild, ...said: EnvelopeDraft[]) {
  let ids: readonly string[] = [];
  herd.shepherd.on((change) => {
    if (change.type !== 'agent' || change.agent.state !== 'lost' || ids.length > 0) return;
    ids = said.map((draft) => child.send(draft));
  });
  herd.host.exit(`${child.id}.1`, { code: 0 });
  await eventually(() => expect(herd.store.all('effect')).toEqual([]));
  return ids;
}

const plain = { kind: 'message', content: 'The gate is open.', delivery: 'followUp' } as const;

it('LW1: words for the Shepherd are handed on, once', async () => {
  const herd = await openHerd();
  const one = await herd.hatch('one');

  const [messageId = ''] = await endSaying(herd, one, {
    ...plain,
    targetId: 'parent',
    expectsReply: true,
  });

  expect(textsOf(herd, 'shepherd.message.incoming')).toEqual([
    expect.stringMatching(/^Message from scout: one [^]*\n\nThe gate is open\.$/),
  ]);
  expect(herd.shepherd.messages(messageId)).toMatchObject([{ receipt: 'delivered' }]);
  herd.abandon();
  const next = await herd.reopen();
  expect(next.notices).toEqual([]);
});

it('LW1: a late answer to the Shepherd is shown as one, and kept with its task', async () => {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const taskId = await herd.delegate(one);
  const { messageId: replyTo } = await herd.shepherd.message({
    target: one.id,
    message: 'Which gate?',
    taskId,
    expectsReply: true,
  });

  const answer = { ...plain, kind: 'reply', targetId: 'shepherd', replyTo } as const;
  await endSaying(herd, one, answer);

  expect(textsOf(herd, 'shepherd.message.reply')).toHaveLength(1);
  expect(herd.shepherd.task(taskId)).toMatchObject({
    state: 'failed',
    result: { lateEvents: [{ kind: 'reply', text: 'The gate is open.' }] },
  });
});

it('LW2: words for another agent are dead, and the Shepherd is told once', async () => {
  const herd = await openHerd();
  const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];

  const [dead = ''] = await endSaying(
    herd,
    one,
    { ...plain, targetId: two.id },
    { ...plain, targetId: 'nobody' },
  );

  expect(herd.shepherd.messages(dead)).toMatchObject([{ receipt: 'dead', toId: two.id }]);
  const told = textsOf(herd, 'shepherd.notice').filter((text) => text.includes('not passed on'));
  expect(told).toEqual([
    expect.stringContaining('scout: two'),
    expect.stringContaining('"nobody"'),
  ]);
  expect(two.received).toEqual([]);
});
