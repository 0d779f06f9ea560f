import { describe, expect, it, vi } from 'vitest';
import { MailboxError } from '../../src/errors.ts';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { readIdentity } from '../../src/mailbox/capability.ts';
import { createChildMailbox } from '../../src/mailbox/child-mailbox.ts';
import type { EnvelopeDraft } from '../../src/mailbox/envelope.ts';
import { boxesOf } from '../../src/mailbox/layout.ts';
import type { Mailbox } from '../../src/mailbox/mailbox.ts';
import {
  alice,
  brokerId,
  buildMessage,
  failOn,
  ids,
  listBox,
  muteFs,
  openHerd,
  recordCalls,
  secret,
  sessionId,
  thrownBy,
  type Herd,
} from '../support/mailbox.ts';

const question: EnvelopeDraft = {
  kind: 'message',
  targetId: SHEPHERD_ID,
  content: 'May I open the gate?',
  delivery: 'followUp',
  expectsReply: true,
};

function judge(mailbox: Mailbox, forMessageId: string): void {
  const nowMs = Date.now();
  mailbox.send(alice, {
    v: 1,
    kind: 'verdict',
    sessionId,
    brokerId,
    messageId: ids.messageId(nowMs),
    senderId: SHEPHERD_ID,
    targetId: alice.agentId,
    createdAt: nowMs,
    seq: 0,
    hops: 0,
    forMessageId,
    ok: true,
    data: { delivery: 'queued' },
  });
}

/** A Shepherd that gives a verdict on all it hears. */
function judgeAll({ mailbox }: Herd): void {
  mailbox.onMail(() => {
    for (const claimed of mailbox.take()) {
      judge(mailbox, claimed.envelope.messageId);
      mailbox.ack(claimed);
    }
  });
}

describe('child sends', () => {
  it('adds what a sender owes, and keeps the order of the calls (K1)', () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);

    const sent = [1, 2, 3].map(() => child.send(question));

    const taken = mailbox.take();
    expect(taken.map(({ envelope }) => envelope.messageId)).toEqual(sent);
    expect(taken.map(({ envelope }) => envelope.seq)).toEqual([0, 1, 2]);
    expect(taken[0]!.envelope).toMatchObject({
      ...question,
      sessionId,
      brokerId,
      senderId: alice.agentId,
      hops: 0,
      createdAt: expect.any(Number),
    });
  });

  it('refuses a draft that the schema refuses, and nothing is sent (K1)', () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);

    expect(thrownBy(() => child.send({ ...question, content: '' } as EnvelopeDraft))).toMatchObject(
      {
        code: 'invalid_envelope',
      },
    );
    child.send(question);

    expect(mailbox.take().map(({ envelope }) => envelope.seq)).toEqual([0]);
  });

  it('sends once what it repeats under its id, also when it was handled', () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);

    const messageId = child.send(question);
    expect(child.send(question, { messageId })).toBe(messageId);
    for (const claimed of mailbox.take()) mailbox.ack(claimed);
    child.send(question, { messageId });

    expect(mailbox.take({ all: true })).toEqual([]);
    expect(
      thrownBy(() => child.send({ ...question, content: 'Else?' } as EnvelopeDraft, { messageId })),
    ).toMatchObject({ code: 'duplicate_conflict' });
  });

  it.each([
    ['heartbeat', 0],
    ['roster', 1],
  ] as const)('syncs a %s %i times', (kind, syncs) => {
    const { fs, calls } = recordCalls();
    const { hatch } = openHerd({}, { fs });
    const evidence = { turns: 1, toolCalls: 2, lastActivityAtMs: null };
    const draft: EnvelopeDraft =
      kind === 'heartbeat'
        ? { kind, targetId: SHEPHERD_ID, evidence }
        : { kind, targetId: SHEPHERD_ID };

    hatch(alice).send(draft);

    expect(calls.filter((call) => call === 'fsyncSync')).toHaveLength(syncs);
  });

  it('tells when the disk does not take it, and the next try does', () => {
    const disk = failOn('linkSync', 'EROFS');
    const { mailbox, hatch } = openHerd({}, { fs: disk.fs });
    const child = hatch(alice);

    expect(thrownBy(() => child.send(question))).toMatchObject({ code: 'disk_error' });
    disk.heal();
    const messageId = child.send(question);

    expect(mailbox.take().map(({ envelope }) => envelope.messageId)).toEqual([messageId]);
  });

  it('has no mailbox where there are no boxes', () => {
    const { mailbox } = openHerd();
    const identity = readIdentity(mailbox.open(alice, { secret, label: 'one', agent: 'collie' }));
    mailbox.remove(alice);

    expect(thrownBy(() => createChildMailbox(identity, { now: Date.now, ids }))).toMatchObject({
      code: 'broker_unavailable',
    });
  });
});

describe('child asks', () => {
  it('gets its verdict, which is acked and reaches no handler (K3)', async () => {
    const herd = openHerd();
    const child = herd.hatch(alice);
    const received: unknown[] = [];
    child.receive((envelope) => received.push(envelope));
    judgeAll(herd);

    const { messageId, verdict } = await child.ask(question);

    expect(verdict).toMatchObject({
      forMessageId: messageId,
      ok: true,
      data: { delivery: 'queued' },
    });
    expect(received).toEqual([]);
    expect(Object.keys(listBox(boxesOf(herd.dir, alice).inbox))).toEqual(['done']);
  });

  it('gives each of several asks its own verdict', async () => {
    const herd = openHerd();
    const child = herd.hatch(alice);
    judgeAll(herd);

    const asked = await Promise.all([1, 2, 3].map(() => child.ask(question)));

    expect(asked.map(({ verdict }) => verdict?.forMessageId)).toEqual(
      asked.map(({ messageId }) => messageId),
    );
  });

  it('gets its verdict promptly where fs.watch is mute', async () => {
    const herd = openHerd({}, { fs: muteFs() });
    const child = herd.hatch(alice);
    judgeAll(herd);

    const { verdict } = await child.ask(question, { timeoutMs: 900 });

    expect(verdict?.ok).toBe(true);
  });

  it('ends without a verdict when there is none in time; a late one is mail (K3, K4)', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    const received: string[] = [];
    child.receive((envelope) => {
      if (envelope.kind === 'verdict') received.push(envelope.forMessageId);
    });

    const { messageId, verdict } = await child.ask(question, { timeoutMs: 30 });
    expect(verdict).toBeUndefined();
    judge(mailbox, messageId);

    await vi.waitFor(() => expect(received).toEqual([messageId]));
    expect(mailbox.depth(alice)).toBe(1);
  });

  it('leaves other mail in line while no handler is there (K2)', async () => {
    const herd = openHerd();
    const child = herd.hatch(alice);
    judgeAll(herd);
    const waiting = [buildMessage(), buildMessage()];
    for (const envelope of waiting) herd.mailbox.send(alice, envelope);

    await child.ask(question);
    const received: string[] = [];
    child.receive(({ messageId }) => received.push(messageId));

    await vi.waitFor(() => expect(received).toEqual(waiting.map(({ messageId }) => messageId)));
  });

  it('publishes nothing when it is aborted before, and only stops waiting when later', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);

    await expect(child.ask(question, { signal: AbortSignal.abort() })).rejects.toThrow('abort');
    expect(mailbox.take()).toEqual([]);
    const controller = new AbortController();
    const asked = child.ask(question, { signal: controller.signal, timeoutMs: 50_000 });
    controller.abort();

    const { messageId, verdict } = await asked;
    expect(verdict).toBeUndefined();
    expect(mailbox.take({ all: true }).map(({ envelope }) => envelope.messageId)).toEqual([
      messageId,
    ]);
  });

  it('rejects with what sending throws', async () => {
    const child = openHerd().hatch(alice);

    const error: unknown = await child
      .ask({ ...question, content: 'x'.repeat(70_000) } as EnvelopeDraft)
      .catch((thrown: unknown) => thrown);

    expect(MailboxError.is(error) && error.code).toBe('message_too_large');
  });

  it('has its verdict although it cannot be acked', async () => {
    const disk = failOn('renameSync', 'EROFS', (path) => String(path).includes('/inbox/cur/'));
    const herd = openHerd({}, { fs: disk.fs });
    const child = herd.hatch(alice);
    judgeAll(herd);

    const { verdict } = await child.ask(question);

    expect(verdict?.ok).toBe(true);
    expect(herd.mailbox.depth(alice)).toBe(1);
  });
});

describe('child receives', () => {
  it('gives each envelope once, in order, after receive has returned (K2)', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    const sent = Array.from({ length: 10 }, () => buildMessage());
    for (const envelope of sent.slice(0, 5)) mailbox.send(alice, envelope);
    const received: string[] = [];

    child.receive(({ messageId }) => received.push(messageId));
    expect(received).toEqual([]);
    for (const envelope of sent.slice(5)) mailbox.send(alice, envelope);

    await vi.waitFor(() => expect(received).toEqual(sent.map(({ messageId }) => messageId)));
  });

  it('gives again to the next process what was not acked', async () => {
    const { mailbox, hatch, dir } = openHerd();
    const child = hatch(alice);
    const [one, two, three] = [buildMessage(), buildMessage(), buildMessage()];
    for (const envelope of [one, two, three]) mailbox.send(alice, envelope);
    const received: string[] = [];
    child.receive(({ messageId }) => received.push(messageId));
    await vi.waitFor(() => expect(received).toHaveLength(3));
    child.ack(one.messageId);
    child.bury(two.messageId, 'nobody');
    child.dispose();

    const again: string[] = [];
    hatch(alice).receive(({ messageId }) => again.push(messageId));

    await vi.waitFor(() => expect(again).toEqual([three.messageId]));
    expect(Object.keys(listBox(boxesOf(dir, alice).inbox))).toEqual(['cur', 'done', 'dead']);
  });

  it('keeps the order when the handler itself asks and sends', async () => {
    const herd = openHerd();
    const child = herd.hatch(alice);
    judgeAll(herd);
    const sent = [buildMessage(), buildMessage(), buildMessage()];
    const received: string[] = [];
    const answers: unknown[] = [];
    child.receive(({ messageId }) => {
      received.push(messageId);
      void child.ask(question).then(({ verdict }) => answers.push(verdict?.ok));
    });

    for (const envelope of sent) herd.mailbox.send(alice, envelope);

    await vi.waitFor(() => expect(answers).toEqual([true, true, true]));
    expect(received).toEqual(sent.map(({ messageId }) => messageId));
  });

  it('stops when told to; a later handler goes on where it stopped', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    const first: string[] = [];
    const stop = child.receive(({ messageId }) => {
      first.push(messageId);
      stop();
    });
    const sent = [buildMessage(), buildMessage()];
    for (const envelope of sent) mailbox.send(alice, envelope);
    await vi.waitFor(() => expect(first).toHaveLength(1));

    const second: string[] = [];
    child.receive(({ messageId }) => second.push(messageId));
    stop();

    await vi.waitFor(() => expect([...first, ...second]).toEqual(sent.map((e) => e.messageId)));
  });

  it('says nothing after dispose, and running asks end (K5)', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    const received: unknown[] = [];
    child.receive((envelope) => received.push(envelope));
    const asked = child.ask(question, { timeoutMs: 50_000 });

    child.dispose();
    child.dispose();
    mailbox.send(alice, buildMessage());

    expect((await asked).verdict).toBeUndefined();
    expect(thrownBy(() => child.send(question))).toMatchObject({ code: 'broker_unavailable' });
    const seen: unknown[] = [];
    hatch(alice).receive((envelope) => seen.push(envelope));
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    expect(received).toEqual([]);
  });
});
