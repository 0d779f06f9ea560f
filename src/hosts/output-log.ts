/**
 * Keeps a child's output on disk within a bound: what the runner writes with.
 *
 * Writes are synchronous. The runner has nothing else to do, order is kept without a queue, and a
 * child that prints faster than the disk takes it is slowed down by its own pipe.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

export interface OutputLog {
  append(text: string): void;
  close(): void;
}

/** Opens a log of at most `maxBytes` in two files: `file` and, before it, `file.old`. */
export function openOutputLog(file: string, maxBytes: number): OutputLog {
  const half = Math.floor(maxBytes / 2);
  let descriptor = openSync(file, 'a', 0o600);
  let size = fstatSync(descriptor).size;

  function rotate(): void {
    closeSync(descriptor);
    renameSync(file, `${file}.old`);
    descriptor = openSync(file, 'a', 0o600);
    size = 0;
  }

  return {
    append(text) {
      const bytes = Buffer.from(text).subarray(-half);
      try {
        if (size > 0 && size + bytes.length > half) rotate();
        size += writeSync(descriptor, bytes);
      } catch {
        // A full disk loses output, which is evidence only; the child and its exit code matter more.
      }
    },
    close: () => closeSync(descriptor),
  };
}

/** A line that was too long to keep; `start` still tells what it was. */
export interface CutLine {
  readonly start: string;
  readonly length: number;
}

export interface LineSplitter {
  push(text: string): void;
  /** Hands over what came after the last line end. */
  end(): void;
}

/**
 * Splits text on line feeds only: a JSON string may hold U+2028, at which `readline` splits too.
 *
 * A line longer than `maxLength` is handed over cut, and is never held in memory as a whole.
 */
export function createLineSplitter(
  maxLength: number,
  onLine: (line: string | CutLine) => void,
): LineSplitter {
  let held = '';
  let cut: { start: string; length: number } | undefined;

  function take(piece: string): void {
    if (cut !== undefined) cut.length += piece.length;
    else held += piece;
    if (held.length <= maxLength) return;
    cut = { start: held.slice(0, 200), length: held.length };
    held = '';
  }

  function finish(): void {
    onLine(cut ?? held);
    held = '';
    cut = undefined;
  }

  return {
    push(text) {
      let from = 0;
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        take(text.slice(from, at));
        finish();
        from = at + 1;
      }
      take(text.slice(from));
    },
    end() {
      if (held !== '' || cut !== undefined) finish();
    },
  };
}
