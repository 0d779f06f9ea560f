import { describe, expect, it } from 'vitest';
import type { Shepherd } from '../../src/index.ts';
import { openHerd } from '../support/herd.ts';

type Untyped = (...given: readonly unknown[]) => unknown;

/** Calls as JavaScript may make them, and the field that each must name. */
const wrongCalls: readonly (readonly [keyof Shepherd, readonly unknown[], string])[] = [
  ['spawn', [undefined], 'spawn'],
  ['spawn', [{ agent: 5, label: 'x' }], 'agent'],
  ['spawn', [{ agent: 'scout', label: null }], 'label'],
  ['spawn', [{ agent: 'scout', label: 'x', cwd: 5 }], 'cwd'],
  ['spawn', [{ agent: 'scout', label: 'x', placement: 'moon' }], 'placement'],
  ['spawn', [{ agent: 'scout', label: 'x', pane: '7' }], 'pane'],
  ['delegate', [{ task: 'x' }], 'target'],
  ['delegate', [{ target: 'a', task: ['x'] }], 'task'],
  ['delegate', [{ target: 'a', task: 'x', timeoutMs: '5' }], 'timeoutMs'],
  ['delegate', [{ target: 'a', task: 'x', queue: 'yes' }], 'queue'],
  ['delegate', [{ target: 'a', task: 'x', idempotencyKey: 5 }], 'idempotencyKey'],
  ['message', [{ target: 'a' }], 'message'],
  ['message', [{ target: 'a', message: 'x', delivery: 'now' }], 'delivery'],
  ['message', [{ target: 'a', message: 'x', expectsReply: 1 }], 'expectsReply'],
  ['watch', [undefined], 'ids'],
  ['watch', [[5]], 'ids'],
  ['cancel', [5], 'id'],
  ['cancel', ['shepherd-task-1', 5], 'reason'],
  ['status', [undefined], 'target'],
  ['task', [{}], 'taskId'],
  ['messages', ['a', { limit: 0 }], 'limit'],
  ['messages', [5], 'of'],
  ['close', [undefined], 'target'],
  ['interrupt', [null], 'target'],
  ['read', ['a', { lines: '40' }], 'lines'],
  ['settled', [7], 'taskId'],
];

describe('a call with an argument of the wrong type', () => {
  it.each(wrongCalls)('%s(…%j) is refused and names "%s"', async (name, given, field) => {
    const { shepherd, store } = await openHerd();
    const before = store.journal({ after: 0, limit: 100 }).length;
    const call = async (): Promise<unknown> => (shepherd[name] as Untyped)(...given);
    await expect(call()).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(field) as unknown,
    });
    expect(store.journal({ after: 0, limit: 100 })).toHaveLength(before);
  });

  it('a NaN is refused as the time that it is not', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    await expect(
      herd.shepherd.delegate({ target: child.id, task: 'x', timeoutMs: Number.NaN }),
    ).rejects.toMatchObject({ code: 'invalid_timeout' });
  });
});

describe('a label', () => {
  it.each(['shepherd', 'Shepherd', 'PARENT', 'shepherd-agent-abc'])(
    '%s means somebody else, and is refused',
    async (label) => {
      const { shepherd } = await openHerd();
      await expect(shepherd.spawn({ agent: 'scout', label })).rejects.toMatchObject({
        code: 'invalid_label',
      });
    },
  );
});
