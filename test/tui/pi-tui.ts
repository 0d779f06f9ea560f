/** Pi with our extension in a terminal, as its user sees it; the model is a script. */
import { join } from 'node:path';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { BARE_FLAGS, makeIsolatedPi, type IsolatedPi } from '../support/isolated-pi.ts';
import { roleOf } from '../support/pi-children.ts';
import { startScriptedModel, type ModelStep } from '../support/scripted-model.ts';
import { openTerminal, type Terminal } from './terminal.ts';

export interface PiTui {
  readonly terminal: Terminal;
  readonly isolated: IsolatedPi;
  close(): Promise<void>;
}

/** @param steps by role: `shepherd`, and the names of agents. */
export async function startPiTui(
  steps: Readonly<Record<string, readonly ModelStep[]>>,
  size: { readonly width?: number; readonly height?: number } = {},
): Promise<PiTui> {
  const model = await startScriptedModel({ steps, route: ({ system }) => roleOf(system) });
  const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['m'] });
  const { node, cli } = resolvePi();
  const terminal = await openTerminal({
    argv: [
      node,
      cli,
      '--session-dir',
      join(isolated.home, 'shepherd-session'),
      ...BARE_FLAGS,
      '-e',
      packageInfo().dir,
    ],
    cwd: isolated.workDir,
    env: isolated.env,
    ...size,
  });
  return {
    terminal,
    isolated,
    async close() {
      // Pi's own quit, so that its herd is closed with it.
      await terminal.press('C-c');
      await terminal.enter('/quit').catch(() => undefined);
      await terminal.shows(/Pane is dead/).catch(() => undefined);
      await terminal.close();
      await model.close();
      await isolated.remove();
    },
  };
}
