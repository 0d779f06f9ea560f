import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TestChild } from '../support/child.ts';
import { ids, slipIn } from '../support/conversation.ts';
import { eventually, openHerd, startMs, textsOf } from '../support/herd.ts';

const boxOf = (child: TestChild, folder: string): string =>
  join(child.identity.boxesDir, 'outbox', folder);

const toldOf = (messageId: string, reason: string): string =>
  `Unusable mail of scout: one was put aside (${messageId}.json): ${reason}`;

describe('mail that was put aside', () => {
  it('is told once the disk is mended that would not keep it (QT1)', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const messageId = ids.messageId(startMs);
    herd.store.break();
    slipIn(one, messageId, '[1]');
    await eventually(() => expect(readdirSync(boxOf(one, 'bad'))).not.toEqual([]));
    await eventually(() => expect(herd.store.refused()).toBeGreaterThan(0));

    herd.store.mend();
    herd.nudge();

    expect(await one.receives('verdict')).toMatchObject({ forMessageId: messageId, ok: false });
    await one.roster();
    herd.abandon();
    const next = await herd.reopen();
    await one.roster();
    expect([...textsOf(herd, 'shepherd.notice'), ...textsOf(next, 'shepherd.notice')]).toEqual([
      expect.stringContaining(toldOf(messageId, '')),
    ]);
  });

  it.each([
    ['with its reason', 'foreign_session: it is of another', 'foreign_session', 'it is of another'],
    ['without one', undefined, 'invalid_envelope', 'nothing was noted about it.'],
  ])('by a parent that died over it is told by the next, once, %s (QT2)', async (...row) => {
    const [, note, code, reason] = row;
    const herd = await openHerd();
    const one = await herd.hatch('one');
    herd.abandon();
    const messageId = ids.messageId(startMs);
    const path = join(boxOf(one, 'bad'), `${messageId}.json`);
    writeFileSync(path, '[1]');
    if (note !== undefined) writeFileSync(`${path}.reason`, `${note}\n`);

    const next = await herd.reopen();
    expect(await one.receives('verdict')).toMatchObject({ forMessageId: messageId, code });
    next.abandon();
    const third = await next.reopen();
    await one.roster();

    expect(textsOf(next, 'shepherd.notice')).toEqual([toldOf(messageId, reason)]);
    expect(third.notices).toEqual([]);
  });
});
