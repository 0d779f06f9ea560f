/**
 * Every error of the disk at every place where an envelope moves, one test each.
 *
 * Which calls a place makes, and what each leaves behind, is pinned in `publish.test.ts` and
 * `inbox.test.ts`; what a commit makes of the same errors in `test/runtime/disk-faults.test.ts`.
 */
import { describe, expect, it } from 'vitest';
import type { MailboxError } from '../../src/errors.ts';
import type { Envelope } from '../../src/mailbox/envelope.ts';
import { fileNameOf, type Box } from '../../src/mailbox/layout.ts';
import type { MailFs } from '../../src/mailbox/mail-fs.ts';
import { publishEnvelope } from '../../src/mailbox/publish.ts';
import {
  claimIds,
  failOn,
  listBox,
  makeBox,
  openBox,
  sealMessage,
  thrownBy,
} from '../support/mailbox.ts';

/** The call that fails, where a disk could say so. */
type Row = readonly [errno: string, call: keyof MailFs];

function publish(box: Box): Envelope {
  const envelope = sealMessage();
  publishEnvelope(box, envelope, { durability: 'none' });
  return envelope;
}

const diskError = (errno: string) => ({
  code: 'disk_error',
  retryable: true,
  message: expect.stringContaining(errno) as string,
  data: { errno },
});

describe('publish', () => {
  it.each<Row>([
    ['ENOSPC', 'writeFileSync'],
    ['EROFS', 'openSync'],
    ['EACCES', 'openSync'],
    ['EMFILE', 'openSync'],
    ['EIO', 'fsyncSync'],
  ])('tells of %s (%s), leaves nothing, and works later', (errno, call) => {
    const box = makeBox();
    const envelope = sealMessage();
    const name = fileNameOf(envelope.messageId);
    const disk = failOn(call, errno);

    const error = thrownBy(() => publishEnvelope(box, envelope, { fs: disk.fs }));

    expect(error).toMatchObject(diskError(errno));
    expect(listBox(box)).toEqual({});
    disk.heal();
    expect(publishEnvelope(box, envelope, { fs: disk.fs })).toBe('accepted');
    expect(listBox(box)).toEqual({ new: [name] });
  });
});

describe('claim', () => {
  it.each<Row>([
    ['ENOSPC', 'renameSync'],
    ['EROFS', 'renameSync'],
    ['EACCES', 'renameSync'],
    ['EMFILE', 'readdirSync'],
    ['EIO', 'renameSync'],
  ])('tells of %s (%s), takes nothing, and works later', async (errno, call) => {
    const disk = failOn(call, errno);
    const troubles: MailboxError[] = [];
    const onTrouble = (error: MailboxError) => troubles.push(error);
    const { box, reader, bad } = openBox({ fs: disk.fs, onTrouble });
    const { messageId } = publish(box);

    expect(claimIds(reader)).toEqual([]);

    await Promise.resolve();
    expect(troubles[0]).toMatchObject(diskError(errno));
    expect(listBox(box)).toEqual({ new: [fileNameOf(messageId)] });
    disk.heal();
    expect(claimIds(reader)).toEqual([messageId]);
    expect(claimIds(reader)).toEqual([]);
    expect(bad).toEqual([]);
  });
});

describe('ack', () => {
  it.each<Row>([
    ['ENOSPC', 'renameSync'],
    ['EROFS', 'renameSync'],
    ['EACCES', 'renameSync'],
    ['EMFILE', 'renameSync'],
    ['EIO', 'renameSync'],
  ])('tells of %s (%s), leaves the envelope claimed, and works later', (errno, call) => {
    const { box, reader: first, reopen } = openBox();
    const { messageId } = publish(box);
    const name = fileNameOf(messageId);
    first.claim();
    const disk = failOn(call, errno);
    const { reader } = openBox({ box, fs: disk.fs });

    const error = thrownBy(() => reader.ack(messageId));

    expect(error).toMatchObject(diskError(errno));
    expect(listBox(box)).toEqual({ cur: [name] });
    disk.heal();
    reader.ack(messageId);
    expect(listBox(box)).toEqual({ done: [name] });
    expect(claimIds(reopen())).toEqual([]);
  });
});
