/**
 * Tells Herdr what this child does: by its screen alone, Herdr takes a Pi 1.6 that works for an idle one.
 *
 * HS1. Only in a pane of Herdr, with a screen; where Herdr's own extension for Pi is installed, that one tells.
 * HS2. It is told in order, and nobody waits for it: what fails is lost, and the next word says more.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { createHerdrClient, herdrSocket } from '../../hosts/herdr/client.ts';
import { agentDirOf } from '../../settings/places.ts';

type State = 'idle' | 'working' | 'blocked';

/** The source whose word counts with Herdr more than the screen. */
const source = 'herdr:pi';
const timeoutMs = 1_500;

/** @param env of this process. */
export function registerHerdrState(
  pi: ExtensionAPI,
  env: Readonly<Record<string, string | undefined>> = process.env,
): void {
  const paneId = env['HERDR_PANE_ID'] ?? '';
  if ((env['HERDR_ENV'] ?? '') === '' || paneId === '') return;
  if (existsSync(join(agentDirOf(env), 'extensions', 'herdr-agent-state.ts'))) return;
  const herdr = createHerdrClient({ socket: herdrSocket(env), timeoutMs });
  let hasScreen = false;
  let seq = 0;
  let told: Promise<unknown> = Promise.resolve();

  function tell(state: State): void {
    if (!hasScreen) return;
    // It has to rise also over those of a Pi that was in this pane before.
    seq = Math.max(seq + 1, Date.now());
    const report = { pane_id: paneId, source, agent: 'pi', state, seq };
    told = told.then(() =>
      herdr.call('pane.report_agent', report, z.unknown()).catch(() => undefined),
    );
  }

  pi.on('session_start', (_event, ctx) => {
    hasScreen = ctx.mode === 'tui';
    tell('idle');
  });
  pi.on('agent_start', () => tell('working'));
  pi.on('agent_settled', () => tell('idle'));
  pi.on('ui_prompt_start', () => tell('blocked'));
  pi.on('ui_prompt_end', () => tell('working'));
}
