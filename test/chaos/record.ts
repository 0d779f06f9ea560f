/** Files of JSON lines that outlive their writer: what it wrote before it went on is on the disk. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Appends one line, whole and durable when it returns. */
export function appendLine(path: string, line: unknown): void {
  const file = openSync(path, 'a', 0o600);
  try {
    writeSync(file, `${JSON.stringify(line)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Every whole line; none when there is no such file. */
export function readLines(path: string): readonly unknown[] {
  if (!existsSync(path)) return [];
  const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line) as unknown);
}

/** What a child writes about itself and about each envelope, before it acks it. */
export interface ChildLine {
  readonly pid: number;
  readonly atMs: number;
  readonly messageId?: string;
  readonly kind?: string;
  readonly from?: string;
  /** The same for the same envelope in another play of the same scenario. */
  readonly what?: string;
}

/** Every whole line of a child. */
export const readChild = (dir: string, label: string): readonly ChildLine[] =>
  readLines(join(dir, childRecord(label))) as readonly ChildLine[];

/** Where a child with this label writes. */
export const childRecord = (label: string): string => `child-${label}.jsonl`;
