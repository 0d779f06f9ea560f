/** Looks at everything that Sheepfold needs here; changes nothing. */
import { resolve } from 'node:path';
import { describeError } from '../../errors.ts';
import { agentDirOf, settingsFiles, stateDirOf } from '../../settings/places.ts';
import { readSettings } from '../../settings/read.ts';
import { packageInfo } from '../package-dir.ts';
import { checkDirectory } from './directories.ts';
import { checkNode, checkSqlite } from './node.ts';
import { checkPi } from './pi.ts';
import type { Check, DoctorReport } from './report.ts';
import { checkSessions } from './sessions.ts';
import { checkSettings } from './settings.ts';
import { checkHost, checkHerdr, checkTmux } from './terminals.ts';

export interface ExamineOptions {
  readonly projectDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nodeVersion: string;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Folders from which Pi is looked for. Default: as agents are started. */
  readonly piFrom?: readonly string[] | undefined;
}

/**
 * Runs every check, at the same time where they do not need each other.
 *
 * @throws the reason of `signal` when that is aborted; a check that breaks is a failed one.
 */
export async function examine(options: ExamineOptions): Promise<DoctorReport> {
  const { env, nodeVersion, now, signal } = options;
  const projectDir = resolve(options.projectDir);
  const agentDir = agentDirOf(env);
  const stateDir = stateDirOf(projectDir, agentDir);
  const files = settingsFiles({ agentDir, cwd: projectDir });
  const settings = readSettings(files);
  const { host } = settings.settings;

  const node = checkNode(nodeVersion);
  const sqlite = checkSqlite();
  const found = await Promise.all([
    guard('pi', () => checkPi({ env, nodeVersion, signal, from: options.piFrom })),
    guard('host', () => Promise.resolve([checkHost({ env, host })])),
    guard('tmux', async () => [await checkTmux({ env, signal, host })]),
    guard('herdr', async () => [await checkHerdr({ env, signal, host })]),
    guard('state_dir', async () => [
      await checkDirectory({ about: 'state_dir', dir: stateDir, isPrivate: true }),
    ]),
    guard('agent_dir', async () => [
      await checkDirectory({ about: 'agent_dir', dir: agentDir, isPrivate: false }),
    ]),
    guard('settings', async () => checkSettings(files, settings)),
    // Without the database every session would be reported for what is wrong with Node.
    guard('sessions', async () =>
      sqlite.status === 'ok' ? checkSessions({ stateDir, now }) : [unread],
    ),
  ]);
  signal.throwIfAborted();
  const checks = [node, sqlite, ...found.flat()];
  return {
    ok: checks.every(({ status }) => status !== 'fail'),
    version: packageInfo().version,
    projectDir,
    stateDir,
    agentDir,
    checks,
  };
}

const unread: Check = {
  about: 'sessions',
  status: 'warn',
  message: 'not looked at, as there is no node:sqlite',
  fix: 'Run this again with a Node that has it.',
};

async function guard(
  about: Check['about'],
  check: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await check();
  } catch (error) {
    const message = `could not be checked: ${describeError(error)}`;
    return [{ about, status: 'fail', message, fix: 'Run it again; if it stays, report it.' }];
  }
}
