import { appendFileSync, existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/mailbox/envelope.ts';
import { fileNameOf, type Box } from '../../src/mailbox/layout.ts';
import { publishEnvelope } from '../../src/mailbox/publish.ts';
import {
  claimIds,
  failOn,
  ids,
  listBox,
  openBox,
  sealMessage,
  thrownBy,
} from '../support/mailbox.ts';

function publish(box: Box, changes: Parameters<typeof sealMessage>[0] = {}): Envelope {
  const envelope = sealMessage(changes);
  publishEnvelope(box, envelope, { durability: 'none' });
  return envelope;
}

function publishMany(box: Box, count: number): string[] {
  return Array.from({ length: count }, () => publish(box).messageId);
}

describe('claim', () => {
  it('returns envelopes in the order of their ids, whenever they were published (I2)', () => {
    const { box, reader } = openBox();
    const made = Array.from({ length: 20 }, () => ids.messageId(Date.now()));
    for (const messageId of made.toReversed()) publish(box, { messageId });

    expect(claimIds(reader)).toEqual(made);
    expect(listBox(box)).toEqual({ cur: made.map(fileNameOf) });
  });

  it('returns each envelope once, acked or not (I1)', () => {
    const { box, reader } = openBox();
    const [first] = publishMany(box, 1);

    expect(claimIds(reader)).toEqual([first]);
    expect(claimIds(reader)).toEqual([]);
    const [second] = publishMany(box, 1);
    expect(claimIds(reader)).toEqual([second]);
  });

  it('says when it took an envelope', () => {
    const { box, reader, pass } = openBox();
    publish(box);
    const beforeMs = Date.now();

    pass(60_000);

    expect(reader.claim()[0]!.claimedAtMs).toBeGreaterThan(beforeMs + 30_000);
  });

  it('returns after a crash what was not acked, before newer mail (I1, I2)', () => {
    const { box, reader, reopen } = openBox();
    const [first, second, third] = publishMany(box, 3);
    reader.claim();
    reader.ack(second!);
    const [fourth] = publishMany(box, 1);

    expect(claimIds(reopen())).toEqual([first, third, fourth]);
  });

  it('does not see what its publisher took back meanwhile', () => {
    const { box, reopen } = openBox({ fs: failOn('renameSync', 'ENOENT').fs });
    publish(box);

    expect(claimIds(reopen())).toEqual([]);
  });

  it('says that it is behind while a directory cannot be listed, for ten seconds at most', () => {
    const disk = failOn('readdirSync', 'EMFILE');
    const { reader, pass } = openBox({ fs: disk.fs });

    reader.claim();
    expect(reader.isBehind).toBe(true);
    pass(10_000);
    reader.claim();
    expect(reader.isBehind).toBe(false);
  });

  it('says that it is behind while text may be incomplete, for two seconds at most', () => {
    const { box, reader, pass } = openBox();
    writeFileSync(join(box.new, fileNameOf(ids.messageId(Date.now()))), '{"v":1');

    reader.claim();
    expect(reader.isBehind).toBe(true);
    pass(2_000);
    reader.claim();
    expect(reader.isBehind).toBe(false);
  });

  it('says whether an envelope was taken before', () => {
    const { box, reader, reopen } = openBox();
    publish(box);

    expect(reader.claim()).toMatchObject([{ isAgain: false }]);
    expect(reopen().claim()).toMatchObject([{ isAgain: true }]);
  });

  it('leaves dot files alone: they are not mail', () => {
    const { box, reader, bad } = openBox();
    writeFileSync(join(box.new, '.nfs0001'), '');

    expect(claimIds(reader)).toEqual([]);
    expect(bad).toEqual([]);
    expect(listBox(box)).toEqual({ new: ['.nfs0001'] });
  });
});

describe('ack, bury, retry', () => {
  it('moves an acked envelope to done, and a second ack changes nothing', () => {
    const { box, reader, reopen } = openBox();
    const [id] = publishMany(box, 1);
    reader.claim();

    reader.ack(id!);
    reader.ack(id!);

    expect(listBox(box)).toEqual({ done: [fileNameOf(id!)] });
    expect(claimIds(reopen())).toEqual([]);
  });

  it('acks what an earlier reader claimed, before or after claiming it again', () => {
    const { box, reader, reopen } = openBox();
    const [first, second] = publishMany(box, 2);
    reader.claim();
    const next = reopen();

    next.ack(first!);

    expect(claimIds(next)).toEqual([second]);
    next.ack(second!);
    expect(listBox(box)).toEqual({ done: [first, second].map((id) => fileNameOf(id!)) });
  });

  it('moves a buried envelope to dead with its reason', () => {
    const { box, reader } = openBox();
    const [id] = publishMany(box, 1);
    reader.claim();

    reader.bury(id!, 'nobody took it three times');
    reader.bury(id!, 'once more');

    const name = fileNameOf(id!);
    expect(listBox(box)).toEqual({ dead: [name, `${name}.reason`] });
    expect(readFileSync(join(box.dead, `${name}.reason`), 'utf8')).toBe(
      'nobody took it three times\n',
    );
    expect(lstatSync(join(box.dead, `${name}.reason`)).mode & 0o777).toBe(0o600);
  });

  it('returns a retried envelope once more, before newer ones', () => {
    const { box, reader } = openBox();
    const [first, second] = publishMany(box, 2);
    reader.claim();
    const [third] = publishMany(box, 1);

    reader.retry(second!);
    reader.retry(first!);
    reader.retry(first!);

    expect(claimIds(reader)).toEqual([first, second, third]);
    expect(claimIds(reader)).toEqual([]);
  });

  it('returns no retried envelope that was acked after all', () => {
    const { box, reader } = openBox();
    const [id] = publishMany(box, 1);
    reader.claim();

    reader.retry(id!);
    reader.ack(id!);

    expect(claimIds(reader)).toEqual([]);
  });

  it.each(['ack', 'bury'] as const)('tells when %s fails, and the envelope comes again', (call) => {
    const { box, reader, reopen } = openBox();
    const [id] = publishMany(box, 1);
    reader.claim();
    const { reader: ill } = openBox({ box, fs: failOn('renameSync', 'EROFS').fs });

    expect(thrownBy(() => ill[call](id!, 'nobody took it'))).toMatchObject({
      code: 'disk_error',
      retryable: true,
      message: expect.stringContaining('EROFS'),
    });
    expect(claimIds(reopen())).toEqual([id]);
  });
});

describe('repeats (I4, F4)', () => {
  it.each(['cur', 'done', 'dead'] as const)('drops a repeat of what lies in %s', (folder) => {
    const { box, reader, bad } = openBox();
    const envelope = publish(box);
    reader.claim();
    if (folder === 'done') reader.ack(envelope.messageId);
    if (folder === 'dead') reader.bury(envelope.messageId, 'nobody');

    const repeat = sealMessage({ messageId: envelope.messageId, createdAt: 7, seq: 9 });
    writeFileSync(join(box.new, fileNameOf(envelope.messageId)), JSON.stringify(repeat));

    expect(claimIds(reader)).toEqual([]);
    expect(bad).toEqual([]);
    expect(Object.keys(listBox(box))).toEqual([folder]);
  });

  it('quarantines another content under a known id and keeps the first', async () => {
    const { box, reader, bad } = openBox();
    const { messageId } = publish(box);
    reader.claim();

    const other = sealMessage({ messageId, content: 'Something else.' });
    writeFileSync(join(box.new, fileNameOf(messageId)), JSON.stringify(other));

    expect(claimIds(reader)).toEqual([]);
    await Promise.resolve();
    expect(bad).toMatchObject([{ code: 'duplicate_conflict', messageId }]);
    expect(readFileSync(join(box.cur, fileNameOf(messageId)), 'utf8')).toContain('flock');
  });
});

describe('upkeep', () => {
  it('sweeps what a killed publisher left in tmp, and not what one is writing', () => {
    const { box, reopen, pass } = openBox();
    writeFileSync(join(box.tmp, 'left'), '{"v":1');
    reopen();
    expect(existsSync(join(box.tmp, 'left'))).toBe(true);

    pass(11 * 60_000);
    reopen();

    expect(existsSync(join(box.tmp, 'left'))).toBe(false);
  });

  it('prunes what was acked long enough ago, at most so many at once', () => {
    const { box, reader, pass } = openBox();
    publishMany(box, 5);
    for (const { envelope } of reader.claim()) reader.ack(envelope.messageId);

    expect(reader.pruneDone(60_000)).toBe(0);
    pass(61_000);
    expect(reader.pruneDone(60_000, 2)).toBe(2);
    expect(reader.pruneDone(60_000)).toBe(3);
    expect(listBox(box)).toEqual({});
  });

  it('keeps no more than the newest 2,000 of what was acked', () => {
    const { box, reopen } = openBox();
    const names = Array.from({ length: 2_003 }, () => fileNameOf(ids.messageId(Date.now())));
    for (const name of names) writeFileSync(join(box.done, name), '');

    reopen();

    expect(listBox(box)['done']).toEqual(names.slice(3));
  });

  it('forgets by itself after a day, at the next opening', () => {
    const { box, reader, pass, reopen } = openBox();
    const [id] = publishMany(box, 1);
    reader.claim();
    reader.ack(id!);

    pass(23 * 60 * 60_000);
    reopen();
    expect(listBox(box)).toEqual({ done: [fileNameOf(id!)] });
    pass(2 * 60 * 60_000);
    reopen();

    expect(listBox(box)).toEqual({});
  });
});

describe('files that cannot be read yet (I2, I5, F2)', () => {
  it.each(['', '{"v":1,"kind":"mess', '{'])('waits for %j to be completed, in order', (begun) => {
    const { box, reader, bad, pass } = openBox();
    const envelope = sealMessage();
    const text = JSON.stringify(envelope);
    const path = join(box.new, fileNameOf(envelope.messageId));
    writeFileSync(path, begun);
    const [later] = publishMany(box, 1);

    expect(claimIds(reader)).toEqual([]);
    pass(1_999);
    expect(claimIds(reader)).toEqual([]);
    writeFileSync(path, '');
    appendFileSync(path, text);

    expect(claimIds(reader)).toEqual([envelope.messageId, later]);
    expect(bad).toEqual([]);
  });

  it('quarantines one that is not completed within two seconds, and the rest flows', async () => {
    const { box, reader, bad, pass } = openBox();
    const stuck = fileNameOf(ids.messageId(Date.now()));
    writeFileSync(join(box.new, stuck), '{"v":1,"kin');
    const [later] = publishMany(box, 1);

    reader.claim();
    pass(2_000);

    expect(claimIds(reader)).toEqual([later]);
    await Promise.resolve();
    expect(bad).toMatchObject([
      { code: 'invalid_envelope', name: stuck, reason: 'It is not JSON.' },
    ]);
  });

  it.each(['EMFILE', 'EIO', 'EACCES'])('retries after %s and loses nothing', async (errno) => {
    const disk = failOn('readFileSync', errno);
    const troubles: string[] = [];
    const { box, reader, bad } = openBox({
      fs: disk.fs,
      onTrouble: (error) => troubles.push(error.message),
    });
    const published = publishMany(box, 3);

    expect(claimIds(reader)).toEqual([]);
    expect(claimIds(reader)).toEqual([]);
    disk.heal();

    expect(claimIds(reader)).toEqual(published);
    await Promise.resolve();
    expect(bad).toEqual([]);
    expect(troubles).toEqual([expect.stringContaining(errno)]);
  });

  it('lets the rest flow past a file that the disk does not give, and still takes it later', () => {
    const ill: string[] = [];
    const disk = failOn('readFileSync', 'EIO', (path) => ill.includes(String(path)));
    const { box, reader, pass } = openBox({ fs: disk.fs });
    const [first, second] = publishMany(box, 2);
    ill.push(join(box.new, fileNameOf(first!)));

    expect(claimIds(reader)).toEqual([]);
    pass(10_000);
    expect(claimIds(reader)).toEqual([second]);
    disk.heal();

    expect(claimIds(reader)).toEqual([first]);
  });

  it('holds newer mail while one that an earlier reader claimed cannot be read', () => {
    const disk = failOn('readFileSync', 'EIO', (path) => String(path).includes('/cur/'));
    const { box, reader } = openBox();
    const [first] = publishMany(box, 1);
    reader.claim();
    const [second] = publishMany(box, 1);
    const { reader: next } = openBox({ fs: disk.fs, box });

    expect(claimIds(next)).toEqual([]);
    disk.heal();
    expect(claimIds(next)).toEqual([first, second]);
  });

  it.each([
    ['readdirSync', 'EMFILE'],
    ['readdirSync', 'EIO'],
    ['renameSync', 'EROFS'],
    ['renameSync', 'EACCES'],
    ['lstatSync', 'EIO'],
  ] as const)('claims nothing while %s says %s, and all of it afterwards', (call, errno) => {
    const disk = failOn(call, errno);
    const { box, reader } = openBox({ fs: disk.fs });
    const published = publishMany(box, 3);

    expect(claimIds(reader)).toEqual([]);
    disk.heal();

    expect(claimIds(reader)).toEqual(published);
  });
});
