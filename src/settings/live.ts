/**
 * Settings that follow their files: read again as soon as a file has changed, without a watch.
 *
 * L1. `read` answers with what the files say at that moment; two `stat`s are its price.
 * L2. Looking for changes keeps no process alive, and happens only while somebody wants to hear of them.
 */
import { statSync } from 'node:fs';
import { readSettings, type ReadSettings, type SettingsFiles } from './read.ts';

export interface LiveSettings {
  readonly files: SettingsFiles;
  /** What the files say now. The same object as before while they have not changed. */
  read(): ReadSettings;
  /** Calls `changed` within a second of a change; returns the stop. */
  onChange(changed: (now: ReadSettings) => void): () => void;
}

const lookEveryMs = 1_000;

/** Follows these two files; reads nothing before it is asked. */
export function followSettings(files: SettingsFiles): LiveSettings {
  let seen: { readonly marks: string; readonly settings: ReadSettings } | undefined;

  function read(): ReadSettings {
    // Before the reading: what changes meanwhile is seen the next time.
    const marks = `${markOf(files.userFile)} ${markOf(files.projectFile)}`;
    if (seen?.marks !== marks) seen = { marks, settings: readSettings(files) };
    return seen.settings;
  }

  return {
    files,
    read,
    onChange(changed) {
      let told = read();
      const timer = setInterval(() => {
        const now = read();
        if (now === told) return;
        told = now;
        changed(now);
      }, lookEveryMs).unref();
      return () => clearInterval(timer);
    },
  };
}

/** Differs as soon as another file, or another content, is there. */
function markOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return 'none';
    return `${stats.dev}.${stats.ino}.${stats.size}.${stats.mtimeNs}.${stats.ctimeNs}`;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unseen';
  }
}
