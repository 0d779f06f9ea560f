import { createActor } from 'xstate';
import { describe, expect, it } from 'vitest';
import type { RequestEvent, RequestInput } from '../../machines/index.ts';
import { openCharts, persist, type ChartBench } from '../support/clock.ts';

const input: RequestInput = {
  requestId: 'q1',
  askerId: 'asker',
  recipientId: 'recipient',
  taskId: null,
  openedAtMs: 0,
  deadlineAtMs: 1_000,
};

const reply: RequestEvent = {
  type: 'reply.received',
  replyTo: 'q1',
  fromId: 'recipient',
  messageId: 'm1',
  atMs: 400,
};
const gone: RequestEvent = { type: 'recipient.gone', agentId: 'recipient', atMs: 400 };
const withdrawn: RequestEvent = { type: 'request.cancel', atMs: 400 };

function startRequest(bench: ChartBench, snapshot?: never) {
  const request = createActor(bench.charts.request, {
    parent: bench.owner,
    id: input.requestId,
    input,
    ...(snapshot === undefined ? {} : { snapshot }),
  });
  return request.start();
}

describe('R1. Only a reply from the recipient, naming this question, answers it', () => {
  it('is answered by it', () => {
    const bench = openCharts();
    const request = startRequest(bench);

    request.send(reply);

    expect(request.getSnapshot()).toMatchObject({
      value: 'answered',
      status: 'done',
      context: { outcome: 'answered', settledAtMs: 400 },
      output: { requestId: 'q1', outcome: 'answered' },
    });
    expect(bench.told()).toEqual([
      { type: 'request.settled', requestId: 'q1', outcome: 'answered', atMs: 400 },
    ]);
  });

  it.each([
    ['another sender', { ...reply, fromId: 'asker' }],
    ['another question', { ...reply, replyTo: 'q2' }],
  ])('is not answered by a reply of %s', (_name, wrong) => {
    const bench = openCharts();
    const request = startRequest(bench);

    request.send(wrong);

    expect(request.getSnapshot().value).toBe('open');
    expect(bench.told()).toEqual([]);
    expect(bench.facts).toEqual([]);
  });
});

describe('R2. The first end wins', () => {
  it.each([
    ['answered', reply],
    ['recipient_gone', gone],
    ['cancelled', withdrawn],
  ] as const)('stays %s whatever follows', (outcome, event) => {
    const bench = openCharts();
    const request = startRequest(bench);

    request.send(event);
    for (const later of [reply, gone, withdrawn]) request.send(later);
    bench.clock.advanceTo(5_000);

    expect(request.getSnapshot().value).toBe(outcome);
    expect(bench.told()).toHaveLength(1);
    expect(bench.facts).toHaveLength(1);
  });

  it('stays expired when the reply comes after all', () => {
    const bench = openCharts();
    const request = startRequest(bench);

    bench.clock.advanceTo(1_000);
    request.send({ ...reply, atMs: 1_001 });

    expect(request.getSnapshot().value).toBe('expired');
    expect(bench.told()).toHaveLength(1);
  });
});

describe('R3. The reply deadline is an instant, decided once, and holds across restarts', () => {
  it('expires at that instant', () => {
    const bench = openCharts();
    const request = startRequest(bench);

    bench.clock.advanceTo(999);
    expect(request.getSnapshot().value).toBe('open');
    bench.clock.advanceTo(1_000);

    expect(request.getSnapshot()).toMatchObject({
      value: 'expired',
      context: { outcome: 'expired', settledAtMs: 1_000 },
    });
  });

  it.each([
    ['in time', 700],
    ['overdue', 90_000],
  ])('expires at the same instant when it is resumed %s', (_name, restartAtMs) => {
    const before = openCharts();
    const snapshot = persist(startRequest(before));

    const bench = openCharts(restartAtMs);
    const request = startRequest(bench, snapshot);
    request.send({ type: 'session.resumed' });
    bench.clock.advanceTo(90_000);

    expect(request.getSnapshot().context).toMatchObject({ outcome: 'expired', settledAtMs: 1_000 });
    expect(bench.facts).toHaveLength(1);
  });

  it('can still be answered after a restart', () => {
    const before = openCharts();
    const snapshot = persist(startRequest(before));

    const bench = openCharts(700);
    const request = startRequest(bench, snapshot);
    request.send({ type: 'session.resumed' });
    request.send(reply);
    bench.clock.advanceTo(90_000);

    expect(request.getSnapshot().value).toBe('answered');
  });
});

describe('R4. Only the recipient agent’s own end is recipient_gone', () => {
  it('ends when its recipient is gone', () => {
    const bench = openCharts();
    const request = startRequest(bench);

    request.send(gone);

    expect(request.getSnapshot().value).toBe('recipient_gone');
  });

  it.each([
    { type: 'recipient.gone', agentId: 'asker', atMs: 400 },
    { type: 'task.settled', agentId: 'recipient', atMs: 400 },
    { type: 'turn.settled', agentId: 'recipient', atMs: 400 },
  ])('stays open on $type of $agentId', (event) => {
    const bench = openCharts();
    const request = startRequest(bench);

    request.send(event as never);

    expect(request.getSnapshot().value).toBe('open');
  });
});
