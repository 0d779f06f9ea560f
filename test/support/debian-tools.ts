/** What tests need from Debian is installed by the test run itself where it can be. */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Command, and the package that brings it. */
const tools = [
  ['python3', 'python3'],
  ['tmux', 'tmux'],
  ['chromium', 'chromium'],
] as const;

function isThere(command: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((dir) => {
    try {
      accessSync(join(dir, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Installs what is missing; tests that need what cannot be installed say so and skip. */
export default async function installTools(): Promise<void> {
  const missing = tools.filter(([command]) => !isThere(command)).map(([, name]) => name);
  if (missing.length === 0) return;
  const run = promisify(execFile);
  try {
    await run('apt-get', ['update', '-q']);
    await run('apt-get', ['install', '-qy', '--no-install-recommends', ...missing]);
  } catch {
    process.stderr.write(`Tests that need ${missing.join(', ')} are skipped: cannot install.\n`);
  }
}
