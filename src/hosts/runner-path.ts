/** Which file of this package is the launch runner. */
import { existsSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HostError } from '../errors.ts';

/**
 * The runner for plain `node`: from sources where Node strips types itself, else the built one.
 *
 * Node refuses to strip types below `node_modules` (ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING), and
 * Pi loads an installed extension's sources through its own loader, so both layouts occur.
 *
 * @param here This module's own path; given by tests.
 * @throws HostError `host_unavailable` when the package was installed without its build.
 */
export function runnerPath(here: string = fileURLToPath(import.meta.url)): string {
  const folder = join(realpathSync(here), '..');
  if (here.endsWith('.js')) return join(folder, 'runner.js');
  if (!folder.split(sep).includes('node_modules')) return join(folder, 'runner.ts');
  const built = join(folder, '..', '..', 'dist', 'src', 'hosts', 'runner.js');
  if (existsSync(built)) return built;
  throw new HostError(
    'host_unavailable',
    `no launch runner at ${built}; install a published sheepfold, or run it from a checkout outside node_modules`,
  );
}
