/** A look at a child that shows nothing: is its process there, has its transcript moved, where does it work. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { AgentHost, Inspection, PlaceRef } from '../hosts/host.ts';

/** What was seen; what could not be seen is `unknown`, `null` or empty. */
export interface StallLook {
  readonly presence: Inspection['presence'];
  /** Epoch ms at which the child's own session last grew. */
  readonly movedAtMs: number | null;
  /** The branch of its worktree. */
  readonly branch: string | null;
  /** The last lines that it said or printed. */
  readonly output: string;
}

const outputLines = 12;

/** Looks at a place. Never rejects. */
export async function lookAtChild(
  host: AgentHost,
  { place, cwd }: { readonly place: PlaceRef | undefined; readonly cwd: string },
): Promise<StallLook> {
  if (place === undefined) {
    return { presence: 'unknown', movedAtMs: null, branch: await branchOf(cwd), output: '' };
  }
  const [inspection, movedAtMs, branch, output] = await Promise.all([
    host.inspect(place).catch(() => undefined),
    transcriptMovedAt(place),
    branchOf(cwd),
    host.read(place, { lines: outputLines }).catch(() => ''),
  ]);
  return { presence: inspection?.presence ?? 'unknown', movedAtMs, branch, output };
}

/** When the child's own session last grew, epoch ms; `null` when that cannot be told. */
export async function transcriptMovedAt({ launchDir }: PlaceRef): Promise<number | null> {
  try {
    const dir = join(launchDir, 'session');
    const entries = await readdir(dir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const times = await Promise.all(
      files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).mtimeMs),
    );
    return times.length === 0 ? null : Math.floor(Math.max(...times));
  } catch {
    return null;
  }
}

/** The branch that git has in `cwd`; of a worktree its own one. */
async function branchOf(cwd: string): Promise<string | null> {
  for (let dir = resolve(cwd); ; dir = resolve(dir, '..')) {
    const head = await readHead(join(dir, '.git'));
    if (head !== undefined) return /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1] ?? null;
    if (dir === resolve(dir, '..')) return null;
  }
}

async function readHead(git: string): Promise<string | undefined> {
  try {
    return await readFile(join(git, 'HEAD'), 'utf8');
  } catch {
    // In a worktree it is a file that names the directory.
    try {
      const dir = /^gitdir: (.+)$/m.exec(await readFile(git, 'utf8'))?.[1];
      return dir === undefined ? undefined : await readFile(join(dir.trim(), 'HEAD'), 'utf8');
    } catch {
      return undefined;
    }
  }
}
