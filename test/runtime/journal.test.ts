/** Any past moment can be shown from the journal alone: states, and where each envelope went. */
import { describe, expect, it } from 'vitest';
import type { EnvelopeKind } from '../../src/mailbox/envelope.ts';
import type { ActorState } from '../../src/runtime/store.ts';
import { eventually, openHerd, openWait, type TestHerd } from '../support/herd.ts';

const rowsOf = (herd: TestHerd) => herd.store.journal({ after: 0, limit: 9_999 });

/** The state in which the journal saw an actor last. */
function lastOf(herd: TestHerd, actorId: string): ActorState | undefined {
  return rowsOf(herd)
    .flatMap(({ actors }) => actors)
    .findLast(({ id }) => id === actorId);
}

const movesOf = (herd: TestHerd, kind: EnvelopeKind) =>
  rowsOf(herd)
    .flatMap(({ moves }) => moves)
    .filter((move) => move.kind === kind);

describe('the row of a step', () => {
  it.each(['completed', 'failed'] as const)('has how a task ended that %s', async (status) => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    await child.done(status, { summary: 'Counted.' });

    const row = rowsOf(herd).find(({ input }) => input === 'envelope task_done');
    expect(row?.actors.filter(({ id }) => id === taskId)).toEqual([
      {
        id: taskId,
        value: status,
        context: expect.objectContaining({ taskId, outcome: expect.objectContaining({ status }) }),
      },
    ]);
  });

  it('has the question that it answered, and its task as it goes on', async () => {
    const { herd, one, two, taskId, question } = await openWait();

    await two.say(one.id, 'Left.', { replyTo: question.messageId });

    expect(lastOf(herd, question.messageId)).toMatchObject({
      value: 'answered',
      context: { requestId: question.messageId },
    });
    expect(lastOf(herd, taskId)).toMatchObject({ value: { open: 'running' } });
  });

  it('has a held task that ended with its agent', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    await herd.delegate(child);
    const { taskId } = await herd.shepherd.delegate({ target: child.id, task: 'b', queue: true });

    await herd.shepherd.close(child.id);

    expect(lastOf(herd, taskId)).toMatchObject({ value: 'cancelled' });
  });

  it('has every envelope that it sends, once', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    await two.say(one.id, 'Which one?', { replyTo: question.messageId });
    herd.shepherd.cancel(taskId);
    await herd.shepherd.close(two.id);
    await eventually(() => one.receives('task_closed'));

    for (const child of [one, two]) {
      const sent = rowsOf(herd)
        .flatMap(({ moves }) => moves)
        .filter(({ from, to }) => from === 'shepherd' && to === child.id);
      const ids = sent.map(({ messageId }) => messageId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(
        expect.arrayContaining(
          child.received
            .filter(({ senderId }) => senderId === 'shepherd')
            .map(({ messageId }) => messageId),
        ),
      );
    }
    expect(movesOf(herd, 'task')).toHaveLength(1);
    expect(movesOf(herd, 'task_closed')).toMatchObject([{ from: 'shepherd', to: one.id }]);
    expect(movesOf(herd, 'verdict').length).toBeGreaterThan(0);
  });

  it('has the news that it sends', async () => {
    const { herd, one, two, taskId, question } = await openWait();

    await herd.shepherd.close(two.id);
    const { messageId } = await one.receives('notice', (n) => n.requestId === question.messageId);

    expect(movesOf(herd, 'notice')).toEqual([
      {
        messageId,
        kind: 'notice',
        from: 'shepherd',
        to: one.id,
        about: question.messageId,
        taskId,
      },
    ]);
  });

  it('has the transitions that its actors took', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    await child.done('completed');

    const row = rowsOf(herd).find(({ input }) => input === 'envelope task_done');
    expect(row?.taken).toContainEqual({
      actorId: taskId,
      event: 'task.done',
      from: 'task.open.running',
      to: ['task.completed'],
    });
  });

  it('has why an envelope was refused, and what came late', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    herd.shepherd.cancel(taskId);

    const { messageId } = await child.done('completed', { taskId });

    expect(movesOf(herd, 'task_done')).toMatchObject([{ messageId, isLate: true, taskId }]);
    expect(movesOf(herd, 'verdict')).toMatchObject([{ about: messageId, code: 'task_settled' }]);
  });

  it('has how far messages have come', async () => {
    const { herd, one, two, question } = await openWait();
    two.send({
      kind: 'receipt',
      targetId: 'shepherd',
      forMessageId: question.messageId,
      receipt: 'delivered',
    });
    await two.say(one.id, 'Left.', { replyTo: question.messageId });

    const receipts = rowsOf(herd).flatMap((row) => row.receipts ?? []);
    expect(receipts.filter(({ messageId }) => messageId === question.messageId)).toEqual([
      { messageId: question.messageId, receipt: 'delivered' },
      { messageId: question.messageId, receipt: 'answered' },
    ]);
    expect(movesOf(herd, 'reply')).toContainEqual(
      expect.objectContaining({ about: question.messageId, to: one.id }),
    );
  });

  it('has the letters that nobody read', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
    two.leave();
    const { messageId } = await one.say(two.id, 'Baa.');

    await herd.shepherd.close(two.id);

    await eventually(() =>
      expect(movesOf(herd, 'message').filter(({ isDead }) => isDead)).toEqual([
        { messageId, kind: 'message', from: one.id, to: two.id, isDead: true },
      ]),
    );
  });
});
