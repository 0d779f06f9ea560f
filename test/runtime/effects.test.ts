import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MailboxError } from '../../src/errors.ts';
import { createEffectQueue } from '../../src/runtime/effects.ts';
import type { EffectOutcome } from '../../src/runtime/effect-outcome.ts';
import type { Effect } from '../../src/runtime/records.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const full = new MailboxError('disk_error', 'No room.', { retryable: true });

function publish(id: string, agentId = 'a'): Effect {
  const draft = { kind: 'notice', targetId: agentId, content: id } as const;
  const base = { messageId: id, senderId: 'shepherd', createdAtMs: 0, hops: 0 };
  return { id, type: 'publish', agentId, ...base, draft };
}

/** A queue whose disk fails this often. */
function openQueue(failures: number, isAwaited: boolean) {
  let left = failures;
  const done: string[] = [];
  const confirmed: (readonly [string, boolean])[] = [];
  const queue = createEffectQueue({
    perform(effect): EffectOutcome {
      if (left > 0) {
        left -= 1;
        return { ok: false, error: full };
      }
      done.push(effect.id);
      return { ok: true };
    },
    confirm(effect, outcome) {
      confirmed.push([effect.id, outcome.ok]);
      return true;
    },
    isAwaited: () => isAwaited,
  });
  return { queue, done, confirmed };
}

describe('EF3: an effect that fails for the time being', () => {
  it('is tried until it can be done, in its place, when nobody waits for it', async () => {
    const { queue, done, confirmed } = openQueue(40, false);

    queue.add([publish('first'), publish('second')]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(confirmed).toEqual([]);
    await vi.advanceTimersByTimeAsync(300_000);

    expect(done).toEqual(['first', 'second']);
    expect(confirmed).toEqual([
      ['first', true],
      ['second', true],
    ]);
  });

  it.each(['log', 'note'] as const)(
    'is tried until it can be done when it takes its time: %s',
    async (type) => {
      const effect = { id: 'first', type, taskId: 't', line: {} } as unknown as Effect;
      let left = 5;
      const confirmed: boolean[] = [];
      const queue = createEffectQueue({
        perform: async () => {
          await Promise.resolve();
          left -= 1;
          return left >= 0 ? { ok: false, error: full } : { ok: true };
        },
        confirm(_effect, { ok }) {
          confirmed.push(ok);
          return true;
        },
        isAwaited: () => false,
      });

      queue.add([effect]);
      await vi.advanceTimersByTimeAsync(500);
      expect(confirmed).toEqual([]);
      await vi.advanceTimersByTimeAsync(60_000);

      expect(confirmed).toEqual([true]);
    },
  );

  it('fails for a caller who waits, after three tries', async () => {
    const { queue, done, confirmed } = openQueue(3, true);

    queue.add([publish('first'), publish('second')]);
    await vi.advanceTimersByTimeAsync(10_000);

    expect(confirmed).toEqual([
      ['first', false],
      ['second', true],
    ]);
    expect(done).toEqual(['second']);
  });

  it('holds up no other target', async () => {
    const { queue, done } = openQueue(1, false);

    queue.add([publish('first', 'a'), publish('other', 'b')]);

    expect(done).toEqual(['other']);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toEqual(['other', 'first']);
  });
});
