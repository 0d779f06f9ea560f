import {
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/mailbox/envelope.ts';
import { fileNameOf, type Box } from '../../src/mailbox/layout.ts';
import { realFs } from '../../src/mailbox/mail-fs.ts';
import { publishEnvelope } from '../../src/mailbox/publish.ts';
import {
  failOn,
  listBox,
  makeBox,
  recordCalls,
  sealMessage,
  thrownBy,
} from '../support/mailbox.ts';

const pathIn = (dir: string, envelope: Envelope): string =>
  join(dir, fileNameOf(envelope.messageId));

function moveTo(box: Box, folder: 'cur' | 'done' | 'dead', envelope: Envelope): void {
  renameSync(pathIn(box.new, envelope), pathIn(box[folder], envelope));
}

const isNumber = (first: unknown): boolean => typeof first === 'number';

describe('publish', () => {
  it('puts one file of mode 0600 under the message id into new (P1)', () => {
    const box = makeBox();
    const envelope = sealMessage();

    expect(publishEnvelope(box, envelope)).toBe('accepted');

    expect(listBox(box)).toEqual({ new: [fileNameOf(envelope.messageId)] });
    const path = pathIn(box.new, envelope);
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(envelope);
  });

  it('gives a file its name only when its content is complete (P1)', () => {
    const box = makeBox();
    const envelope = sealMessage();
    const seen: unknown[] = [];

    publishEnvelope(box, envelope, {
      fs: {
        ...realFs,
        linkSync(from, to) {
          seen.push(readdirSync(box.new), JSON.parse(readFileSync(from, 'utf8')));
          linkSync(from, to);
        },
      },
    });

    expect(seen).toEqual([[], envelope]);
  });

  it.each([
    ['fsync', ['linkSync', 'fsyncSync']],
    ['strict', ['linkSync', 'fsyncSync', 'fsyncSync']],
    ['none', ['linkSync']],
  ] as const)('with durability %s makes the disk calls %j (P2)', (durability, expected) => {
    const { fs, calls } = recordCalls();

    publishEnvelope(makeBox(), sealMessage(), { durability, fs });

    expect(calls.filter((call) => /link|fsync|rename/.test(call) && call !== 'unlinkSync')).toEqual(
      expected,
    );
  });

  it('lists no directory, however much lies in it', () => {
    const { fs, calls } = recordCalls();

    publishEnvelope(makeBox(), sealMessage(), { fs });

    expect(calls).not.toContain('readdirSync');
  });

  it('refuses an envelope above the limit and writes nothing', () => {
    const box = makeBox();

    const error = thrownBy(() =>
      publishEnvelope(box, sealMessage({ content: 'ä'.repeat(40_000) })),
    );

    expect(error).toMatchObject({
      code: 'message_too_large',
      retryable: false,
      message: expect.stringMatching(/at most 65536/),
    });
    expect(listBox(box)).toEqual({});
  });

  it('takes an envelope of exactly the limit', () => {
    const envelope = sealMessage();
    const maxEnvelopeBytes = Buffer.byteLength(JSON.stringify(envelope));

    expect(publishEnvelope(makeBox(), envelope, { maxEnvelopeBytes })).toBe('accepted');
    expect(() =>
      publishEnvelope(makeBox(), envelope, { maxEnvelopeBytes: maxEnvelopeBytes - 1 }),
    ).toThrow(expect.objectContaining({ code: 'message_too_large' }));
  });
});

describe('publish once (P3)', () => {
  it.each(['new', 'cur', 'done', 'dead'] as const)(
    'answers duplicate to a repeat of what lies in %s, whatever its time, order and hops',
    (folder) => {
      const box = makeBox();
      const envelope = sealMessage();
      publishEnvelope(box, envelope);
      if (folder !== 'new') moveTo(box, folder, envelope);
      const { messageId } = envelope;

      const repeat = sealMessage({ messageId, createdAt: 5, seq: 9, hops: 3 });

      expect(publishEnvelope(box, repeat)).toBe('duplicate');
      expect(listBox(box)).toEqual({ [folder]: [fileNameOf(messageId)] });
    },
  );

  it.each(['new', 'cur', 'done', 'dead'] as const)(
    'refuses another content under the id of what lies in %s',
    (folder) => {
      const box = makeBox();
      const envelope = sealMessage();
      publishEnvelope(box, envelope);
      if (folder !== 'new') moveTo(box, folder, envelope);

      const other = sealMessage({ messageId: envelope.messageId, content: 'Something else.' });

      expect(thrownBy(() => publishEnvelope(box, other))).toMatchObject({
        code: 'duplicate_conflict',
        data: { messageId: envelope.messageId },
      });
      expect(listBox(box)).toEqual({ [folder]: [fileNameOf(envelope.messageId)] });
    },
  );

  it('says duplicate when another publisher of the same envelope is faster by a moment', () => {
    const box = makeBox();
    const envelope = sealMessage();
    const fs = {
      ...realFs,
      linkSync: (from: Parameters<typeof linkSync>[0], to: Parameters<typeof linkSync>[1]) => {
        publishEnvelope(box, envelope);
        linkSync(from, to);
      },
    };

    expect(publishEnvelope(box, envelope, { fs })).toBe('duplicate');
    expect(listBox(box)).toEqual({ new: [fileNameOf(envelope.messageId)] });
  });

  it('counts a link as made when the file system says EEXIST to its own repetition of it', () => {
    const box = makeBox();
    const envelope = sealMessage();
    const fs = {
      ...realFs,
      linkSync: (from: Parameters<typeof linkSync>[0], to: Parameters<typeof linkSync>[1]) => {
        linkSync(from, to);
        linkSync(from, to);
      },
    };

    expect(publishEnvelope(box, envelope, { fs })).toBe('accepted');
  });

  it('confirms on disk what an earlier publisher may have left unconfirmed (P2)', () => {
    const box = makeBox();
    const envelope = sealMessage();
    publishEnvelope(box, envelope, { durability: 'none' });
    const { fs, calls } = recordCalls();

    publishEnvelope(box, envelope, { fs });

    expect(calls).toContain('fsyncSync');
  });

  it('asks for a retry while a torn file has its name', () => {
    const box = makeBox();
    const envelope = sealMessage();
    publishEnvelope(box, envelope, { durability: 'none' });
    truncateSync(pathIn(box.new, envelope), 0);

    expect(thrownBy(() => publishEnvelope(box, envelope))).toMatchObject({
      code: 'disk_error',
      retryable: true,
    });
  });
});

describe('publish on a disk that fails (P4, D1)', () => {
  it.each([
    ['openSync', 'ENOSPC', undefined],
    ['openSync', 'EROFS', undefined],
    ['openSync', 'EACCES', undefined],
    ['openSync', 'EMFILE', undefined],
    ['writeFileSync', 'ENOSPC', undefined],
    ['writeFileSync', 'EIO', undefined],
    ['linkSync', 'ENOSPC', undefined],
    ['linkSync', 'EROFS', undefined],
    ['linkSync', 'EACCES', undefined],
    ['fsyncSync', 'EIO', isNumber],
    ['fsyncSync', 'ENOSPC', isNumber],
  ] as const)('after %s %s leaves nothing, says so, and works later', (call, errno, where) => {
    const box = makeBox();
    const envelope = sealMessage();
    const disk = failOn(call, errno, where);

    const error = thrownBy(() => publishEnvelope(box, envelope, { fs: disk.fs }));

    expect(error).toMatchObject({
      code: 'disk_error',
      retryable: true,
      message: expect.stringContaining(errno),
      data: { errno, path: expect.stringContaining(box.dir) },
    });
    expect(listBox(box)).toEqual({});
    disk.heal();
    expect(publishEnvelope(box, envelope, { fs: disk.fs })).toBe('accepted');
    expect(listBox(box)).toEqual({ new: [fileNameOf(envelope.messageId)] });
  });

  it('leaves no half of a file when the disk is full in the middle of it', () => {
    const box = makeBox();
    const fs = {
      ...realFs,
      writeFileSync: (file: Parameters<typeof writeFileSync>[0]) => {
        writeFileSync(file, '{"v":1,');
        throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
      },
    };

    expect(thrownBy(() => publishEnvelope(box, sealMessage(), { fs }))).toMatchObject({
      code: 'disk_error',
    });
    expect(listBox(box)).toEqual({});
  });

  it('counts as accepted when the reader claimed it before the failed fsync', () => {
    const box = makeBox();
    const envelope = sealMessage();
    const fs = {
      ...realFs,
      fsyncSync: () => {
        moveTo(box, 'cur', envelope);
        throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
      },
    };

    expect(publishEnvelope(box, envelope, { fs })).toBe('accepted');
    expect(listBox(box)).toEqual({ cur: [fileNameOf(envelope.messageId)] });
  });

  it('says disk_error when an unconfirmed file cannot be taken back, and a repeat confirms it', () => {
    const box = makeBox();
    const envelope = sealMessage();
    const noSync = failOn('fsyncSync', 'EIO');
    const fs = { ...noSync.fs, unlinkSync: failOn('unlinkSync', 'EROFS').fs.unlinkSync };

    expect(thrownBy(() => publishEnvelope(box, envelope, { fs }))).toMatchObject({
      code: 'disk_error',
      retryable: true,
    });
    expect(thrownBy(() => publishEnvelope(box, envelope, { fs }))).toMatchObject({
      code: 'disk_error',
    });
    noSync.heal();
    expect(publishEnvelope(box, envelope, { fs })).toBe('duplicate');
  });

  it('is accepted although its temporary file cannot be removed', () => {
    const box = makeBox();
    const envelope = sealMessage();

    expect(publishEnvelope(box, envelope, { fs: failOn('rmSync', 'EIO').fs })).toBe('accepted');
    expect(listBox(box)['new']).toEqual([fileNameOf(envelope.messageId)]);
  });
});

describe('publish without hard links', () => {
  it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])(
    'renames where link says %s, and still publishes once',
    (errno) => {
      const box = makeBox();
      const envelope = sealMessage();
      const { fs } = failOn('linkSync', errno);

      expect(publishEnvelope(box, envelope, { fs })).toBe('accepted');
      expect(publishEnvelope(box, envelope, { fs })).toBe('duplicate');

      const other = sealMessage({ messageId: envelope.messageId, content: 'Something else.' });
      expect(thrownBy(() => publishEnvelope(box, other, { fs }))).toMatchObject({
        code: 'duplicate_conflict',
      });
      expect(listBox(box)).toEqual({ new: [fileNameOf(envelope.messageId)] });
    },
  );

  it('leaves nothing when the rename fails too', () => {
    const box = makeBox();
    const failing = failOn('renameSync', 'EIO').fs;
    const fs = { ...failing, linkSync: failOn('linkSync', 'EPERM').fs.linkSync };

    expect(thrownBy(() => publishEnvelope(box, sealMessage(), { fs }))).toMatchObject({
      code: 'disk_error',
      message: expect.stringContaining('rename'),
    });
    expect(listBox(box)).toEqual({});
  });
});
