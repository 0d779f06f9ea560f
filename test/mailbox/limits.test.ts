import { expect, it } from 'vitest';
import { createCredit } from '../../src/mailbox/credit.ts';
import { defaultLimits, limitsSchema } from '../../src/mailbox/limits.ts';

it('has the limits of the contract by default', () => {
  expect(defaultLimits).toEqual({
    maxEnvelopeBytes: 65_536,
    maxContentCharacters: 50_000,
    maxUnread: 1_000,
    maxSummaryCharacters: 8_000,
    messagesPerMinute: 60,
    maxHops: 8,
  });
});

it.each([{ maxUnread: 0 }, { maxHops: 1.5 }, { maxLetters: 3 }])('refuses %j', (limits) => {
  expect(limitsSchema.safeParse(limits).success).toBe(false);
});

it('admits exactly as many as fit, and counts few times for it (R1)', () => {
  let unread = 0;
  let counts = 0;
  const credit = createCredit({
    max: 1_000,
    count: () => {
      counts += 1;
      return unread;
    },
  });

  while (credit.admit()) unread += 1;

  expect(unread).toBe(1_000);
  expect(counts).toBeLessThan(40);
});

it('has room again once the reader acked', () => {
  let unread = 10;
  const credit = createCredit({ max: 10, count: () => unread });
  expect(credit.admit()).toBe(false);

  unread = 9;

  expect(credit.admit()).toBe(true);
  expect(credit.recount()).toBe(9);
});

it('takes what is published in any case off the room (R1)', () => {
  let unread = 0;
  const credit = createCredit({ max: 8, count: () => unread });
  credit.admit();
  unread += 1;

  for (let n = 0; n < 7; n += 1) {
    credit.spend();
    unread += 1;
  }

  expect(credit.admit()).toBe(false);
});
