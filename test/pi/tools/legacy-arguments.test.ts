import { describe, expect, it } from 'vitest';
import { createParentTools } from '../../../src/pi/tools/parent-tools.ts';

const tools = createParentTools(() => Promise.reject(new Error('not opened')));

/** What Pi hands to `execute`, and before that to its own validation. */
function prepared(name: string, raw: unknown): unknown {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no ${name}`);
  return tool.prepareArguments?.(raw) ?? raw;
}

const id = 'shepherd-agent-scout0000000';

describe('arguments as the predecessor took them', () => {
  it.each([
    ['shepherd_status', { handle: id }, { id }],
    ['shepherd_status', { handle: { id } }, { id }],
    ['shepherd_status', { handle: JSON.stringify({ id }) }, { id }],
    ['shepherd_status', { id: [id] }, { id }],
    ['shepherd_status', { id: JSON.stringify([id]) }, { id }],
    ['shepherd_status', { id: JSON.stringify(id) }, { id }],
    ['shepherd_status', { handle: 'other', id }, { id }],
    ['shepherd_watch', { id: '["a","b"]' }, { id: ['a', 'b'] }],
    ['shepherd_watch', { handle: [{ id: 'a' }, { id: 'b' }] }, { id: ['a', 'b'] }],
    [
      'shepherd_delegate',
      { target: id, task: 'x', timeout: '20' },
      { target: id, task: 'x', timeout: 20 },
    ],
    [
      'shepherd_delegate',
      { handle: id, task: '["not","an","id"]' },
      { target: id, task: '["not","an","id"]' },
    ],
    ['shepherd_read', { id, lines: '10', source: 'recent' }, { name: id, lines: 10 }],
    [
      'shepherd_spawn',
      { agent: 'scout', label: 'x', model: 'm', agentScope: 'both' },
      { agent: 'scout', label: 'x' },
    ],
    ['shepherd', { action: 'agents', confirmProjectAgents: false }, { action: 'agents' }],
  ])('%s %j', (name, raw, expected) => {
    expect(prepared(name, raw)).toEqual(expected);
  });

  it.each([
    ['shepherd_status', { id: '[not json]' }],
    ['shepherd_status', { id: 7 }],
    ['shepherd_watch', { id: '{"no":"id"}' }],
    ['shepherd_delegate', { target: id, task: 'x', timeout: 'soon' }],
    ['shepherd_status', 'text'],
    ['shepherd_status', null],
  ])('%s %j is left for the schema to refuse', (name, raw) => {
    expect(prepared(name, raw)).toEqual(raw);
  });

  it('a wrong or unknown argument is refused by name before anything is opened', async () => {
    const tool = tools.find(({ name }) => name === 'shepherd_close');
    const call = (given: object) =>
      tool?.execute('1', given, undefined, undefined, {} as never) ?? Promise.resolve();
    await expect(call({ id, paneId: '7' })).rejects.toThrow(/invalid_argument: .*paneId/s);
    await expect(call({})).rejects.toThrow(/invalid_argument: .*id/s);
    await expect(call({ id })).rejects.toThrow('not opened');
  });

  it('an aborted call does nothing, and one that is aborted while it runs fails at once', async () => {
    const tool = tools.find(({ name }) => name === 'shepherd_close');
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(tool?.execute('1', { id }, stopped, undefined, {} as never)).rejects.toThrow(
      'stopped',
    );
    const waiting = createParentTools(() => new Promise(() => undefined));
    const during = new AbortController();
    const running = waiting
      .find(({ name }) => name === 'shepherd_close')
      ?.execute('1', { id }, during.signal, undefined, {} as never);
    during.abort(new Error('Escape'));
    await expect(running).rejects.toThrow('Escape');
  });
});
