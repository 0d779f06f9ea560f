/** Which Pi runs the agents, whether it is one that is supported, and whether it starts. */
import { realpathSync } from 'node:fs';
import { describeError } from '../../errors.ts';
import { resolvePi, type PiInstall } from '../../hosts/pi-command.ts';
import { isNodeSupported } from './node.ts';
import type { Check } from './report.ts';
import { runTool, type ToolOptions } from './run-tool.ts';

/** Pi's releases break things; this one is what everything was tried with. */
const supported = [1, 6] as const;
const install = `npm install -g @earendil-works/pi-coding-agent@${supported.join('.')}`;

/** A first start on a cold disk takes 7 s. */
const limitMs = 30_000;

export interface PiOptions extends Pick<ToolOptions, 'env' | 'signal'> {
  readonly nodeVersion: string;
  /** Folders from which `node_modules` are looked for. Default: as agents are started. */
  readonly from?: readonly string[] | undefined;
}

/**
 * The Pi that agents of a program or of the CLI get, and the one that `pi` in a shell is, where that
 * is another one: its agents get itself.
 */
export async function checkPi(options: PiOptions): Promise<readonly Check[]> {
  const { env, from } = options;
  let found: PiInstall;
  try {
    found = find({ env, from });
  } catch (error) {
    return [{ about: 'pi', status: 'fail', message: describeError(error), fix: install }];
  }
  const inShell = findQuietly({ env, from: [] });
  const isSame = inShell === undefined || realpathSync(inShell.cli) === realpathSync(found.cli);
  const others = isSame ? [] : [inShell];
  return Promise.all([found, ...others].map((pi) => checkInstall(pi, options)));
}

/** Whatever Node runs this: what is wrong with that is another check's. */
function find(options: {
  readonly env: PiOptions['env'];
  readonly from: PiOptions['from'];
}): PiInstall {
  return resolvePi({ ...options, nodeVersion: '22.19.0' });
}

function findQuietly(options: Parameters<typeof find>[0]): PiInstall | undefined {
  try {
    return find(options);
  } catch {
    return undefined;
  }
}

async function checkInstall(pi: PiInstall, options: PiOptions): Promise<Check> {
  const where = `${pi.version} (${pi.cli})`;
  const [major = 0, minor = 0] = pi.version.split('.').map(Number);
  const isOlder = major < supported[0] || (major === supported[0] && minor < supported[1]);
  if (isOlder) {
    const message = `${where} is too old; ${supported.join('.')} is supported`;
    return { about: 'pi', status: 'fail', message, fix: install };
  }
  if (isNodeSupported(options.nodeVersion)) {
    const answer = await runTool(pi.node, [pi.cli, '--version'], {
      env: { ...options.env, PI_OFFLINE: '1' },
      signal: options.signal,
      limitMs,
    });
    if (answer.type !== 'answered') {
      const reason = answer.type === 'missing' ? `there is no ${pi.node}` : answer.reason;
      const message = `${where} does not start: ${reason}`;
      return { about: 'pi', status: 'fail', message, fix: install };
    }
  }
  if (major > supported[0] || minor > supported[1]) {
    const message = `${where} is newer than ${supported.join('.')}, which is what is supported`;
    return { about: 'pi', status: 'warn', message, fix: `If agents misbehave: ${install}` };
  }
  return { about: 'pi', status: 'ok', message: where, fix: null };
}
