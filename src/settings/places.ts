/** Where Pi's directory, the settings files and a project's sessions are. */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, isAbsolute, join, relative, resolve } from 'node:path';
import { readSettings, type SettingsFiles } from './read.ts';

/**
 * Pi's own directory: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`.
 *
 * It is Pi's `getAgentDir`, not imported: loading all of Pi a second time takes 1.5 s.
 */
export function agentDirOf(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const home = env['HOME'] ?? homedir();
  const dir = env['PI_CODING_AGENT_DIR'] ?? '';
  return dir === '' ? join(home, '.pi', 'agent') : fromHome(dir, home);
}

/** Returns the settings files of a user (`agentDir` is Pi's) and of a project; there is no walk-up. */
export function settingsFiles(options: { agentDir: string; cwd: string }): SettingsFiles {
  return {
    userFile: join(ownDirOf(options.agentDir), 'config.json'),
    projectFile: join(options.cwd, '.shepherd', 'config.json'),
  };
}

/** The user's own directory of Sheepfold. */
function ownDirOf(agentDir: string): string {
  return join(agentDir, 'sheepfold');
}

/**
 * Where the sessions of the project at `cwd` lie, by the user's setting `stateDir`.
 *
 * A directory outside of the project is shared by all projects of the user: each has a folder of its own
 * in it, or one would take up the agents that another one left behind.
 */
export function stateDirOf(cwd: string, agentDir: string = agentDirOf()): string {
  const { settings } = readSettings(settingsFiles({ agentDir, cwd }));
  const root = resolve(cwd);
  const dir = resolve(root, fromHome(settings.stateDir, homedir()));
  const within = relative(root, dir);
  const isOutside = within.split(/[/\\]/)[0] === '..' || isAbsolute(within);
  return isOutside ? join(dir, projectFolder(root)) : dir;
}

/** Told apart by where the project really is, so that a link to it is the same project. */
function projectFolder(root: string): string {
  const name = basename(root).replaceAll(/[^\p{L}\p{N}._-]+/gu, '-') || 'project';
  return `${name}-${createHash('sha256').update(realPath(root)).digest('hex').slice(0, 8)}`;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Not there yet, or not for us to see: then only its name can be compared.
    return path;
  }
}

function fromHome(path: string, home: string): string {
  return /^~(?=$|[/\\])/.test(path) ? join(home, path.slice(1)) : path;
}
