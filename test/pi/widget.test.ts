/** The herd below the editor and in the footer: what is shown, how often, and until when. */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { describe, expect, it, vi } from 'vitest';
import { showHerd } from '../../src/pi/parent/widget.ts';
import type { AgentStatus, Change, Shepherd } from '../../src/runtime/shepherd.ts';

type Factory = (tui: { requestRender(): void }) => { render(width: number): readonly string[] };

const scout: AgentStatus = {
  id: 'shepherd-agent-1',
  agent: 'scout',
  label: 'survey',
  state: 'working',
  model: null,
  createdAtMs: Date.now(),
};

/** A user interface that keeps what it is given, and a herd that a test changes. */
function setUp(options: { readonly hasSheep?: () => boolean; readonly mode?: string } = {}) {
  const { mode = 'tui', hasSheep = () => true } = options;
  const listeners = new Set<(change: Change) => void>();
  const states: (string | undefined)[] = [];
  const agentsAsked = vi.fn<() => void>();
  const redrawn = vi.fn<() => void>();
  let agents: readonly AgentStatus[] = [];
  let widget: ReturnType<Factory> | undefined;
  const herd: Pick<Shepherd, 'agents' | 'on'> = {
    agents() {
      agentsAsked();
      return agents;
    },
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const ctx = {
    mode,
    hasUI: mode === 'tui' || mode === 'rpc',
    ui: {
      setStatus: (_key: string, text: string | undefined) => states.push(text),
      setWidget(_key: string, factory: Factory | undefined) {
        widget = factory?.({ requestRender: redrawn });
      },
    },
  } as unknown as ExtensionContext;
  const hide = showHerd(ctx, herd, { hasSheep });
  return {
    states,
    agentsAsked,
    redrawn,
    listeners,
    hide,
    widget: () => widget,
    /** Tells of that many changes at once, and waits for what they cause. */
    async change(now: readonly AgentStatus[], times = 1) {
      agents = now;
      for (let n = 0; n < times; n += 1) {
        for (const tell of listeners) tell({ type: 'agent', atMs: 0, agent: scout });
      }
      await new Promise(setImmediate);
    },
  };
}

describe('the herd on the screen', () => {
  it('is there while an agent lives, in rows and in the footer', async () => {
    const screen = setUp();
    expect(screen.widget()).toBeUndefined();

    await screen.change([scout]);
    expect(screen.widget()?.render(60)[1]).toContain('scout: survey');
    expect(screen.states.at(-1)).toBe('🐑 1 working');

    await screen.change([{ ...scout, state: 'closed' }]);
    expect(screen.widget()).toBeUndefined();
    expect(screen.states.at(-1)).toBeUndefined();
    screen.hide();
  });

  it('has no sheep where the setting says so, from the next change on', async () => {
    let hasSheep = true;
    const screen = setUp({ hasSheep: () => hasSheep });
    await screen.change([scout]);
    hasSheep = false;
    await screen.change([scout]);

    expect(screen.states.slice(-2)).toEqual(['🐑 1 working', '1 working']);
    screen.hide();
  });

  it('is read once for a burst of changes, and never while it is drawn', async () => {
    const screen = setUp();
    await screen.change([scout]);
    screen.agentsAsked.mockClear();

    await screen.change([scout], 500);
    for (let n = 0; n < 50; n += 1) screen.widget()?.render(60);

    expect(screen.agentsAsked).toHaveBeenCalledTimes(1);
    expect(screen.redrawn).toHaveBeenCalledTimes(1);
    screen.hide();
  });

  it('is a footer line alone over rpc, and nothing where nobody looks', async () => {
    const rpc = setUp({ mode: 'rpc' });
    await rpc.change([scout]);
    expect(rpc.states).toEqual(['🐑 1 working']);
    expect(rpc.widget()).toBeUndefined();
    rpc.hide();

    const print = setUp({ mode: 'print' });
    await print.change([scout]);
    expect(print.states).toEqual([]);
    expect(print.listeners.size).toBe(0);
    print.hide();
  });

  it('is gone once hidden, with its timer and its listener, whatever changes then', async () => {
    const stopped = vi.spyOn(globalThis, 'clearInterval');
    const screen = setUp();
    await screen.change([scout]);

    const changing = screen.change([scout]);
    screen.hide();
    await changing;

    expect(screen.widget()).toBeUndefined();
    expect(screen.states.at(-1)).toBeUndefined();
    expect(screen.listeners.size).toBe(0);
    expect(stopped).toHaveBeenCalledTimes(1);
    stopped.mockRestore();
  });
});
