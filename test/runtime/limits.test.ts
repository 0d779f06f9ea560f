import { describe, expect, it } from 'vitest';
import type { Answer, TestChild } from '../support/child.ts';
import { openHerd, startMs, textsOf, type TestHerd } from '../support/herd.ts';

async function openPair(policy: { messagesPerMinute?: number; maxHops?: number } = {}) {
  const herd = await openHerd({ policy });
  const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
  return { herd, one, two };
}

async function sayTimes(count: number, from: TestChild, to: TestChild): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let n = 0; n < count; n += 1) answers.push(await from.say(to.id, `Baa ${n}.`));
  return answers;
}

describe('messages of one sender to one recipient', () => {
  it('are 60 within a minute; the next one is refused, and the Shepherd told once', async () => {
    const { herd, one, two } = await openPair();
    expect((await sayTimes(60, one, two)).every(({ ok }) => ok)).toBe(true);

    expect(await sayTimes(2, one, two)).toMatchObject([
      { ok: false, code: 'rate_limited', data: { againAtMs: startMs + 60_000 } },
      { ok: false, code: 'rate_limited' },
    ]);

    expect(textsOf(herd, 'shepherd.notice')).toEqual([expect.stringContaining('scout: one')]);
    expect(two.received.filter(({ kind }) => kind === 'message')).toHaveLength(60);
  });

  it('are counted over the last minute, whenever that is', async () => {
    const { herd, one, two } = await openPair({ messagesPerMinute: 2 });
    await sayTimes(1, one, two);
    herd.advance(40_000);
    await sayTimes(1, one, two);
    herd.advance(19_999);
    expect(await sayTimes(1, one, two)).toMatchObject([{ code: 'rate_limited' }]);
    herd.advance(1);

    expect(await sayTimes(2, one, two)).toMatchObject([{ ok: true }, { code: 'rate_limited' }]);
  });

  it('count for this pair and this way only', async () => {
    const { one, two, herd } = await openPair({ messagesPerMinute: 1 });
    const three = await herd.hatch('three');
    await sayTimes(1, one, two);

    expect(await sayTimes(1, one, three)).toMatchObject([{ ok: true }]);
    expect(await sayTimes(1, two, one)).toMatchObject([{ ok: true }]);
  });

  it('never hold up a reply, a completion or a verdict', async () => {
    const { herd, one, two } = await openPair({ messagesPerMinute: 1 });
    await herd.delegate(one);
    const question = await two.say(one.id, 'How many?', { expectsReply: true });
    await one.say(two.id, 'Wait.');
    expect(await one.say(two.id, 'Wait on.')).toMatchObject({ code: 'rate_limited' });

    expect(await one.say(two.id, 'Forty.', { replyTo: question.messageId })).toMatchObject({
      ok: true,
    });
    expect(await one.done('completed')).toMatchObject({ ok: true });
  });

  it('count with replies that nobody waits for', async () => {
    const { one, two } = await openPair({ messagesPerMinute: 2 });
    const { messageId } = await one.say(two.id, 'Baa.');

    const replies = [
      await two.say(one.id, 'Baa?', { replyTo: messageId }),
      await two.say(one.id, 'Baa!', { replyTo: messageId }),
      await two.say(one.id, 'Baa baa!', { replyTo: messageId }),
    ];

    expect(replies.map(({ code }) => code)).toEqual([undefined, undefined, 'rate_limited']);
  });

  it('are counted for the Shepherd as well, which is told by its own call', async () => {
    const { herd, one } = await openPair({ messagesPerMinute: 1 });
    await herd.shepherd.message({ target: one.id, message: 'Come by.' });

    await expect(
      herd.shepherd.message({ target: one.id, message: 'Come by!' }),
    ).rejects.toMatchObject({ code: 'rate_limited', retryable: true });
    expect(herd.notices).toEqual([]);
  });

  it('are counted over a restart', async () => {
    const { herd, one, two } = await openPair({ messagesPerMinute: 1 });
    await sayTimes(1, one, two);
    herd.abandon();
    await herd.reopen();

    expect(await sayTimes(1, one, two)).toMatchObject([{ code: 'rate_limited' }]);
  });
});

/** Passes the last message on, from one to the next, until somebody is refused. */
async function passOn(ring: readonly TestChild[], first: string): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  let replyTo = first;
  for (let n = 0; n < 20; n += 1) {
    const from = ring[n % ring.length] as TestChild;
    const to = ring[(n + 1) % ring.length] as TestChild;
    const answer = await from.say(to.id, `Echo ${n}.`, { replyTo, causeId: replyTo });
    answers.push(answer);
    if (!answer.ok) break;
    replyTo = answer.messageId;
  }
  return answers;
}

async function openRing(): Promise<{ herd: TestHerd; ring: readonly TestChild[]; first: string }> {
  const { herd, one, two } = await openPair();
  const three = await herd.hatch('three');
  const { messageId } = await herd.shepherd.message({ target: one.id, message: 'Sing.' });
  return { herd, ring: [one, two, three], first: messageId };
}

describe('a chain of messages', () => {
  it('in a ring of three ends after eight hops, and the Shepherd is told once', async () => {
    const { herd, ring, first } = await openRing();

    const answers = await passOn(ring, first);

    expect(answers.map(({ ok }) => ok)).toEqual([...Array<boolean>(8).fill(true), false]);
    expect(answers.at(-1)).toMatchObject({ code: 'hop_limit', data: { hops: 9, maxHops: 8 } });
    const last = ring[8 % 3] as TestChild;
    const before = answers.at(-2)?.messageId ?? '';
    const again = await last.say((ring[0] as TestChild).id, 'Once more.', {
      replyTo: before,
      causeId: before,
    });
    expect(again.code).toBe('hop_limit');
    expect(textsOf(herd, 'shepherd.notice')).toHaveLength(1);
  });

  it('carries its hops to each recipient', async () => {
    const { ring, first } = await openRing();

    await passOn(ring, first);

    const hops = ring.flatMap(({ received }) =>
      received.flatMap((envelope) => (envelope.kind === 'reply' ? envelope.hops : [])),
    );
    expect(hops.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('is cut as well when no sender says what woke it', async () => {
    const { herd, ring, first } = await openRing();
    let replyTo = first;
    let answer: Answer | undefined;
    for (let n = 0; n < 20 && answer?.ok !== false; n += 1) {
      const [from, to] = [ring[n % 3], ring[(n + 1) % 3]] as [TestChild, TestChild];
      answer = await from.say(to.id, `Echo ${n}.`, { replyTo });
      replyTo = answer.messageId;
    }

    expect(answer).toMatchObject({ code: 'hop_limit' });
    expect(textsOf(herd, 'shepherd.notice')).toHaveLength(1);
  });

  it('is cut when every answer is a question again', async () => {
    const { one, two, herd } = await openPair({ maxHops: 3 });
    const pair = [one, two] as const;
    let last = await one.say(two.id, 'Why?', { expectsReply: true });
    const codes: unknown[] = [];
    for (let n = 1; n < 6; n += 1) {
      const from = pair[n % 2] as TestChild;
      const to = pair[(n + 1) % 2] as TestChild;
      last = await from.say(to.id, 'Why why?', {
        replyTo: last.messageId,
        expectsReply: true,
        causeId: last.messageId,
      });
      codes.push(last.code);
      if (!last.ok) break;
    }

    expect(codes).toEqual([undefined, undefined, 'hop_limit']);
    expect(textsOf(herd, 'shepherd.notice')).toHaveLength(1);
  });

  it('ends with an answer: what follows from it counts anew', async () => {
    const { one, two } = await openPair({ maxHops: 1 });
    const question = await one.say(two.id, 'Why?', { expectsReply: true });
    const answered = await two.say(one.id, 'Because.', {
      replyTo: question.messageId,
      causeId: question.messageId,
    });
    expect(answered.ok).toBe(true);

    const next = await one.say(two.id, 'Thanks.', { causeId: answered.messageId });

    expect(next.ok).toBe(true);
  });

  it('is not gone on with by who was woken by the runtime since', async () => {
    const { herd, one, two } = await openPair({ maxHops: 1 });
    const taskId = await herd.delegate(one);
    await two.say(one.id, 'Baa?', { expectsReply: true });
    one.turn('turn_started', { taskId });
    expect(await one.say(two.id, 'Baa baa.')).toMatchObject({ code: 'hop_limit' });
    await one.say(two.id, 'Baa!', { replyTo: two.received[0]?.messageId ?? '' }).catch(() => null);
    for (const { messageId } of one.received) {
      const receipt = { kind: 'receipt', targetId: 'shepherd', receipt: 'seen' } as const;
      one.send({ ...receipt, forMessageId: messageId });
    }
    one.turn('turn_settled', { taskId });
    await one.receives('notice', ({ code }) => code === 'done_reminder');

    expect(await one.say(two.id, 'I go on now.')).toMatchObject({ ok: true });
  });

  it('may always be taken to the Shepherd', async () => {
    const { herd, ring, first } = await openRing();
    const answers = await passOn(ring, first);
    const causeId = answers.at(-2)?.messageId ?? '';

    const told = await (ring[2] as TestChild).say('shepherd', 'They sing in circles.', { causeId });

    expect(told.ok).toBe(true);
    expect(textsOf(herd, 'shepherd.message.incoming')).toHaveLength(1);
  });

  it('is not judged by a cause that was never sent to the sender', async () => {
    const { one, two } = await openPair({ maxHops: 1 });
    const question = await one.say(two.id, 'Why?', { expectsReply: true });

    // `one` wrote it, so it cannot have woken `one`.
    expect(await one.say(two.id, 'Well?', { causeId: question.messageId })).toMatchObject({
      ok: true,
    });
  });
});
