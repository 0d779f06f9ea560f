import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function sheepfold(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

describe('sheepfold', () => {
  it('prints the version of its package', async () => {
    const manifest: unknown = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    );

    expect(await sheepfold('--version')).toEqual({
      code: 0,
      stdout: `${(manifest as { version: string }).version}\n`,
      stderr: '',
    });
  });

  it('lists its commands', async () => {
    const { code, stdout } = await sheepfold('help');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}demo +plays the canonical flow/m);
  });

  it.each([
    [
      ['nosuch'],
      'sheepfold: invalid_argument: There is no command "nosuch"; there is demo, sessions, status, stalls, detect-stall, inspect, attach, interrupt, mailbox, doctor.\n',
    ],
    [
      ['toString'],
      'sheepfold: invalid_argument: There is no command "toString"; there is demo, sessions, status, stalls, detect-stall, inspect, attach, interrupt, mailbox, doctor.\n',
    ],
    [
      ['status', '--session', 'one', '--session', 'two'],
      'sheepfold: invalid_argument: sheepfold status: --session is given more than once\n',
    ],
    [['demo', '--nosuch'], expect.stringContaining("Unknown option '--nosuch'")],
  ])('refuses %j on stderr', async (args, stderr) => {
    expect(await sheepfold(...args)).toEqual({ code: 1, stdout: '', stderr });
  });
});
