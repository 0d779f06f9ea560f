import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { checkDirectory } from '../../src/cli/doctor/directories.ts';
import { examine } from '../../src/cli/doctor/examine.ts';
import { doctorReportSchema, type Check } from '../../src/cli/doctor/report.ts';
import { runTool } from '../../src/cli/doctor/run-tool.ts';
import { describeSelf } from '../../src/hosts/owner.ts';
import { identify } from '../../src/hosts/processes.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import { eventually, openHerd, type TestHerd } from '../support/herd.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sheepfold-doctor-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const at = (...names: string[]) => join(dir, ...names);

function write(path: string, content: string | object): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

/** A command on the PATH of the patient. */
function command(name: string, script: string): void {
  write(at('bin', name), `#!/bin/sh\n${script}\n`);
  chmodSync(at('bin', name), 0o755);
}

/** A Pi below `root`, as npm installs it. */
function installPi(version: string, root: string, script = `console.log('${version}')`): string {
  const folder = join(root, 'node_modules', '@earendil-works', 'pi-coding-agent');
  write(join(folder, 'package.json'), {
    name: '@earendil-works/pi-coding-agent',
    version,
    type: 'module',
    bin: { pi: 'cli.js' },
  });
  write(join(folder, 'cli.js'), script);
  return join(folder, 'cli.js');
}

async function examined(
  about: Check['about'],
  options: Partial<Parameters<typeof examine>[0]> = {},
) {
  const report = await examine({
    projectDir: at('project'),
    env: { PATH: `${at('bin')}:/usr/bin:/bin`, HOME: dir },
    nodeVersion: process.versions.node,
    now: Date.now,
    signal: new AbortController().signal,
    piFrom: [at('pi')],
    ...options,
  });
  return doctorReportSchema.parse(report).checks.filter((check) => check.about === about);
}

describe('Node', () => {
  it.each([
    ['20.20.2', 'fail'],
    ['22.18.0', 'fail'],
    ['22.19.0', 'ok'],
    ['24.21.0', 'ok'],
  ])('%s is %s', async (nodeVersion, status) => {
    const [check] = await examined('node', { nodeVersion });

    expect(check).toMatchObject({ status });
    expect(check?.fix ?? 'nothing').toMatch(status === 'ok' ? 'nothing' : 'Install Node 22.19');
  });

  it('has a database that opens', async () => {
    expect(await examined('sqlite')).toMatchObject([{ status: 'ok', fix: null }]);
  });
});

describe('Pi', () => {
  it.each([
    ['1.5.9', 'fail'],
    ['1.6.0', 'ok'],
    ['1.6.12', 'ok'],
    ['1.7.0', 'warn'],
    ['2.0.0', 'warn'],
  ])('%s is %s', async (version, status) => {
    const cli = installPi(version, at('pi'));

    const [check] = await examined('pi');

    expect(check).toMatchObject({ status });
    expect(check?.message).toContain(`${version} (${cli})`);
    expect(check?.fix ?? '').toContain(status === 'ok' ? '' : 'pi-coding-agent@1.6');
  });

  it('that is missing says how to install it', async () => {
    expect(await examined('pi')).toMatchObject([
      { status: 'fail', fix: 'npm install -g @earendil-works/pi-coding-agent@1.6' },
    ]);
  });

  it('that does not start says why', async () => {
    installPi('1.6.0', at('pi'), 'console.error("torn"); process.exit(3)');

    const [check] = await examined('pi');

    expect(check).toMatchObject({ status: 'fail' });
    expect(check?.message).toMatch(/does not start: it ended with code 3 torn$/);
  });

  it('of the shell is told of where it is another one', async () => {
    installPi('1.6.0', at('pi'));
    const cli = installPi('1.5.0', at('global'));
    chmodSync(cli, 0o755);

    const checks = await examined('pi', {
      env: { PATH: `${dirname(cli)}:${at('bin')}`, HOME: dir },
    });
    write(join(dirname(cli), 'pi'), '');
    const both = await examined('pi', { env: { PATH: dirname(cli), HOME: dir } });

    expect(checks.map(({ status }) => status)).toEqual(['ok']);
    expect(both.map(({ status }) => status)).toEqual(['ok', 'fail']);
  });
});

const only = () => ({ env: { PATH: at('bin'), HOME: dir } });

describe('tmux', () => {
  it.each([
    ['echo tmux 3.3a', 'ok', '3.3a'],
    ['echo tmux next-3.6', 'ok', 'next-3.6'],
    ['echo tmux 2.9', 'warn', '2.9 is older'],
    ['exit 1', 'warn', 'does not work'],
  ])('that says %j is %s', async (script, status, message) => {
    command('tmux', script);

    const [check] = await examined('tmux', only());

    expect(check).toMatchObject({ status });
    expect(check?.message).toContain(message);
  });

  it('is optional, unless the settings want it', async () => {
    expect(await examined('tmux', only())).toMatchObject([{ status: 'ok', fix: null }]);

    write(at('.pi', 'agent', 'sheepfold', 'config.json'), { host: 'tmux' });

    const [check] = await examined('tmux', only());
    expect(check).toMatchObject({ status: 'fail' });
    expect(check?.fix).toContain('Install tmux');
  });
});

describe('Herdr', () => {
  it('is optional', async () => {
    expect(await examined('herdr')).toMatchObject([{ status: 'ok', fix: null }]);
  });

  it.each([
    ['{"running":true,"protocol":20}', 'ok', '0.8.0, protocol 20'],
    ['{"running":true,"protocol":13}', 'warn', 'speaks protocol 13'],
    ['{"running":false}', 'ok', 'its server does not run'],
    ['no JSON', 'ok', 'its server does not run'],
  ])('whose server says %s is %s', async (said, status, message) => {
    command('herdr', `[ "$1" = status ] && echo '${said}' || echo herdr 0.8.0`);

    const [check] = await examined('herdr');

    expect(check).toMatchObject({ status });
    expect(check?.message).toContain(message);
  });
});

describe('directories', () => {
  it('that are not there will be made', async () => {
    expect(await examined('state_dir')).toMatchObject([{ status: 'ok' }]);
    expect(await examined('agent_dir')).toMatchObject([{ status: 'ok' }]);
    expect(existsSync(at('project'))).toBe(false);
  });

  it('that others can enter are closed by the fix', async () => {
    const stateDir = at('project', '.shepherd', 'sessions');
    mkdirSync(stateDir, { recursive: true, mode: 0o755 });

    expect(await examined('state_dir')).toMatchObject([
      { status: 'warn', fix: `chmod 700 '${stateDir}'` },
    ]);
    chmodSync(stateDir, 0o700);
    expect(await examined('state_dir')).toMatchObject([{ status: 'ok', message: stateDir }]);
  });

  it('with a file in their way fail', async () => {
    write(at('project', '.shepherd'), '');
    write(at('.pi'), '');

    expect(await examined('state_dir')).toMatchObject([{ status: 'fail' }]);
    expect(await examined('agent_dir')).toMatchObject([{ status: 'fail' }]);
  });

  it('that this user cannot write fail', async () => {
    chmodSync(dir, 0o755);
    mkdirSync(at('closed'), { mode: 0o500 });

    const check = await asNobody(() =>
      checkDirectory({ about: 'state_dir', dir: at('closed'), isPrivate: true }),
    );

    expect(check).toMatchObject({ status: 'fail' });
    expect(check.message).toContain('cannot be written: EACCES');
    expect(check.fix).toContain('chown -R');
  });
});

/** Root may write everywhere; other users are somebody already. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe('settings', () => {
  it('that are absent are no problem', async () => {
    expect(await examined('settings')).toMatchObject([{ status: 'ok', fix: null }]);
  });

  it('tell of each problem with file, key and what is accepted', async () => {
    const file = at('.pi', 'agent', 'sheepfold', 'config.json');
    write(file, { doneNudges: -1, retention: { days: 'x' }, nosuch: 1 });

    const checks = await examined('settings');

    expect(checks).toMatchObject([
      { status: 'warn', file, key: 'doneNudges', accepted: 'a whole number from 0' },
      { status: 'warn', file, key: 'nosuch' },
      { status: 'warn', file, key: 'retention.days', accepted: 'a whole number from 1' },
    ]);
    expect(checks[0]?.fix).toBe(`In ${file}, write for "doneNudges": a whole number from 0.`);
    expect(checks[1]?.fix).toBe(`Correct "nosuch" in ${file}, or remove it.`);
  });

  it('tell of a project file that is not JSON', async () => {
    const file = at('project', '.shepherd', 'config.json');
    write(file, '{');

    expect(await examined('settings')).toMatchObject([{ status: 'warn', file }]);
  });
});

const sessionsOf = (herd: TestHerd) => examined('sessions', { projectDir: herd.pasture.dir });

describe('sessions', () => {
  it('are in order with a living owner, and when there are none', async () => {
    expect(await examined('sessions')).toMatchObject([{ status: 'ok', message: 'none yet' }]);

    const herd = await openHerd();
    await herd.hatch('one');

    expect(await sessionsOf(herd)).toMatchObject([{ status: 'ok', message: '1 in order' }]);
  });

  it('that were left by a crash say what was open, and how to go on or be rid of them', async () => {
    const herd = await openHerd();
    await herd.delegate(await herd.hatch('one'));
    await crash(herd);

    const [check] = await sessionsOf(herd);

    expect(check).toMatchObject({ status: 'warn' });
    expect(check?.message).toContain('left by a crash (1 agent, 1 open task); nothing of it runs');
    expect(check?.fix).toContain(`/shepherd adopt ${check?.session}, or: rm -r '`);
  });

  it('that were left by a crash name agents that still run', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    const pid = await haunt(herd);
    await crash(herd);

    const [check] = await sessionsOf(herd);

    expect(check?.message).toContain(`with 1 agent still running (pid ${pid})`);
    expect(check?.fix).toBe(`In Pi, in this project: /shepherd adopt ${check?.session}`);
  });

  it('that have ended name agents that still run', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    const pid = await haunt(herd);
    await herd.shepherd.dispose();

    expect(await sessionsOf(herd)).toMatchObject([{ status: 'warn', fix: `kill ${pid}` }]);
  });

  it('that wait for their owner are in order while their agents run', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    herd.abandon();

    const [before] = await sessionsOf(herd);
    await haunt(herd);

    expect(before?.message).toContain('waits for its owner with 1 agent, 0 open tasks');
    expect(await sessionsOf(herd)).toMatchObject([{ status: 'ok' }]);
  });

  it('whose owner cannot be seen are left to others', async () => {
    const herd = await openHerd();
    await crash(herd, 'elsewhere');

    const [check] = await sessionsOf(herd);

    expect(check?.message).toMatch(/held by process \d+ on elsewhere, which cannot be seen/);
  });

  it('that cannot be read are told of with the reason', async () => {
    const session = at('project', '.shepherd', 'sessions', '0001-torn-00000000');
    write(join(session, 'session.db'), 'no database');

    const [check] = await examined('sessions');

    expect(check).toMatchObject({ status: 'warn', session: '0001-torn-00000000' });
    expect(check?.message).toContain('cannot be read: disk_error');
    expect(check?.fix).toContain(`rm -r '${session}'`);
  });
});

/** Has the session look as if its owner had been killed, on this machine or on another one. */
async function crash(herd: TestHerd, hostName?: string): Promise<void> {
  const self = await describeSelf();
  herd.abandon();
  const store = openSessionStore(join(herd.shepherd.sessionDir, 'session.db'), {});
  const owner = store.owner();
  if (owner === undefined) throw new Error('nobody had it');
  // The pid is ours, the start is not: that process has ended.
  const identity = { ...self, startTime: 1, ...(hostName === undefined ? {} : { hostName }) };
  store.swapOwner(owner.token, { ...owner, token: 'crashed', state: 'held', identity });
  store.close();
}

/** Has a real process run where the herd's only agent was launched; returns its pid. */
async function haunt(herd: TestHerd): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(child, 'spawn');
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const { pid = 0 } = child;
  const { startTime } = await identify(pid);
  const runner = { runnerPid: pid, runnerStartTime: startTime };
  const started = { pid, startTime, pgid: pid, ...runner, atMs: 0 };
  const { launchDir } = herd.host.launches[0] ?? { launchDir: '' };
  write(join(launchDir, 'started.json'), started);
  return pid;
}

describe('a program that does not answer', () => {
  const options = { env: { PATH: '/usr/bin:/bin' }, limitMs: 500 };

  it('is ended at the limit, with what it started', async () => {
    command('slow', `sleep 600 & echo $! > ${at('pid')}; wait`);

    const answer = await runTool(at('bin', 'slow'), [], {
      ...options,
      signal: new AbortController().signal,
    });

    expect(answer).toEqual({ type: 'failed', reason: 'it did not answer within 0.5 s' });
    const pid = Number(readFileSync(at('pid'), 'utf8'));
    await eventually(() => expect(isRunning(pid)).toBe(false));
  });

  it('is ended with the command', async () => {
    command('slow', 'sleep 600');
    const aborting = new AbortController();

    const running = runTool(at('bin', 'slow'), [], {
      ...options,
      limitMs: 600_000,
      signal: aborting.signal,
    });
    aborting.abort(new Error('ended by SIGINT'));

    await expect(running).rejects.toThrow('ended by SIGINT');
  });
});

/** A zombie does not run: a container's init may leave it there. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('sheepfold doctor', () => {
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

  function doctor(args: readonly string[], env: Record<string, string>) {
    return new Promise<{ code: unknown; stdout: string }>((resolve) => {
      execFile(
        process.execPath,
        [main, 'doctor', '--dir', at('project'), ...args],
        { env: { PATH: '/usr/bin:/bin', HOME: dir, ...env } },
        (error, stdout) => resolve({ code: error?.code ?? 0, stdout }),
      );
    });
  }

  it('finds all in order here, with the real Pi', async () => {
    const { code, stdout } = await doctor(['--json'], {});

    const report = doctorReportSchema.parse(JSON.parse(stdout));
    expect(report.checks.filter(({ status }) => status === 'fail')).toEqual([]);
    expect(report).toMatchObject({ ok: true, agentDir: at('.pi', 'agent') });
    expect(report.checks.map(({ about }) => about)).toContain('pi');
    expect(code).toBe(0);
  });

  it('exits with 1 when something fails, and writes the fix below it', async () => {
    write(at('taken'), '');

    const { code, stdout } = await doctor([], { PI_CODING_AGENT_DIR: '~/taken' });

    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}Pi directory {2}.*taken: it is not a directory\n {6}→ Move /m);
    expect(stdout).toMatch(/1 of these must be fixed\.\n$/);
  });
});
