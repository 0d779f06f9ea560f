import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import type { UnsealedEnvelope } from '../../src/mailbox/capability.ts';
import { ids, stateOf, mailOf, forget, slipIn, buildDone, seal } from '../support/conversation.ts';
import { eventually, openHerd, openWait, startMs, textsOf } from '../support/herd.ts';

describe('an envelope that comes again', () => {
  it('has its effect once and is given the same verdict', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    forget(one, question.messageId);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    const before = stateOf(herd);

    const again = await one.say(two.id, 'Which gate?', {
      expectsReply: true,
      messageId: question.messageId,
    });

    // Asked again, it also hears how far its question has come.
    expect(again).toEqual({ ...question, data: { ...question.data, delivery: 'answered' } });
    expect(stateOf(herd)).toEqual(before);
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(mailOf(two)).toEqual(['Which gate?']);
  });

  it('since it was not acked before a crash is not answered twice', async () => {
    const { herd, one, two } = await openWait();
    const { messageId, code } = await one.done('completed');
    expect(code).toBe('completion_refused');
    const box = join(one.identity.boxesDir, 'outbox');
    renameSync(join(box, 'done', `${messageId}.json`), join(box, 'cur', `${messageId}.json`));
    herd.abandon();

    const reopened = await herd.reopen();
    await eventually(() => expect(readdirSync(join(box, 'cur'))).toEqual([]));
    await one.say(two.id, 'Still here.');

    expect(one.received.filter(({ kind }) => kind === 'verdict')).toEqual([]);
    expect(reopened.notices).toEqual([]);
  });

  it('is refused again when it was refused', async () => {
    const { herd, one, two } = await openWait();
    const refused = await two.say(one.id, 'Which flock?', { expectsReply: true });
    expect(refused.code).toBe('wait_cycle');
    forget(two, refused.messageId);
    await herd.shepherd.close(one.id);

    const { messageId } = refused;
    expect(await two.say(one.id, 'Which flock?', { expectsReply: true, messageId })).toEqual(
      refused,
    );
  });

  it('with other content is refused', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const { messageId } = await one.say('shepherd', 'Seven.');
    await expect(one.say('shepherd', 'Eight.', { messageId })).rejects.toMatchObject({
      code: 'duplicate_conflict',
    });
    forget(one, messageId);

    expect(await one.say('shepherd', 'Eight.', { messageId })).toMatchObject({
      ok: false,
      code: 'duplicate_conflict',
    });
    expect(herd.notices).toHaveLength(1);
    forget(one, messageId);
    expect(await one.say('shepherd', 'Seven.', { messageId })).toMatchObject({ ok: true });
  });
});

describe('mail that cannot be used', () => {
  it.each([
    ['is no envelope', 'invalid_envelope', () => '[1]'],
    [
      'has an unknown field',
      'invalid_envelope',
      (done: UnsealedEnvelope) => JSON.stringify({ ...done, mac: '0'.repeat(64), wolf: true }),
    ],
    [
      'is forged',
      'invalid_capability',
      (done: UnsealedEnvelope) => seal(done, 'another secret'.repeat(4)),
    ],
    [
      'says it is from another',
      'invalid_sender',
      (done: UnsealedEnvelope, secret: string) =>
        seal({ ...done, senderId: 'shepherd-agent-000000000000' }, secret),
    ],
    [
      'is of another session',
      'foreign_session',
      (done: UnsealedEnvelope, secret: string) =>
        seal({ ...done, sessionId: 'another session' }, secret),
    ],
  ])('since it %s is put aside and told, and the rest flows', async (_name, code, build) => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    const messageId = ids.messageId(startMs);

    slipIn(child, messageId, build(buildDone(child, messageId), child.identity.secret));
    const answer = await child.say('shepherd', 'Behind it.');

    expect(answer).toMatchObject({ ok: true });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(await child.receives('verdict')).toMatchObject({
      forMessageId: messageId,
      ok: false,
      code,
    });
    await eventually(() =>
      expect(textsOf(herd, 'shepherd.notice')).toEqual([
        expect.stringMatching(
          new RegExp(`^Unusable mail of scout: one was put aside \\(${messageId}`),
        ),
      ]),
    );
    expect(await child.done('completed')).toMatchObject({ ok: true });
  });

  it('since only the Shepherd sends its kind is refused', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    const messageId = child.send({
      kind: 'task_closed',
      targetId: SHEPHERD_ID,
      taskId,
      status: 'completed',
    });

    expect(await child.receives('verdict')).toMatchObject({
      forMessageId: messageId,
      ok: false,
      code: 'invalid_envelope',
    });
    expect(herd.shepherd.task(taskId).state).toBe('running');
  });
});
