/** One project in which Pi sessions come and go: started, resumed, killed; with a scripted model. */
import { readdir } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Store } from '../../src/runtime/store.ts';
import { BARE_FLAGS, makeIsolatedPi, type IsolatedPi } from './isolated-pi.ts';
import { limits, roleOf, storedMessages, type StoredMessage } from './pi-children.ts';
import { startPiRpc, type PiRpc } from './pi-rpc.ts';
import { startScriptedModel, type ModelRequest, type ModelStep } from './scripted-model.ts';

export interface PiProject {
  readonly isolated: IsolatedPi;
  /** Where Pi keeps the sessions of the parents. */
  readonly piSessionDir: string;
  /** A fresh Pi session by default; `-c` goes on with the last that has a file. */
  start(...args: readonly string[]): Promise<PiRpc>;
  /** The one herd's store, read from outside, once it is there. */
  openStore(): Promise<{ readonly store: Store; readonly dir: string }>;
  /** What the model of a role was asked, oldest first. */
  requests(role: string): readonly ModelRequest[];
  close(): Promise<void>;
}

/**
 * @param steps by role: `shepherd`, and the names of agents.
 * @param env for each Pi, besides that of the isolation.
 */
export async function openPiProject(
  steps: Readonly<Record<string, readonly ModelStep[]>>,
  env: Readonly<Record<string, string>> = {},
): Promise<PiProject> {
  const model = await startScriptedModel({ steps, route: ({ system }) => roleOf(system) });
  const isolated = await makeIsolatedPi({ baseUrl: model.baseUrl, models: ['m'] });
  const piSessionDir = join(isolated.home, 'shepherd-session');
  const started: PiRpc[] = [];
  const stores: Store[] = [];
  return {
    isolated,
    piSessionDir,
    async start(...args) {
      const pi = await startPiRpc({
        pi: resolvePi(),
        isolated,
        env,
        args: ['--session-dir', piSessionDir, ...BARE_FLAGS, '-e', packageInfo().dir, ...args],
      });
      started.push(pi);
      return pi;
    },
    async openStore() {
      const stateDir = join(isolated.workDir, '.shepherd', 'sessions');
      const opened = await vi.waitFor(async () => {
        const name = (await readdir(stateDir)).find((entry) => /^\d{4}-/.test(entry));
        const dir = join(stateDir, name ?? 'none yet');
        return { store: openSessionStore(join(dir, 'session.db'), { readOnly: true }), dir };
      }, limits);
      stores.push(opened.store);
      return opened;
    },
    requests: (role) => model.requests.filter(({ queue }) => queue === role),
    async close() {
      for (const store of stores) store.close();
      for (const pi of started) await pi.close(20_000);
      await model.close();
      await isolated.remove();
    },
  };
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Ends a process with SIGKILL, and waits until it is gone. */
export async function kill({ pid }: Pick<PiRpc, 'pid'>): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), limits);
}

/** The file of a Pi's session, which a fresh one writes with the first answer. */
export async function sessionFileOf(pi: PiRpc): Promise<string> {
  const { data } = await pi.request({ type: 'get_state' });
  return (data as { sessionFile: string }).sessionFile;
}

/** Custom messages of a kind in a session's file, oldest first. */
export function storedIn(sessionFile: string, customType: string): readonly StoredMessage[] {
  const lines = readFileSync(sessionFile, 'utf8').split('\n');
  const entries = lines.flatMap((line) => (line === '' ? [] : (JSON.parse(line) as unknown)));
  return storedMessages(entries).filter((message) => message.customType === customType);
}
