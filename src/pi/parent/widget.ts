/**
 * The herd below the editor and in the footer, while there is one.
 *
 * Drawing only formats what changes have left here: nothing is read on the way, and one timer, which
 * keeps no process alive, moves the seconds.
 */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import type { AgentStatus, Shepherd } from '../../runtime/shepherd.ts';
import { herdRows, herdSummary, liveAgents } from '../render/herd-rows.ts';

const key = 'shepherd';
const tickMs = 1_000;

/** Shows the herd until the returned function takes it away. Nothing without a user interface. */
export function showHerd(
  ctx: ExtensionContext,
  shepherd: Pick<Shepherd, 'agents' | 'on'>,
  options: { readonly hasSheep?: () => boolean } = {},
): () => void {
  if (!ctx.hasUI) return () => undefined;
  const { ui, mode } = ctx;
  let agents: readonly AgentStatus[] = liveAgents(shepherd.agents());
  let isShown = false;
  let redraw: (() => void) | undefined;
  let isDue = false;
  let status: string | undefined;

  function showStatus(text: string | undefined): void {
    if (text !== status) ui.setStatus(key, text);
    status = text;
  }

  function update(): void {
    isDue = false;
    agents = liveAgents(shepherd.agents());
    const sheep = options.hasSheep?.() === false ? '' : '🐑 ';
    showStatus(agents.length === 0 ? undefined : `${sheep}${herdSummary(agents)}`);
    if (mode !== 'tui') return;
    if (agents.length > 0 === isShown) redraw?.();
    else mount(agents.length > 0);
  }

  function mount(isWanted: boolean): void {
    isShown = isWanted;
    if (!isWanted) {
      redraw = undefined;
      ui.setWidget(key, undefined);
      return;
    }
    ui.setWidget(
      key,
      (tui) => {
        redraw = () => tui.requestRender();
        return {
          invalidate: () => undefined,
          render: (width) => herdRows(agents, { width, nowMs: Date.now() }),
        };
      },
      { placement: 'belowEditor' },
    );
  }

  // A burst of changes is drawn once.
  const stopListening = shepherd.on((change) => {
    if (isDue || change.type === 'notice') return;
    isDue = true;
    setImmediate(() => {
      if (isDue) update();
    });
  });
  const tick = setInterval(() => {
    if (agents.length > 0) update();
  }, tickMs).unref();
  update();

  return () => {
    isDue = false;
    stopListening();
    clearInterval(tick);
    showStatus(undefined);
    if (isShown) mount(false);
  };
}
