/** What a scripted child can be told to do, and how one is started. */
import { existsSync } from 'node:fs';
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
  | { readonly do: 'nothing' };

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

/** Where fsync costs little, when there is such a place: SIGKILL is not a power cut. */
export const fastDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
