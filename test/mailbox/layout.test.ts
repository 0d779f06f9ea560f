import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  boxesOf,
  createBoxes,
  fileNameOf,
  messageIdOf,
  removeBoxes,
} from '../../src/mailbox/layout.ts';
import { alice, bob, failOn, ids, makeTempDir } from '../support/mailbox.ts';

const modeOf = (path: string): number => lstatSync(path).mode & 0o777;

describe('layout', () => {
  it('gives each incarnation boxes of its own (L1)', () => {
    const first = boxesOf('/mailbox', alice);
    const second = boxesOf('/mailbox', { ...alice, launch: 2 });

    expect(first.inbox.new).toBe('/mailbox/shepherd-agent-alice0000000.1/inbox/new');
    expect(second.inbox.new).toBe('/mailbox/shepherd-agent-alice0000000.2/inbox/new');
  });

  it('makes every directory 0700, also one that was open to others before (L2)', () => {
    const dir = join(makeTempDir(), 'mailbox');
    const boxes = boxesOf(dir, alice);

    createBoxes(boxes);
    chmodSync(boxes.outbox.cur, 0o777);
    createBoxes(boxes);

    const made = readdirSync(dir, { recursive: true, encoding: 'utf8' });
    expect(made).toHaveLength(15);
    expect([dir, ...made.map((name) => join(dir, name))].map(modeOf)).toEqual(
      Array.from({ length: 16 }, () => 0o700),
    );
  });

  it('names files so that name order is the order of the ids (L3)', () => {
    const made = [1_000, 1_000, 999, 5_000, 2 ** 40].map((ms) => ids.messageId(ms));

    expect(made.map(fileNameOf).toSorted()).toEqual(made.map(fileNameOf));
    expect(messageIdOf(fileNameOf(made[0]!))).toBe(made[0]);
  });

  it.each(['notes.txt', 'x.json', `shepherd-message-${'a'.repeat(24)}`, '../x.json'])(
    'knows that %s is no name of an envelope',
    (name) => {
      expect(messageIdOf(name)).toBeUndefined();
    },
  );

  it('removes the boxes of one incarnation only, twice if asked', () => {
    const dir = makeTempDir();
    createBoxes(boxesOf(dir, alice));
    createBoxes(boxesOf(dir, bob));

    removeBoxes(boxesOf(dir, alice));
    removeBoxes(boxesOf(dir, alice));

    expect(existsSync(boxesOf(dir, alice).dir)).toBe(false);
    expect(existsSync(boxesOf(dir, bob).inbox.new)).toBe(true);
  });

  it('tells which directory could not be made (D1)', () => {
    const boxes = boxesOf(makeTempDir(), alice);

    expect(() => createBoxes(boxes, failOn('mkdirSync', 'EROFS').fs)).toThrow(
      expect.objectContaining({
        code: 'disk_error',
        retryable: true,
        message: expect.stringMatching(/make directory .+ \(EROFS\)/),
      }),
    );
  });
});
