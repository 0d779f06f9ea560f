import { describe, expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { ids, slipIn } from '../support/conversation.ts';
import { eventually, openHerd, openWait, startMs } from '../support/herd.ts';

const minuteMs = 60_000;

describe('a deadline', () => {
  it('waits for an outbox that could not be read to its end', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.abandon();
    herd.pasture.nowMs = startMs + 5 * minuteMs;
    // Half a file, as a power cut leaves it; the reply in time lies behind it.
    slipIn(two, ids.messageId(herd.pasture.nowMs - 1), '');
    two.send({
      kind: 'reply',
      targetId: one.id,
      content: 'Left.',
      delivery: 'followUp',
      replyTo: question.messageId,
    });
    herd.pasture.nowMs = startMs + 11 * minuteMs;

    const reopened = await herd.reopen();

    expect(reopened.shepherd.task(taskId).state).toBe('waiting');
    reopened.advance(2_001);
    await eventually(() => expect(reopened.shepherd.task(taskId).state).toBe('running'));
    expect(await one.receives('reply')).toMatchObject({ content: 'Left.' });
  });

  it('holds up no mail that came before it', async () => {
    const { herd, one, two, taskId } = await openWait();
    herd.abandon();
    slipIn(two, ids.messageId(herd.pasture.nowMs - 1), '');
    one.send({ kind: 'message', targetId: SHEPHERD_ID, content: 'Baa.', delivery: 'followUp' });
    herd.pasture.nowMs = startMs + 11 * minuteMs;

    const reopened = await herd.reopen();

    await eventually(() =>
      expect(reopened.notices.map(({ kind }) => kind)).toContain('shepherd.message.incoming'),
    );
    expect(reopened.shepherd.task(taskId).state).toBe('waiting');
    reopened.advance(2_001);
    await eventually(() => expect(reopened.shepherd.task(taskId).state).toBe('blocked'));
  });

  it('that mail of the same moment has set counts before later mail', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
    const taskId = await herd.delegate(one);
    herd.abandon();
    one.send({
      kind: 'message',
      targetId: two.id,
      content: 'Which gate?',
      delivery: 'followUp',
      expectsReply: true,
      taskId,
    });
    herd.pasture.nowMs = startMs + 15 * minuteMs;
    one.send({ kind: 'task_done', targetId: SHEPHERD_ID, status: 'failed' });
    herd.pasture.nowMs = startMs + 20 * minuteMs;

    const reopened = await herd.reopen();

    expect(await reopened.shepherd.settled(taskId)).toMatchObject({
      status: 'blocked',
      settledAtMs: startMs + 10 * minuteMs,
    });
    await eventually(() =>
      expect(reopened.shepherd.task(taskId).result?.lateEvents).toHaveLength(1),
    );
  });
});

describe('a child that has to let go of a task', () => {
  it('is given its time from when it was told, also after a crash in between', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const first = await herd.delegate(one);
    const next = await herd.shepherd.delegate({ target: one.id, task: 'Sing.', queue: true });
    one.turn('turn_started', { taskId: first });
    await one.roster();
    herd.shepherd.on((change) => {
      if (change.type === 'task' && change.task.state === 'cancelled') herd.abandon();
    });
    herd.shepherd.cancel(first);
    herd.pasture.nowMs += minuteMs;

    const reopened = await herd.reopen();

    expect(await one.receives('task_closed')).toMatchObject({ taskId: first });
    expect(reopened.shepherd.status(one.id).state).toBe('working');
    one.turn('turn_settled', { aborted: true });
    await one.receives('task', ({ taskId }) => taskId === next.taskId);
    expect(reopened.shepherd.task(next.taskId).state).toBe('running');
  });
});
