/** HS1 to HS3 of `src/pi/parent/herd-of-session.ts`: who opens the runtime of a Pi session, and how it ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSessionHerd, type HerdPolicy } from '../../src/pi/parent/herd-of-session.ts';
import type { Shepherd } from '../../src/runtime/shepherd.ts';
import { createGate } from './support/gate.ts';
import { createHandShepherd, idle } from './support/hand-shepherd.ts';

function setUp(policy: Partial<HerdPolicy> = {}) {
  const listeners = new Set<unknown>();
  const hand = createHandShepherd({
    agents: () => [idle],
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  const shown: unknown[] = [];
  const said: string[] = [];
  const cwd = mkdtempSync(join(tmpdir(), 'sheepfold-herd-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const ctx = {
    cwd,
    mode: 'tui',
    hasUI: true,
    sessionManager: { getSessionId: () => 'pi-session' },
    ui: {
      notify: (text: string) => said.push(text),
      setStatus: () => undefined,
      setWidget: (_key: string, widget: unknown) => shown.push(widget),
    },
  } as unknown as ExtensionContext;
  const herd = createSessionHerd(
    { getSessionName: () => undefined },
    {
      policy: { open: () => Promise.resolve(hand.shepherd), ...policy },
      notices: { show: () => Promise.resolve(), repeatUnanswered: () => undefined },
    },
  );
  const ends = () => hand.calls.filter(([name]) => name === 'release' || name === 'dispose');
  return { herd, ctx, shepherd: hand.shepherd, ends, listeners, shown, said };
}

describe('the end of a Pi session', () => {
  it.each(['reload', 'new', 'resume', 'fork'])(
    'by %s lets go of the herd and closes no child',
    async (reason) => {
      const { herd, ctx, ends } = setUp({ staysOpen: () => true });
      await herd.open(ctx);
      await herd.end(ctx, reason);
      expect(ends()).toEqual([['release']]);
    },
  );

  it('by quit closes it, or keeps it with the setting stayOpen', async () => {
    let isKept = false;
    const { herd, ctx, ends } = setUp({ staysOpen: () => isKept });
    await herd.open(ctx);
    await herd.end(ctx, 'quit');
    expect(ends()).toEqual([['dispose']]);

    isKept = true;
    await herd.open(ctx);
    await herd.end(ctx, 'quit');
    expect(ends().slice(1)).toEqual([['release', { stayOpen: true }]]);
  });

  it('waits for a herd that is being opened, and closes that one too', async () => {
    const gate = createGate();
    const opening = createHandShepherd({ agents: () => [], on: () => () => false });
    const { herd, ctx } = setUp({
      open: async () => {
        await gate.passed;
        return opening.shepherd;
      },
    });
    void herd.open(ctx);
    const ended = herd.end(ctx, 'quit');
    gate.open();
    await ended;

    expect(opening.calls).toContainEqual(['dispose']);
    expect(herd.atHand()).toBeUndefined();
  });

  it('is none of a herd that never opened', async () => {
    const { herd, ctx } = setUp({ open: () => Promise.reject(new Error('disk full')) });
    await expect(herd.open(ctx)).rejects.toThrow('disk full');
    await expect(herd.end(ctx, 'quit')).resolves.toBeUndefined();
  });

  it('leaves no timer, no listener and nothing on the screen', async () => {
    const begun = vi.spyOn(globalThis, 'setInterval');
    const stopped = vi.spyOn(globalThis, 'clearInterval');
    onTestFinished(() => {
      begun.mockRestore();
      stopped.mockRestore();
    });
    const stopLeading = vi.fn<() => void>();
    const { herd, ctx, listeners, shown } = setUp({ lead: () => stopLeading });
    await herd.open(ctx);
    expect([listeners.size, shown.length, begun.mock.results.length]).toEqual([1, 1, 1]);

    await herd.end(ctx, 'reload');

    expect(stopped.mock.calls.flat()).toEqual(begun.mock.results.map(({ value }) => value));
    expect(listeners.size).toBe(0);
    expect(shown.at(-1)).toBeUndefined();
    expect(stopLeading).toHaveBeenCalledTimes(1);
  });
});

describe('the herd of a Pi session', () => {
  it('is at hand once it is open, and not after the end', async () => {
    const { herd, ctx, shepherd } = setUp();
    expect(herd.atHand()).toBeUndefined();
    await herd.open(ctx);
    expect(herd.atHand()).toBe(shepherd);
    await herd.end(ctx, 'quit');
    expect(herd.atHand()).toBeUndefined();
  });

  it('is taken up at the start where there was one, and opened by no start else', async () => {
    const opened: unknown[] = [];
    const open: HerdPolicy['open'] = ({ ctx }) => {
      opened.push(ctx);
      return Promise.resolve(
        createHandShepherd({ agents: () => [], on: () => () => false }).shepherd,
      );
    };
    const fresh = setUp({ open, hasHerd: () => false });
    fresh.herd.begin(fresh.ctx);
    expect(await fresh.herd.running()).toBeUndefined();

    const known = setUp({ open, hasHerd: () => true });
    known.herd.begin(known.ctx);
    expect(await known.herd.running()).toBeDefined();
    expect(opened).toEqual([known.ctx]);
  });

  it('that cannot be taken up at the start is told of, and the session goes on', async () => {
    const { herd, ctx, said } = setUp({
      hasHerd: () => true,
      open: () => Promise.reject(new Error('the store is \u001B[31mdamaged')),
    });
    herd.begin(ctx);
    expect(await herd.running()).toBeUndefined();
    expect(said).toEqual([expect.stringContaining('the store is damaged')]);
  });

  it('stays when another cannot be taken up in its place', async () => {
    const first = createHandShepherd({ agents: () => [idle], on: () => () => false }).shepherd;
    const { herd, ctx, shown } = setUp({
      open: ({ adopt }): Promise<Shepherd> =>
        adopt === undefined ? Promise.resolve(first) : Promise.reject(new Error('taken')),
    });
    await herd.open(ctx);

    await expect(herd.takeUp(ctx, '0001-other')).rejects.toThrow('taken');

    expect(await herd.running()).toBe(first);
    expect(herd.atHand()).toBe(first);
    expect(shown).not.toContain(undefined);
  });
});
