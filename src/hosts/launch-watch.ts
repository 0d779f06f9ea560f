/**
 * Watches launches for their end and for cancelled dialogs, by their directories.
 *
 * `fs.watch` is a hint that makes it quick; the sweep is the truth. Nothing here keeps a process alive.
 */
import { type FSWatcher, watch } from 'node:fs';
import type { HostEvent, PlaceRef } from './host.ts';
import {
  type LaunchStarted,
  readDialogs,
  readDialogsTold,
  readStarted,
  writeDialogsTold,
} from './launch.ts';
import { inspectLaunch } from './launch-state.ts';

/** The files whose change is news; their names without the temporary ones. */
const telling = ['exit.json', 'dialogs.jsonl'];

export interface LaunchWatchOptions {
  readonly now: () => number;
  readonly sweepMs: number;
  /** The last of what an ended child showed, where no log has it. */
  readonly lastOutput?: (ref: PlaceRef) => Promise<string>;
}

export interface LaunchWatch {
  /** Watches a place from now on; a place already watched stays as it is. */
  add(ref: PlaceRef): Promise<void>;
  /** Looks at every place now. */
  look(): void;
  has(launchId: string): boolean;
  /** Who the child is, from the first look that could tell. */
  startedOf(launchId: string): LaunchStarted | undefined;
  listen(listener: (event: HostEvent) => void): () => void;
  dispose(): void;
}

interface Place {
  readonly ref: PlaceRef;
  started: LaunchStarted | undefined;
  hint: FSWatcher | undefined;
  checking: boolean;
  exitTold: boolean;
  dialogsTold: number;
}

/** Creates a watch; an exit is told once, and waits for a listener if there is none yet. */
export function createLaunchWatch({ now, sweepMs, lastOutput }: LaunchWatchOptions): LaunchWatch {
  const places = new Map<string, Place>();
  const listeners = new Set<(event: HostEvent) => void>();
  let timer: NodeJS.Timeout | undefined;
  let disposed = false;

  function tell(event: HostEvent): void {
    // Apart from the look at the files: what a listener throws is no failed look and must be heard.
    for (const listener of listeners) queueMicrotask(() => listener(event));
  }

  async function check(place: Place): Promise<void> {
    if (disposed || place.checking || place.exitTold || listeners.size === 0) return;
    place.checking = true;
    try {
      await tellDialogs(place);
      const { launchDir } = place.ref;
      place.started ??= await readStarted(launchDir);
      const { presence, exit } = await inspectLaunch(launchDir, { now, known: place.started });
      const isOver = exit !== undefined || presence === 'gone';
      if (!isOver || disposed) return;
      place.exitTold = true;
      place.hint?.close();
      const ended = exit ?? { code: null, signal: null, atMs: now(), output: '' };
      const isMute = ended.output === '' && lastOutput !== undefined;
      const output = isMute ? await lastOutput(place.ref).catch(() => '') : ended.output;
      tell({ type: 'exited', ref: place.ref, exit: { ...ended, output } });
    } finally {
      place.checking = false;
    }
  }

  async function tellDialogs(place: Place): Promise<void> {
    const { ref } = place;
    const notes = await readDialogs(ref.launchDir).catch(() => []);
    const cancelled = notes.filter(({ event }) => event === 'cancelled');
    if (cancelled.length <= place.dialogsTold) return;
    const toldBefore = await readDialogsTold(ref.launchDir).catch(() => 0);
    const told = Math.max(place.dialogsTold, toldBefore);
    place.dialogsTold = cancelled.length;
    for (const { title } of cancelled.slice(told)) tell({ type: 'dialog_cancelled', ref, title });
    if (told < cancelled.length) await writeDialogsTold(ref.launchDir, cancelled.length);
  }

  function checkSoon(place: Place): void {
    // A failed look (a full or unreadable disk) is repeated by the next sweep.
    check(place).catch(() => undefined);
  }

  function sweep(): void {
    for (const place of places.values()) checkSoon(place);
  }

  function hintFor(place: Place): FSWatcher | undefined {
    try {
      const hint = watch(place.ref.launchDir, { persistent: false }, (_type, name) => {
        // The logs change with every line that the child prints.
        if (name === null || telling.includes(name)) checkSoon(place);
      });
      hint.on('error', () => hint.close());
      return hint;
    } catch {
      // No inotify watch left, or a filesystem without: the sweep sees it.
      return undefined;
    }
  }

  return {
    async add(ref) {
      if (places.has(ref.launchId)) return;
      // What cannot be read for a moment is read by a later look.
      const started = await readStarted(ref.launchDir).catch(() => undefined);
      if (disposed || places.has(ref.launchId)) return;
      const place: Place = {
        ref,
        started,
        hint: undefined,
        checking: false,
        exitTold: false,
        dialogsTold: 0,
      };
      places.set(ref.launchId, place);
      place.hint = hintFor(place);
      timer ??= setInterval(sweep, sweepMs).unref();
      checkSoon(place);
    },
    look: sweep,
    has: (launchId) => places.has(launchId),
    startedOf: (launchId) => places.get(launchId)?.started,
    listen(listener) {
      listeners.add(listener);
      sweep();
      return () => listeners.delete(listener);
    },
    dispose() {
      disposed = true;
      clearInterval(timer);
      for (const place of places.values()) place.hint?.close();
      listeners.clear();
    },
  };
}
