import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createIdMaker } from '../../src/ids.ts';
import type { Envelope } from '../../src/mailbox/envelope.ts';
import { createChildInbox } from '../../src/pi/child/inbox.ts';
import { createWork } from '../../src/pi/child/work.ts';
import { createPiModel } from './support/pi-model.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const pi = createPiModel();
  const log: unknown[] = [];
  const failures: unknown[] = [];
  const take = createChildInbox({
    mailbox: {
      send: (draft) => {
        log.push(['send', draft]);
        return 'id';
      },
      ack: (messageId) => log.push(['ack', messageId]),
      bury: (messageId, reason) => log.push(['bury', messageId, reason]),
    },
    delivery: pi.delivery,
    work: createWork(Date.now),
    abort: () => log.push(['abort']),
    report: (error) => failures.push(error),
  });
  return { pi, log, failures, take };
}

const messageId = createIdMaker().messageId(Date.now());
const message: Envelope = {
  v: 1,
  kind: 'message',
  sessionId: 's',
  brokerId: 'b',
  messageId,
  senderId: 'shepherd',
  targetId: 'shepherd-agent-000000000000',
  createdAt: 0,
  seq: 0,
  hops: 0,
  mac: '0'.repeat(64),
  content: 'Which?',
  delivery: 'followUp',
  expectsReply: true,
};

it('I1: acks and sends the receipt only once the session has it', async () => {
  const { pi, log, take } = setUp();
  pi.prompt();

  take(message);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(log).toEqual([]);
  pi.settle();
  await vi.advanceTimersByTimeAsync(0);

  expect(log).toEqual([
    ['ack', messageId],
    [
      'send',
      { kind: 'receipt', targetId: 'shepherd', forMessageId: messageId, receipt: 'delivered' },
    ],
  ]);
});

it('I2: buries what Pi never stores and tells by a dead receipt', async () => {
  const { pi, log, take } = setUp();
  pi.lose(3);

  take(message);
  await vi.advanceTimersByTimeAsync(10_000);

  expect(log).toMatchObject([
    ['bury', messageId, expect.stringMatching(/^uncertain: /)],
    ['send', { forMessageId: messageId, receipt: 'dead', error: expect.any(String) }],
  ]);
});

it('leaves an envelope claimed when the session ends first', async () => {
  const { pi, log, failures, take } = setUp();
  pi.prompt();

  take(message);
  pi.delivery.dispose();
  await vi.advanceTimersByTimeAsync(0);

  expect([log, failures]).toEqual([[], []]);
});

it('handles an envelope that is given twice as one', async () => {
  const { pi, log, take } = setUp();

  take(message);
  take(message);
  await vi.advanceTimersByTimeAsync(2_000);

  expect(pi.stored).toEqual([messageId]);
  expect(log.filter((entry) => (entry as unknown[])[0] === 'bury')).toEqual([]);
});
