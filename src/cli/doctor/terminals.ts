/** The places for agents that somebody can look into: both optional, unless the settings want one. */
import { z } from 'zod';
import { chooseHost, describeHost } from '../../hosts/choose.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Check } from './report.ts';
import { runTool, type ToolOptions } from './run-tool.ts';

const limitMs = 5_000;
/** `remain-on-exit-format` came with it. */
const leastTmux = [3, 3] as const;
/** The first protocol of Herdr with all that its host uses. */
const leastProtocol = 14;

export interface TerminalOptions extends Pick<ToolOptions, 'env' | 'signal'> {
  /** Where the settings want agents to run. */
  readonly host: Settings['host'];
}

export async function checkTmux({ host, ...run }: TerminalOptions): Promise<Check> {
  const about = 'tmux';
  const install = 'Install tmux 3.3 or later (apt install tmux, brew install tmux).';
  const answer = await runTool('tmux', ['-V'], { ...run, limitMs });
  if (answer.type === 'missing') return missing(about, host, install);
  if (answer.type === 'failed') {
    const message = `does not work: ${answer.reason}`;
    return { about, status: host === about ? 'fail' : 'warn', message, fix: install };
  }
  const version = answer.text.replace(/^tmux /, '');
  const [major = 0, minor = 0] = (/\d+\.\d+/.exec(version)?.[0] ?? '').split('.').map(Number);
  const isOld = major < leastTmux[0] || (major === leastTmux[0] && minor < leastTmux[1]);
  if (!isOld) return { about, status: 'ok', message: version, fix: null };
  const message = `${version} is older than ${leastTmux.join('.')}, the oldest that was tried`;
  return { about, status: 'warn', message, fix: install };
}

/** Where agents would run, started from here. */
export function checkHost({ host, env }: Pick<TerminalOptions, 'host' | 'env'>): Check {
  const message = `agents run ${describeHost(chooseHost(host, env))}`;
  return { about: 'host', status: 'ok', message, fix: null };
}

const serverSchema = z.object({ running: z.boolean(), protocol: z.number().optional() });

export async function checkHerdr({ host, ...run }: TerminalOptions): Promise<Check> {
  const about = 'herdr';
  const install = 'Install Herdr (https://herdr.dev), or write "host": "auto" in the settings.';
  const answer = await runTool('herdr', ['--version'], { ...run, limitMs });
  if (answer.type === 'missing') return missing(about, host, install);
  if (answer.type === 'failed') {
    const message = `does not work: ${answer.reason}`;
    return { about, status: host === about ? 'fail' : 'warn', message, fix: install };
  }
  const version = answer.text.replace(/^herdr /, '');
  const server = await runTool('herdr', ['status', 'server', '--json'], { ...run, limitMs });
  const { running, protocol } = server.type === 'answered' ? readServer(server.text) : {};
  if (running !== true) {
    const message = `${version}; its server does not run, so agents do not run in it`;
    if (host !== about) return { about, status: 'ok', message, fix: null };
    return { about, status: 'fail', message, fix: 'Start herdr, and Pi within it.' };
  }
  if (protocol === undefined || protocol >= leastProtocol) {
    const message = `${version}, protocol ${protocol ?? 'unknown'}`;
    return { about, status: 'ok', message, fix: null };
  }
  const message = `${version} speaks protocol ${protocol}; ${leastProtocol} or later is needed`;
  const fix = 'Update Herdr and start its server anew.';
  return { about, status: host === about ? 'fail' : 'warn', message, fix };
}

function readServer(text: string): Partial<z.infer<typeof serverSchema>> {
  try {
    return serverSchema.safeParse(JSON.parse(text)).data ?? {};
  } catch {
    return {};
  }
}

function missing(about: 'tmux' | 'herdr', host: Settings['host'], install: string): Check {
  if (host !== about) {
    return { about, status: 'ok', message: 'not installed; it is optional', fix: null };
  }
  const message = `not installed, but the setting "host" is "${about}"`;
  return { about, status: 'fail', message, fix: install };
}
