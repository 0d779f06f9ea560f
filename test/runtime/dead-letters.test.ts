import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TestChild } from '../support/child.ts';
import { buildDone, ids, seal, slipIn } from '../support/conversation.ts';
import { eventually, openHerd, startMs, textsOf, type TestHerd } from '../support/herd.ts';

const launchOf = (child: TestChild): string => `${child.id}.1`;

/** Has the parent take a `task_done` of a child whose mailbox is not used any more. */
function slipInDone(child: TestChild, taskId?: string): string {
  const messageId = ids.messageId(startMs);
  const done = { ...buildDone(child, messageId), ...(taskId === undefined ? {} : { taskId }) };
  slipIn(child, messageId, seal(done as ReturnType<typeof buildDone>, child.identity.secret));
  return messageId;
}

/** Mail of `two` lies unread in the inbox of `one`, whose child says nothing any more. */
async function openUnread() {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const two = await herd.hatch('two');
  const taskId = await herd.delegate(one);
  one.leave();
  const { messageId } = await two.say(one.id, 'The gate is open.');
  return { herd, one, two, taskId, messageId };
}

/** The parent dies once the end of an agent is kept, before anything that follows from it. */
function dieAtItsEnd(herd: TestHerd): void {
  herd.shepherd.on((change) => {
    if (change.type === 'agent' && change.agent.state === 'lost') herd.abandon();
  });
}

async function expectTold(herd: TestHerd, two: TestChild, messageId: string): Promise<void> {
  expect(await two.receives('notice')).toMatchObject({
    code: 'undelivered',
    content: expect.stringContaining(messageId) as string,
  });
  await eventually(() =>
    expect(textsOf(herd, 'shepherd.notice')).toEqual(
      expect.arrayContaining([`scout: one has ended without reading ${messageId}.`]),
    ),
  );
  expect(herd.shepherd.messages(messageId)).toMatchObject([{ receipt: 'dead' }]);
}

describe('mail that an ended agent has not read', () => {
  it('is told to its sender and the Shepherd, also by the next parent', async () => {
    const { herd, one, two, messageId } = await openUnread();
    dieAtItsEnd(herd);
    herd.host.exit(launchOf(one), { code: 0 });
    await eventually(() => expect(() => herd.shepherd.tasks()).toThrow('closed'));

    const next = await herd.reopen();

    await expectTold(next, two, messageId);
    await eventually(() => expect(next.store.all('effect')).toEqual([]));
    next.abandon();
    const third = await next.reopen();
    await two.roster();
    expect(third.notices).toEqual([]);
  });

  it('is told when the disk is mended that would not keep it', async () => {
    const { herd, one, two, messageId } = await openUnread();
    herd.shepherd.on((change) => {
      if (change.type === 'agent' && change.agent.state === 'lost') herd.store.break();
    });
    herd.host.exit(launchOf(one), { code: 0 });
    await eventually(() => expect(herd.store.refused()).toBeGreaterThan(0));

    herd.store.mend();

    await expectTold(herd, two, messageId);
  });
});

describe('the last word of an agent that has ended', () => {
  it('is read by the next parent, when the one before died over the end', async () => {
    const { herd, one, taskId } = await openUnread();
    dieAtItsEnd(herd);
    herd.host.exit(launchOf(one), { code: 0 });
    await eventually(() => expect(() => herd.shepherd.tasks()).toThrow('closed'));
    slipInDone(one);

    const next = await herd.reopen();

    await eventually(() =>
      expect(next.shepherd.task(taskId).result).toMatchObject({
        status: 'failed',
        lateEvents: [{ kind: 'task_done', fromId: one.id }],
      }),
    );
  });

  it('is kept with the task that it names, and once', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const first = await herd.delegate(one);
    await one.done('completed');
    const second = await herd.delegate(one);
    one.leave();
    dieAtItsEnd(herd);
    herd.host.exit(launchOf(one), { code: 0 });
    await eventually(() => expect(() => herd.shepherd.tasks()).toThrow('closed'));
    const messageId = slipInDone(one, first);
    const lateOf = (of: TestHerd) =>
      [first, second].map((id) => of.shepherd.task(id).result?.lateEvents.length);

    const next = await herd.reopen();
    await eventually(() => expect(lateOf(next)).toEqual([1, 0]));

    // Killed again before it was acked, and before the agent was retired.
    const box = join(one.identity.boxesDir, 'outbox');
    await eventually(() => expect(readdirSync(join(box, 'done'))).toContain(`${messageId}.json`));
    next.store.commit({
      puts: [{ table: 'effect', record: { id: 'again', type: 'retire', agentId: one.id } }],
      deletes: [],
      snapshots: new Map(),
      journal: { atMs: startMs, input: 'test', actors: [], moves: [] },
    });
    next.abandon();
    renameSync(join(box, 'done', `${messageId}.json`), join(box, 'cur', `${messageId}.json`));
    const third = await next.reopen();
    await eventually(() => expect(readdirSync(join(box, 'cur'))).toEqual([]));

    expect(lateOf(third)).toEqual([1, 0]);
    expect(third.shepherd.status(one.id).state).toBe('lost');
  });
});
