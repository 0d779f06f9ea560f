import { existsSync, lstatSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { MailboxError } from '../../src/errors.ts';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { readIdentity, sealEnvelope, type UnsealedEnvelope } from '../../src/mailbox/capability.ts';
import type { Envelope, EnvelopeDraft } from '../../src/mailbox/envelope.ts';
import { boxesOf, fileNameOf, type Incarnation } from '../../src/mailbox/layout.ts';
import { defaultLimits } from '../../src/mailbox/limits.ts';
import { publishEnvelope } from '../../src/mailbox/publish.ts';
import {
  alice,
  bob,
  brokerId,
  buildMessage,
  failOn,
  ids,
  listBox,
  muteFs,
  openHerd,
  recordCalls,
  sealMessage,
  secret,
  sessionId,
  thrownBy,
} from '../support/mailbox.ts';

const report = (content: string): EnvelopeDraft => ({
  kind: 'message',
  targetId: SHEPHERD_ID,
  content,
  delivery: 'followUp',
});

const contentOf = (envelope: Envelope): string => ('content' in envelope ? envelope.content! : '');

function codeOf(call: () => unknown): string | undefined {
  const error = thrownBy(call);
  return MailboxError.is(error) ? error.code : undefined;
}

describe('open', () => {
  it('makes boxes and a 0600 identity file, and does the same again', () => {
    const { mailbox, dir } = openHerd();

    const path = mailbox.open(alice, { secret, label: 'one', agent: 'collie' });
    const again = mailbox.open(alice, { secret, label: 'one', agent: 'collie' });

    expect(again).toBe(path);
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(readIdentity(path)).toEqual({
      v: 1,
      sessionId,
      brokerId,
      ...alice,
      secret,
      boxesDir: boxesOf(dir, alice).dir,
      label: 'one',
      agent: 'collie',
      limits: defaultLimits,
    });
    expect(lstatSync(boxesOf(dir, alice).inbox.new).mode & 0o777).toBe(0o700);
  });

  it('writes the identity file where it is asked to, and removes it there', () => {
    const { mailbox, dir } = openHerd();
    mailbox.open(bob, { secret, label: 'one', agent: 'collie' });
    const identityPath = join(dir, 'elsewhere.json');

    expect(mailbox.open(alice, { secret, label: 'one', agent: 'collie', identityPath })).toBe(
      identityPath,
    );
    mailbox.remove(alice);

    expect(readdirSync(dir)).toEqual([`${bob.agentId}.1`]);
  });

  it('refuses another secret for the same incarnation', () => {
    const { mailbox } = openHerd();
    mailbox.open(alice, { secret, label: 'one', agent: 'collie' });

    expect(
      codeOf(() => mailbox.open(alice, { secret: 't'.repeat(64), label: 'one', agent: 'collie' })),
    ).toBe('invalid_capability');
  });

  it('tells when the disk does not allow it, and works afterwards', () => {
    const disk = failOn('mkdirSync', 'ENOSPC');
    const { mailbox, hatch } = openHerd({ fs: disk.fs });

    expect(codeOf(() => hatch(alice))).toBe('disk_error');
    expect(codeOf(() => mailbox.send(alice, buildMessage()))).toBe('invalid_target');
    disk.heal();
    hatch(alice);

    expect(mailbox.send(alice, buildMessage())).toBe('accepted');
  });
});

describe('send', () => {
  it('reaches the child, sealed for it, once and in order (M1)', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    const got: string[] = [];
    child.receive((envelope) => {
      got.push(contentOf(envelope));
      child.ack(envelope.messageId);
    });

    const first = buildMessage({ content: 'first' });
    expect(mailbox.send(alice, first)).toBe('accepted');
    expect(mailbox.send(alice, first)).toBe('duplicate');
    mailbox.send(alice, buildMessage({ content: 'second' }));

    await vi.waitFor(() => expect(got).toEqual(['first', 'second']));
    await vi.waitFor(() => expect(mailbox.depth(alice)).toBe(0));
    expect(mailbox.send(alice, first)).toBe('duplicate');
  });

  it.each<[string, Incarnation, Partial<Parameters<typeof buildMessage>[0]>]>([
    ['invalid_target', bob, { targetId: bob.agentId }],
    ['invalid_target', { ...alice, launch: 2 }, {}],
    ['invalid_target', alice, { targetId: bob.agentId }],
    ['foreign_session', alice, { sessionId: 'session-2' }],
    ['foreign_session', alice, { brokerId: 'broker-2' }],
    ['invalid_envelope', alice, { content: '' }],
    ['message_too_large', alice, { content: 'x'.repeat(70_000) }],
  ])('refuses with %s and leaves the inbox as it was', (code, to, changes) => {
    const { mailbox, hatch, dir } = openHerd();
    hatch(alice);

    expect(codeOf(() => mailbox.send(to, buildMessage(changes)))).toBe(code);
    expect(listBox(boxesOf(dir, alice).inbox)).toEqual({});
  });

  it('refuses other content under a known id', () => {
    const { mailbox, hatch } = openHerd();
    hatch(alice);
    const first = buildMessage();
    mailbox.send(alice, first);

    expect(
      codeOf(() =>
        mailbox.send(alice, buildMessage({ messageId: first.messageId, content: 'Else.' })),
      ),
    ).toBe('duplicate_conflict');
  });

  it('is refused by a full inbox until the child acks, and repeats are still known', async () => {
    const { mailbox, hatch } = openHerd({ limits: { maxUnread: 3 } });
    const child = hatch(alice);
    const sent = [buildMessage(), buildMessage(), buildMessage()];
    for (const envelope of sent) mailbox.send(alice, envelope);

    expect(thrownBy(() => mailbox.send(alice, buildMessage()))).toMatchObject({
      code: 'queue_full',
      retryable: true,
      message: expect.stringContaining('3 unread'),
    });
    expect(mailbox.send(alice, sent[1]!)).toBe('duplicate');
    expect(mailbox.depth(alice)).toBe(3);
    const seen: string[] = [];
    child.receive(({ messageId }) => seen.push(messageId));
    await vi.waitFor(() => expect(seen).toHaveLength(3));
    expect(codeOf(() => mailbox.send(alice, buildMessage()))).toBe('queue_full');
    child.ack(seen[0]!);

    expect(mailbox.send(alice, buildMessage())).toBe('accepted');
  });

  it('has a full inbox take what is owed: verdicts and closings', () => {
    const { mailbox, hatch } = openHerd({ limits: { maxUnread: 1 } });
    hatch(alice);
    mailbox.send(alice, buildMessage());
    const { v, senderId, targetId, createdAt, seq, hops } = buildMessage();
    const head = { v, sessionId, brokerId, senderId, targetId, createdAt, seq, hops };
    const owed: UnsealedEnvelope[] = [
      {
        ...head,
        messageId: ids.messageId(Date.now()),
        kind: 'verdict',
        forMessageId: ids.messageId(Date.now()),
        ok: false,
        code: 'wait_cycle',
      },
      {
        ...head,
        messageId: ids.messageId(Date.now()),
        kind: 'task_closed',
        taskId: 'shepherd-task-000000000000',
        status: 'cancelled',
      },
    ];

    expect(owed.map((envelope) => mailbox.send(alice, envelope))).toEqual(['accepted', 'accepted']);
    expect(mailbox.depth(alice)).toBe(3);
  });

  it('counts few times for many sends', () => {
    const { fs, calls } = recordCalls();
    const { mailbox, hatch } = openHerd({ fs });
    hatch(alice);
    calls.length = 0;

    for (let n = 0; n < 100; n += 1) mailbox.send(alice, buildMessage(), { durability: 'none' });

    expect(calls.filter((call) => call === 'readdirSync').length).toBeLessThanOrEqual(2);
  });

  it('tells when the disk is full, and the inbox is as before', () => {
    const { hatch, dir } = openHerd();
    hatch(alice);
    const disk = failOn('writeFileSync', 'ENOSPC', (file) => typeof file === 'number');
    const { mailbox, hatch: hatchIll } = openHerd({ dir, fs: disk.fs });
    hatchIll(alice);

    expect(codeOf(() => mailbox.send(alice, buildMessage()))).toBe('disk_error');
    expect(mailbox.depth(alice)).toBe(0);
    disk.heal();
    expect(mailbox.send(alice, buildMessage())).toBe('accepted');
  });
});

describe('take', () => {
  it('returns all outboxes oldest first, each sender in its own order (M2)', () => {
    const { mailbox, dir } = openHerd();
    const write = (from: Incarnation, createdAt: number, content: string): void => {
      mailbox.open(from, { secret, label: 'one', agent: 'collie' });
      const envelope = sealMessage({
        senderId: from.agentId,
        targetId: SHEPHERD_ID,
        createdAt,
        content,
      });
      publishEnvelope(boxesOf(dir, from).outbox, envelope);
    };
    write(alice, 1_000, 'a1');
    write(alice, 3_000, 'a2');
    write(bob, 2_000, 'b1');
    // Alice's clock steps back: her order stays.
    write(alice, 500, 'a3');
    write(bob, 2_500, 'b2');
    write(bob, 9_000, 'b3');

    const taken = mailbox.take({ all: true });

    expect(taken.map(({ envelope }) => contentOf(envelope))).toEqual([
      'a1',
      'b1',
      'b2',
      'a2',
      'a3',
      'b3',
    ]);
    expect(taken[1]).toMatchObject({ from: bob, claimedAtMs: expect.any(Number) });
  });

  it('looks only where a hint points, unless asked for all', async () => {
    const { mailbox, hatch } = openHerd({ fs: muteFs(), sweepMs: 200 });
    const child = hatch(alice);
    await vi.waitFor(() => expect(mailbox.take()).toEqual([]));
    child.send(report('one'));

    expect(mailbox.take()).toEqual([]);
    expect(mailbox.take({ all: true })).toHaveLength(1);
  });

  it('hears of new mail within moments', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    const taken: string[] = [];
    const stop = mailbox.onMail(() => {
      for (const claimed of mailbox.take()) taken.push(contentOf(claimed.envelope));
    });

    child.send(report('one'));
    await vi.waitFor(() => expect(taken).toEqual(['one']), { timeout: 900, interval: 5 });
    stop();
    stop();
    child.send(report('two'));

    await vi.waitFor(() => expect(mailbox.take()).toHaveLength(1));
    expect(taken).toEqual(['one']);
  });

  it('delivers by the sweep where fs.watch is mute', async () => {
    const { mailbox, hatch } = openHerd(
      { fs: muteFs(), sweepMs: 20 },
      { fs: muteFs(), sweepMs: 20 },
    );
    const child = hatch(alice);
    const taken: string[] = [];
    mailbox.onMail(() => {
      for (const claimed of mailbox.take()) {
        taken.push(contentOf(claimed.envelope));
        mailbox.ack(claimed);
        mailbox.send(alice, buildMessage({ content: 'heard' }));
      }
    });
    const heard: string[] = [];
    child.receive((envelope) => heard.push(contentOf(envelope)));

    child.send(report('one'));

    await vi.waitFor(() => expect(heard).toEqual(['heard']));
    expect(taken).toEqual(['one']);
  });

  it('returns what was not acked to the next process, and nothing that was (M1)', () => {
    const { mailbox, hatch, dir } = openHerd();
    const child = hatch(alice);
    for (const content of ['one', 'two', 'three']) child.send(report(content));
    const taken = mailbox.take();
    mailbox.ack(taken[0]!);
    mailbox.bury(taken[2]!, 'no such task');
    mailbox.dispose();

    const next = openHerd({ dir });
    next.hatch(alice);

    const again = next.mailbox.take();
    expect(again.map(({ envelope }) => contentOf(envelope))).toEqual(['two']);
    next.mailbox.ack({ from: alice, envelope: { messageId: again[0]!.envelope.messageId } });
    next.mailbox.ack(taken[0]!);
    expect(Object.keys(listBox(boxesOf(dir, alice).outbox))).toEqual(['done', 'dead']);
  });

  it('returns what is put back, before newer mail, and needs no hint for it (M2)', () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    child.send(report('one'));
    child.send(report('two'));
    const taken = mailbox.take();
    child.send(report('three'));

    for (const claimed of taken) mailbox.retry(claimed);

    expect(mailbox.take().map(({ envelope }) => contentOf(envelope))).toEqual([
      'one',
      'two',
      'three',
    ]);
    expect(mailbox.take({ all: true })).toEqual([]);
  });

  it("quarantines what another agent's secret or name is in, and the rest flows (M3)", async () => {
    const { mailbox, hatch, dir, bad } = openHerd();
    const child = hatch(alice);
    hatch(bob);
    const { outbox } = boxesOf(dir, alice);
    const place = (envelope: Envelope): void => {
      writeFileSync(join(outbox.new, fileNameOf(envelope.messageId)), JSON.stringify(envelope));
    };
    const asAlice = { senderId: alice.agentId, targetId: SHEPHERD_ID };
    place(sealMessage({ ...asAlice, senderId: bob.agentId }));
    place(sealEnvelope(buildMessage(asAlice), 'b'.repeat(64)));
    place(sealMessage({ ...asAlice, senderId: SHEPHERD_ID }));
    child.send(report('genuine'));

    const taken = mailbox.take({ all: true });

    expect(taken.map(({ envelope }) => contentOf(envelope))).toEqual(['genuine']);
    await Promise.resolve();
    expect(bad.map(({ code }) => code)).toEqual([
      'invalid_sender',
      'invalid_capability',
      'invalid_sender',
    ]);
    expect(bad[0]).toMatchObject({ from: alice, messageId: expect.any(String) });
  });

  it('does not let one unreadable outbox keep others from being read', () => {
    const { dir, hatch } = openHerd();
    hatch(alice).send(report('from alice'));
    hatch(bob).send(report('from bob'));
    const disk = failOn('readdirSync', 'EIO', (path) => String(path).includes(alice.agentId));
    const troubles: string[] = [];
    const ill = openHerd({ dir, fs: disk.fs, onTrouble: (error) => troubles.push(error.code) });
    ill.hatch(alice);
    ill.hatch(bob);

    const taken = (): string[] =>
      ill.mailbox.take({ all: true }).map(({ envelope }) => contentOf(envelope));

    expect(taken()).toEqual(['from bob']);
    disk.heal();
    expect(taken()).toEqual(['from alice']);
  });
});

describe('unacked', () => {
  it('is what a fresh dispatch takes over: claimed and unread, in order', async () => {
    const { mailbox, hatch } = openHerd();
    const child = hatch(alice);
    const sent = ['one', 'two', 'three'].map((content) => buildMessage({ content }));
    for (const envelope of sent.slice(0, 2)) mailbox.send(alice, envelope);
    const seen: string[] = [];
    const stop = child.receive(({ messageId }) => seen.push(messageId));
    await vi.waitFor(() => expect(seen).toHaveLength(2));
    stop();
    child.ack(seen[0]!);
    mailbox.send(alice, sent[2]!);
    mailbox.fence(alice);

    expect(mailbox.unacked(alice).map(contentOf)).toEqual(['two', 'three']);
    expect(mailbox.depth(alice)).toBe(2);
  });

  it('is refused for an incarnation that is not open', () => {
    const { mailbox } = openHerd();

    expect(codeOf(() => mailbox.unacked(alice))).toBe('invalid_target');
    expect(codeOf(() => mailbox.depth(alice))).toBe('invalid_target');
  });
});

describe('fence and remove (M4)', () => {
  it('reads and writes a fenced incarnation no more; what was taken can be acked', () => {
    const { mailbox, hatch, dir } = openHerd();
    const child = hatch(alice);
    const next = hatch({ ...alice, launch: 2 });
    child.send(report('before'));
    const [taken] = mailbox.take();

    mailbox.fence(alice);
    mailbox.fence(alice);
    child.send(report('after'));
    next.send(report('from its successor'));

    expect(mailbox.take({ all: true }).map(({ envelope }) => contentOf(envelope))).toEqual([
      'from its successor',
    ]);
    expect(codeOf(() => mailbox.send(alice, buildMessage()))).toBe('superseded');
    expect(codeOf(() => hatch(alice))).toBe('superseded');
    expect(mailbox.send({ ...alice, launch: 2 }, buildMessage())).toBe('accepted');
    mailbox.ack(taken!);
    expect(Object.keys(listBox(boxesOf(dir, alice).outbox))).toEqual(['new', 'done']);
  });

  it('fences an incarnation that this process never opened', () => {
    const { mailbox, hatch } = openHerd();

    mailbox.fence(alice);

    expect(codeOf(() => hatch(alice))).toBe('superseded');
  });

  it('removes boxes and identity, twice if asked, and touches nobody else', () => {
    const { mailbox, hatch, dir } = openHerd();
    hatch(alice).send(report('one'));
    hatch(bob).send(report('two'));
    const [taken] = mailbox.take();

    mailbox.remove(alice);
    mailbox.remove(alice);

    expect(existsSync(boxesOf(dir, alice).dir)).toBe(false);
    expect(existsSync(boxesOf(dir, bob).dir)).toBe(true);
    mailbox.ack(taken!);
    expect(codeOf(() => mailbox.depth(alice))).toBe('invalid_target');
  });

  it('says when boxes could not be removed, and removes them later', () => {
    const disk = failOn('rmSync', 'EROFS', (path) => String(path).endsWith('.1'));
    const { mailbox, hatch, dir } = openHerd({ fs: disk.fs });
    hatch(alice);

    expect(codeOf(() => mailbox.remove(alice))).toBe('disk_error');
    disk.heal();
    mailbox.remove(alice);

    expect(existsSync(boxesOf(dir, alice).dir)).toBe(false);
  });
});

describe('dispose', () => {
  it('ends sends, takes and hints; boxes stay', () => {
    const { mailbox, hatch, dir } = openHerd();
    const child = hatch(alice);
    child.send(report('one'));

    mailbox.dispose();
    mailbox.dispose();

    expect(mailbox.take({ all: true })).toEqual([]);
    expect(codeOf(() => mailbox.send(alice, buildMessage()))).toBe('broker_unavailable');
    expect(codeOf(() => hatch(bob))).toBe('broker_unavailable');
    expect(Object.keys(listBox(boxesOf(dir, alice).outbox))).toEqual(['new']);
  });
});
