import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/mailbox/envelope.ts';
import { fileNameOf } from '../../src/mailbox/layout.ts';
import { publishEnvelope } from '../../src/mailbox/publish.ts';
import {
  alice,
  bob,
  claimIds,
  failOn,
  ids,
  listBox,
  openBox,
  sealMessage,
} from '../support/mailbox.ts';

const id = ids.messageId(Date.now());
const text = (changes: Parameters<typeof sealMessage>[0] = {}): string =>
  JSON.stringify(sealMessage({ messageId: id, ...changes }));

interface Case {
  readonly what: string;
  readonly code: string;
  readonly reason: RegExp;
  /** File name; default: the one of the id. */
  readonly name?: string;
  readonly make: (path: string) => void;
}

const write =
  (content: string | Buffer): Case['make'] =>
  (path) => {
    writeFileSync(path, content);
  };

const cases: readonly Case[] = [
  {
    what: 'a forged mac',
    code: 'invalid_capability',
    reason: /HMAC/,
    make: write(text().replace(/"mac":"[0-9a-f]{64}"/, `"mac":"${'0'.repeat(64)}"`)),
  },
  {
    what: 'content changed after sealing',
    code: 'invalid_capability',
    reason: /HMAC/,
    make: write(text().replace('Counted', 'Lost')),
  },
  {
    what: 'another sender than the owner of the box',
    code: 'invalid_sender',
    reason: new RegExp(bob.agentId),
    make: write(text({ senderId: bob.agentId })),
  },
  {
    what: 'another session',
    code: 'foreign_session',
    reason: /session-2/,
    make: write(text({ sessionId: 'session-2' })),
  },
  {
    what: 'another broker',
    code: 'foreign_session',
    reason: /broker-2/,
    make: write(text({ brokerId: 'broker-2' })),
  },
  {
    what: 'another recipient',
    code: 'invalid_target',
    reason: new RegExp(bob.agentId),
    make: write(text({ targetId: bob.agentId })),
  },
  {
    what: 'an id that is not its file name',
    code: 'invalid_envelope',
    reason: /file name/,
    make: write(text({ messageId: ids.messageId(Date.now()) })),
  },
  {
    what: 'a name that is no message id',
    code: 'invalid_envelope',
    reason: /file name/,
    name: 'notes.txt',
    make: write('remember the milk'),
  },
  {
    what: 'text that cannot become an envelope',
    code: 'invalid_envelope',
    reason: /not JSON/,
    make: write('done'),
  },
  {
    what: 'a byte order mark',
    code: 'invalid_envelope',
    reason: /byte order mark/,
    make: write(`\uFEFF${text()}`),
  },
  {
    what: 'bytes that are not UTF-8',
    code: 'invalid_envelope',
    reason: /UTF-8/,
    make: write(Buffer.from([0xff, 0xfe, 0x7b])),
  },
  {
    what: 'JSON that is no object',
    code: 'invalid_envelope',
    reason: /expected object/,
    make: write('[]'),
  },
  {
    what: 'an unknown field',
    code: 'invalid_envelope',
    reason: /priority/,
    make: write(text().replace('"v":1', '"v":1,"priority":9')),
  },
  {
    what: 'an unknown kind',
    code: 'invalid_envelope',
    reason: /kind/,
    make: write(text().replace('"kind":"message"', '"kind":"gossip"')),
  },
  {
    what: 'more bytes than the limit',
    code: 'message_too_large',
    reason: /at most 65536/,
    make: write(`${text()}${' '.repeat(70_000)}`),
  },
  {
    what: 'a nesting that overflows the stack',
    code: 'invalid_envelope',
    reason: /./,
    make: write(
      JSON.stringify({
        ...JSON.parse(text()),
        kind: 'verdict',
        content: undefined,
        delivery: undefined,
        forMessageId: id,
        ok: true,
        data: { deep: 0 },
      }).replace('"deep":0', `"deep":${'['.repeat(30_000)}${']'.repeat(30_000)}`),
    ),
  },
  {
    what: 'a directory',
    code: 'invalid_envelope',
    reason: /regular file/,
    make: (path) => {
      mkdirSync(join(path, 'inner'), { recursive: true });
    },
  },
  {
    what: 'a symlink',
    code: 'invalid_envelope',
    reason: /regular file/,
    make: (path) => {
      symlinkSync('/etc/hostname', path);
    },
  },
];

describe('quarantine (I3, F1)', () => {
  it.each(cases)('takes $what aside with a reason, and the rest flows', async (odd) => {
    const { box, reader, bad } = openBox();
    const name = odd.name ?? fileNameOf(id);
    odd.make(join(box.new, name));
    const good = sealMessage();
    publishEnvelope(box, good, { durability: 'none' });

    const claimed = claimIds(reader);

    expect(claimed).toEqual([good.messageId]);
    await Promise.resolve();
    expect(bad).toMatchObject([
      { code: odd.code, reason: expect.stringMatching(odd.reason), name },
    ]);
    expect(bad[0]!.messageId).toBe(odd.name === undefined ? id : undefined);
    expect(listBox(box)).toEqual({
      cur: [fileNameOf(good.messageId)],
      bad: [name, `${name}.reason`].toSorted(),
    });
    const note = `${bad[0]!.path}.reason`;
    expect(readFileSync(note, 'utf8')).toBe(`${odd.code}: ${bad[0]!.reason}\n`);
    expect(lstatSync(note).mode & 0o777).toBe(0o600);
  });

  it('does not follow a symlink (F3)', () => {
    const { box, reader } = openBox();
    const outside = join(box.dir, 'outside.json');
    writeFileSync(outside, text());
    symlinkSync(outside, join(box.new, fileNameOf(id)));

    expect(claimIds(reader)).toEqual([]);

    expect(readlinkSync(join(box.bad, fileNameOf(id)))).toBe(outside);
    expect(existsSync(outside)).toBe(true);
  });

  it('keeps every bad file, also under one name (V1)', () => {
    const { box, reader } = openBox();
    const name = fileNameOf(id);
    for (const content of ['one', 'two', 'three']) {
      writeFileSync(join(box.new, name), content);
      reader.claim();
    }

    const kept = [name, `${name}.2`, `${name}.3`].map((file) =>
      readFileSync(join(box.bad, file), 'utf8'),
    );
    expect(kept).toEqual(['one', 'two', 'three']);
  });

  it('takes aside what an earlier reader had claimed and is bad now', async () => {
    const { box, reader, bad } = openBox();
    writeFileSync(join(box.cur, fileNameOf(id)), 'done');

    expect(claimIds(reader)).toEqual([]);
    await Promise.resolve();
    expect(bad).toMatchObject([{ messageId: id }]);
  });

  it('reports a bad file once, and again only when it could be moved (I5)', async () => {
    const disk = failOn('renameSync', 'EROFS');
    const troubles: unknown[] = [];
    const { box, reader, bad } = openBox({
      fs: disk.fs,
      onTrouble: (error) => troubles.push(error),
    });
    writeFileSync(join(box.new, fileNameOf(id)), 'done');

    reader.claim();
    reader.claim();
    await Promise.resolve();
    expect(bad).toEqual([]);
    expect(troubles).toHaveLength(1);
    disk.heal();
    reader.claim();
    reader.claim();

    await Promise.resolve();
    expect(bad).toHaveLength(1);
  });

  it('takes a file aside although its reason cannot be written', async () => {
    const { box, reader, bad } = openBox({ fs: failOn('writeFileSync', 'ENOSPC').fs });
    writeFileSync(join(box.new, fileNameOf(id)), 'done');

    reader.claim();

    await Promise.resolve();
    expect(bad).toHaveLength(1);
    expect(listBox(box)).toEqual({ bad: [fileNameOf(id)] });
  });

  it('takes an envelope whatever the order of its keys and the space between them', () => {
    const { box, reader } = openBox();
    const envelope = sealMessage({ messageId: id, targetId: alice.agentId });
    const spaced = JSON.stringify(JSON.parse(canonicalJson(envelope)), null, 2);
    writeFileSync(join(box.new, fileNameOf(id)), `${spaced}\n`);

    expect(claimIds(reader)).toEqual([id]);
  });
});
