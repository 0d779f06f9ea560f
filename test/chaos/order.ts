/** What a scripted child can be told to do, and how one is started. */
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MakeChildCommand } from '../../src/runtime/launcher.ts';

/** The text of a task, as JSON. */
export type Order =
  /** Sends `count` numbered messages, then is done. */
  | { readonly do: 'write'; readonly to: string; readonly count: number }
  /** Once told to go: a message, a question; with the answer two more messages, then is done. */
  | { readonly do: 'consult'; readonly of: string }
  /** Asks what nobody answers. */
  | { readonly do: 'ask'; readonly of: string }
  /** Asks what is answered when the one who is asked is told to; with the answer it is done. */
  | { readonly do: (typeof heldQuestions)[number]; readonly of: string }
  /** Says a last word, and dies when it is told to. */
  | { readonly do: 'die' }
  /** Does not even read it. */
  | { readonly do: 'sleep' }
  | { readonly do: 'nothing' };

/** Questions whose answer waits until it is told for. */
export const heldQuestions = ['early', 'late', 'patient'] as const;

/** An agent with this label reads nothing, and has a last word when it is ended. */
export const deafLabel = 'four';
export const lastWords = 'these are my last words';

const child = fileURLToPath(new URL('child.ts', import.meta.url));

/** Starts the scripted child. */
export const makeCommand: MakeChildCommand = ({ identityPath }) => ({
  argv: [process.execPath, '--no-warnings', child],
  env: {
    PATH: process.env['PATH'] ?? '',
    SHEEPFOLD_CHILD: identityPath,
    NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
  },
});

/** Whether a process is a child that was started in `dir`: a pid may have a new owner by now. */
export function isChild(pid: number, dir: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes('/chaos/child.ts') && readlinkSync(`/proc/${pid}/cwd`) === dir;
  } catch {
    return false;
  }
}

/** Where fsync costs little, when there is such a place: SIGKILL is not a power cut. */
export const fastDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
