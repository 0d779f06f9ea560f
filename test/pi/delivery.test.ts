import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ShepherdError } from '../../src/errors.ts';
import type { DeliveryItem } from '../../src/pi/delivery.ts';
import { createPiModel } from './support/pi-model.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function item(id: string, change: Partial<DeliveryItem> = {}): DeliveryItem {
  return {
    id,
    customType: 'shepherd.notice',
    text: `text of ${id}`,
    details: {},
    wake: true,
    deliverAs: 'followUp',
    ...change,
  };
}
const passive = (id: string) => item(id, { wake: false });
const steer = (id: string) => item(id, { deliverAs: 'steer' });

describe('an idle session', () => {
  it('D3: stores a passive item at once and starts no turn', async () => {
    const pi = createPiModel();

    await expect(pi.delivery.deliver(passive('a'))).resolves.toBe('delivered');

    expect(pi.given).toEqual([{ id: 'a', triggerTurn: false }]);
    expect(pi.isIdle).toBe(true);
  });

  it('starts one turn for an item that wakes, and confirms it once it is stored', async () => {
    const pi = createPiModel();

    const delivered = pi.delivery.deliver(item('a'));
    await vi.advanceTimersByTimeAsync(1_000);

    await expect(delivered).resolves.toBe('delivered');
    expect(pi.given).toEqual([{ id: 'a', triggerTurn: true }]);
    expect(pi.started).toBe(1);
  });

  it('takes the items of one tick into one turn, which the last of them starts', async () => {
    const pi = createPiModel();

    const delivered = [steer('a'), passive('b'), steer('c')].map((one) => pi.delivery.deliver(one));
    await vi.advanceTimersByTimeAsync(1_000);

    await expect(Promise.all(delivered)).resolves.toEqual(Array(3).fill('delivered'));
    expect(pi.stored).toEqual(['b', 'a', 'c']);
    expect(pi.started).toBe(1);
  });

  it('gives each followUp item a turn of its own', async () => {
    const pi = createPiModel();

    const delivered = ['a', 'b'].map((id) => pi.delivery.deliver(item(id)));
    await vi.advanceTimersByTimeAsync(1_000);

    expect(pi.stored).toEqual(['a']);
    expect(pi.endTurn()).toBe(false);
    expect(pi.settle()).toBe(true);
    await expect(Promise.all(delivered)).resolves.toEqual(['delivered', 'delivered']);
    expect(pi.stored).toEqual(['a', 'b']);
  });

  it('starts no turn while a prompt is on its way in', async () => {
    const pi = createPiModel();
    pi.delivery.promptExpected();

    const delivered = pi.delivery.deliver(item('a'));
    await Promise.resolve();
    expect(pi.given).toEqual([]);
    pi.prompt();
    pi.endTurn();
    pi.settle();

    await expect(delivered).resolves.toBe('delivered');
    expect(pi.started).toBe(0);
  });

  it('goes ahead when the expected prompt starts no run', async () => {
    const pi = createPiModel();
    pi.delivery.promptExpected();

    const delivered = pi.delivery.deliver(item('a'));
    await vi.advanceTimersByTimeAsync(3_000);

    await expect(delivered).resolves.toBe('delivered');
  });
});

describe('a running session', () => {
  it('takes a steer item at the end of the turn and asks for another request', async () => {
    const pi = createPiModel();
    pi.prompt();

    const delivered = pi.delivery.deliver(steer('a'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(pi.given).toEqual([]);

    expect(pi.endTurn()).toBe(true);
    await expect(delivered).resolves.toBe('delivered');
  });

  it('D3: takes a passive item at the end of the turn and asks for nothing', async () => {
    const pi = createPiModel();
    pi.prompt();

    const delivered = pi.delivery.deliver(passive('a'));
    await Promise.resolve();

    expect(pi.endTurn()).toBe(false);
    await expect(delivered).resolves.toBe('delivered');
    expect(pi.settle()).toBe(false);
  });

  it('takes a followUp item only when the agent would stop', async () => {
    const pi = createPiModel();
    pi.prompt();

    const delivered = pi.delivery.deliver(item('a'));
    await Promise.resolve();

    expect(pi.endTurn()).toBe(false);
    expect(pi.stored).toEqual([]);
    expect(pi.settle()).toBe(true);
    await expect(delivered).resolves.toBe('delivered');
  });

  it('D4: a waiting followUp item holds up neither steer nor passive ones', async () => {
    const pi = createPiModel();
    pi.prompt();

    const waiting = pi.delivery.deliver(item('a'));
    const others = [pi.delivery.deliver(steer('b')), pi.delivery.deliver(passive('c'))];
    await Promise.resolve();
    pi.endTurn();

    await expect(Promise.all(others)).resolves.toEqual(['delivered', 'delivered']);
    expect(pi.stored).toEqual(['b', 'c']);
    pi.settle();
    await expect(waiting).resolves.toBe('delivered');
  });

  it('D4: keeps the order within each lane', async () => {
    const pi = createPiModel();
    pi.prompt();

    const ids = ['s1', 'f1', 'p1', 's2', 'f2', 'p2', 's3', 'f3'];
    const all = ids.map((id) =>
      pi.delivery.deliver({ s: steer, f: item, p: passive }[id[0] as 's' | 'f' | 'p'](id)),
    );
    await Promise.resolve();
    pi.endTurn();
    while (pi.settle()) pi.endTurn();

    await Promise.all(all);
    for (const lane of ['s', 'f', 'p']) {
      const expected = ids.filter((id) => id.startsWith(lane));
      expect(pi.stored.filter((id) => id.startsWith(lane))).toEqual(expected);
    }
    expect(pi.stored).toHaveLength(ids.length);
  });

  it.each(['aborted', 'error'] as const)(
    'D2: gives nothing to a turn that was %s, and delivers once Pi is idle',
    async (outcome) => {
      const pi = createPiModel();
      pi.prompt();
      const delivered = [steer('a'), item('b'), passive('c')].map((one) =>
        pi.delivery.deliver(one),
      );
      await Promise.resolve();

      expect(pi.endTurn(outcome)).toBe(false);
      expect(pi.given).toEqual([]);
      pi.settle(outcome);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(pi.started).toBe(1);
      pi.endTurn();
      pi.settle();

      await expect(Promise.all(delivered)).resolves.toEqual(Array(3).fill('delivered'));
      expect(pi.stored.toSorted()).toEqual(['a', 'b', 'c']);
    },
  );

  it('waits for the end of a compaction', async () => {
    const pi = createPiModel();
    pi.compact();

    const delivered = pi.delivery.deliver(passive('a'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(pi.given).toEqual([]);
    pi.endCompaction();

    await expect(delivered).resolves.toBe('delivered');
  });
});

describe('confirmation', () => {
  it('D1: does not send what the session has already', async () => {
    const pi = createPiModel([{ type: 'custom_message', details: { id: 'a' } }]);

    await expect(pi.delivery.deliver(item('a'))).resolves.toBe('delivered');

    expect(pi.given).toEqual([]);
  });

  it('takes other entries with that id for nothing', async () => {
    const pi = createPiModel([
      { type: 'custom', details: { id: 'a' } },
      { type: 'custom_message', details: undefined },
    ]);

    const delivered = pi.delivery.deliver(passive('a'));

    await expect(delivered).resolves.toBe('delivered');
    expect(pi.given).toHaveLength(1);
  });

  it('gives one promise for an id that is on its way', async () => {
    const pi = createPiModel();

    const [first, second] = [pi.delivery.deliver(passive('a')), pi.delivery.deliver(passive('a'))];

    expect(second).toBe(first);
    await first;
    expect(pi.given).toHaveLength(1);
  });

  it('sends again what Pi has lost', async () => {
    const pi = createPiModel();
    pi.lose(2);

    const delivered = pi.delivery.deliver(item('a'));
    await vi.advanceTimersByTimeAsync(10_000);

    await expect(delivered).resolves.toBe('delivered');
    expect(pi.given.map(({ id }) => id)).toEqual(['a', 'a', 'a']);
  });

  it('D5: gives up after three unconfirmed deliveries, and goes on with the next item', async () => {
    const pi = createPiModel();
    pi.lose(3);

    const lost = pi.delivery.deliver(item('a')).catch((error: unknown) => error);
    const next = pi.delivery.deliver(item('b'));
    await vi.advanceTimersByTimeAsync(10_000);

    const error = await lost;
    expect(ShepherdError.is(error) && error.code).toBe('uncertain');
    await expect(next).resolves.toBe('delivered');
    expect(pi.given.map(({ id }) => id)).toEqual(['a', 'a', 'a', 'b']);
  });

  it('calls onSend before each hand-over', async () => {
    const pi = createPiModel();
    pi.lose(1);
    const seen: number[] = [];

    const onSend = (): void => {
      seen.push(pi.given.length);
    };
    const delivered = pi.delivery.deliver({ ...item('a'), onSend });
    await vi.advanceTimersByTimeAsync(10_000);

    await delivered;
    expect(seen).toEqual([0, 1]);
  });
});

describe('D1: a session that is not on the disk yet', () => {
  it('has what it stored confirmed by the first answer of the model, and sends it once', async () => {
    const pi = createPiModel();
    pi.keepNothing();
    const onOutcome = vi.fn<(outcome: string) => void>();
    void pi.delivery.deliver(item('a')).then(onOutcome);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(pi.stored).toEqual(['a']);
    expect(onOutcome).not.toHaveBeenCalled();

    pi.answer();
    await vi.advanceTimersByTimeAsync(0);

    expect(onOutcome).toHaveBeenCalledWith('delivered');
    expect(pi.given).toHaveLength(1);
  });

  it('has it confirmed once it is on the disk', async () => {
    const pi = createPiModel();
    pi.keepNothing();
    const onOutcome = vi.fn<(outcome: string) => void>();
    void pi.delivery.deliver(passive('a')).then(onOutcome);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(onOutcome).not.toHaveBeenCalled();

    pi.keep();
    await vi.advanceTimersByTimeAsync(1_000);

    expect(onOutcome).toHaveBeenCalledWith('delivered');
    expect(pi.given).toHaveLength(1);
  });

  it('takes later items all the same', async () => {
    const pi = createPiModel();
    pi.keepNothing();
    void pi.delivery.deliver(passive('a'));
    await vi.advanceTimersByTimeAsync(0);

    void pi.delivery.deliver(item('b'));
    await vi.advanceTimersByTimeAsync(0);

    expect(pi.stored).toEqual(['a', 'b']);
  });

  it('that ends keeps nothing: the item is for the next one', async () => {
    const pi = createPiModel();
    pi.keepNothing();
    const outcome = pi.delivery.deliver(passive('a'));
    await vi.advanceTimersByTimeAsync(0);

    pi.delivery.dispose();

    await expect(outcome).rejects.toMatchObject({ code: 'session_closed' });
  });
});

describe('D6: seen', () => {
  it('is what an answer of the model makes of delivered items, passive ones too', async () => {
    const pi = createPiModel();
    await Promise.all([pi.delivery.deliver(passive('a')), pi.delivery.deliver(passive('b'))]);
    const seen = ['a', 'b'].map((id) => pi.delivery.seen(id));
    let settled = 0;
    for (const one of seen) void one.then(() => (settled += 1));

    await vi.advanceTimersByTimeAsync(60_000);
    expect(settled).toBe(0);
    pi.answer();

    await expect(Promise.all(seen)).resolves.toEqual([true, true]);
  });

  it('is not what becomes of an item that is stored after the answer', async () => {
    const pi = createPiModel();
    pi.prompt();
    const delivered = pi.delivery.deliver(passive('a'));
    await Promise.resolve();
    pi.answer();
    pi.endTurn();
    await delivered;
    let isSeen = false;
    void pi.delivery.seen('a').then(() => (isSeen = true));

    await vi.advanceTimersByTimeAsync(60_000);
    expect(isSeen).toBe(false);
    pi.answer();
    await vi.advanceTimersByTimeAsync(0);

    expect(isSeen).toBe(true);
  });

  it('is known also when it is asked for late', async () => {
    const pi = createPiModel();
    await pi.delivery.deliver(passive('a'));
    pi.answer();

    await expect(pi.delivery.seen('a')).resolves.toBe(true);
  });

  it('is false when the session ends first', async () => {
    const pi = createPiModel();
    await pi.delivery.deliver(passive('a'));
    const before = pi.delivery.seen('a');
    pi.delivery.dispose();

    await expect(Promise.all([before, pi.delivery.seen('a')])).resolves.toEqual([false, false]);
  });
});

describe('withdrawing and ending', () => {
  it('takes back what Pi does not have yet', async () => {
    const pi = createPiModel();
    pi.prompt();
    const delivered = pi.delivery.deliver(item('a'));
    await Promise.resolve();

    expect(pi.delivery.withdraw('a')).toBe(true);

    await expect(delivered).resolves.toBe('withdrawn');
    expect(pi.settle()).toBe(false);
    expect(pi.stored).toEqual([]);
  });

  it('says when it is too late to take back', async () => {
    const pi = createPiModel();
    const delivered = pi.delivery.deliver(item('a'));
    await Promise.resolve();

    expect(pi.delivery.withdraw('a')).toBe(false);

    await vi.advanceTimersByTimeAsync(1_000);
    await expect(delivered).resolves.toBe('delivered');
  });

  it('rejects what is on its way, and what comes later, with session_closed', async () => {
    const pi = createPiModel();
    pi.prompt();
    const before = pi.delivery.deliver(item('a'));
    pi.delivery.dispose();
    const after = pi.delivery.deliver(item('b'));

    await expect(before).rejects.toMatchObject({ code: 'session_closed', retryable: true });
    await expect(after).rejects.toMatchObject({ code: 'session_closed' });
    expect(vi.getTimerCount()).toBe(0);
  });
});
