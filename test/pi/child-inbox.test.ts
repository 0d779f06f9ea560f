import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MailboxError } from '../../src/errors.ts';
import { createIdMaker } from '../../src/ids.ts';
import type { Envelope, EnvelopeOf } from '../../src/mailbox/envelope.ts';
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
  const work = createWork(Date.now);
  const take = createChildInbox({
    mailbox: {
      send: (draft) => {
        log.push(['send', draft]);
        return 'id';
      },
      ack: (messageId) => log.push(['ack', messageId]),
      bury: (messageId, reason) => log.push(['bury', messageId, reason]),
      attachmentPath: ({ file }) => `/boxes/files/${file}`,
      readAttachment: () => {
        throw new MailboxError('invalid_envelope', 'It is another text.');
      },
    },
    canRead: () => true,
    delivery: pi.delivery,
    work,
    abort: () => log.push(['abort']),
    report: (error) => failures.push(error),
  });
  return { pi, log, failures, take, work };
}

const receipts = (log: readonly unknown[]) =>
  log.flatMap((entry) => {
    const [what, draft] = entry as [string, { receipt?: string }];
    return what === 'send' && draft.receipt !== undefined ? [draft.receipt] : [];
  });
const released = (log: readonly unknown[]) =>
  log.flatMap((entry) => {
    const [what, draft] = entry as [string, { event?: string; taskId?: string }];
    return what === 'send' && draft.event === 'task_released' ? [draft.taskId] : [];
  });

const ids = createIdMaker();
const messageId = ids.messageId(Date.now());
const head = {
  v: 1,
  sessionId: 's',
  brokerId: 'b',
  messageId,
  senderId: 'shepherd',
  targetId: 'shepherd-agent-000000000000',
  createdAt: 0,
  seq: 0,
  hops: 0,
  mac: '0'.repeat(64),
} as const;
const message: Envelope = {
  ...head,
  kind: 'message',
  content: 'Which?',
  delivery: 'followUp',
  expectsReply: true,
};
const taskId = 'shepherd-task-000000000001';
const task: EnvelopeOf<'task'> = { ...head, kind: 'task', taskId, content: 'Find it.' };
const taskClosed: Envelope = {
  ...head,
  messageId: ids.messageId(Date.now()),
  kind: 'task_closed',
  taskId,
  status: 'failed',
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

it('I3: shows neither a task that Pi never stored nor its end', async () => {
  const { pi, log, take, work } = setUp();
  pi.lose(3);

  take(task);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(work.taskId).toBeUndefined();
  take(taskClosed);
  await vi.advanceTimersByTimeAsync(2_000);

  expect(receipts(log)).toEqual(['dead']);
  expect(released(log)).toEqual([taskId]);
  expect(log.at(-1)).toEqual(['ack', taskClosed.messageId]);
  expect(pi.stored).toEqual([]);
});

it('I2: buries a task whose attached text is not there', async () => {
  const { pi, log, failures, take, work } = setUp();
  const attachment = { file: 'a.txt', bytes: 7, sha256: '0'.repeat(64) };

  take({ ...task, attachment });
  await vi.advanceTimersByTimeAsync(2_000);

  expect(log).toMatchObject([
    ['bury', messageId, 'invalid_envelope: It is another text.'],
    ['send', { receipt: 'dead', error: 'invalid_envelope: It is another text.' }],
  ]);
  expect([pi.given, failures, work.taskId]).toEqual([[], [], undefined]);
});

it('I4: says seen once, after delivered', async () => {
  const { pi, log, take } = setUp();
  take(message);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(receipts(log)).toEqual(['delivered']);

  pi.answer();
  pi.endTurn();
  pi.answer();
  await vi.advanceTimersByTimeAsync(0);

  expect(receipts(log)).toEqual(['delivered', 'seen']);
});

it('I4: says both when the answer is the first sign that the session has it', async () => {
  const { pi, log, take } = setUp();
  take({ ...message, expectsReply: false });
  pi.answer();
  await vi.advanceTimersByTimeAsync(0);
  pi.answer();
  await vi.advanceTimersByTimeAsync(0);

  expect(receipts(log)).toEqual(['delivered', 'seen']);
});

it('I5: lets go at once of a closed task while its turn is spent on a question', async () => {
  const { pi, log, take, work } = setUp();
  work.begin(taskId, messageId);
  work.started();
  work.settled();
  work.answer('followUp', messageId);
  work.started();

  take(taskClosed);
  await vi.advanceTimersByTimeAsync(0);

  expect(log).not.toContainEqual(['abort']);
  expect(released(log)).toEqual([taskId]);
  expect(pi.stored).toEqual([taskClosed.messageId]);
});

it('I5: says nothing of a closed task whose turn it aborts: that turn’s end says it', async () => {
  const { log, take, work } = setUp();
  work.begin(taskId, messageId);
  work.started();

  take(taskClosed);
  await vi.advanceTimersByTimeAsync(0);

  expect(log).toContainEqual(['abort']);
  expect(released(log)).toEqual([]);
});
