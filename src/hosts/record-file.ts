/** One JSON record in one file: what the runner, its owner and the hosts tell each other by. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { describeError, HostError } from '../errors.ts';
import { errnoOf } from './processes.ts';

/** Writes the record 0600, so that a reader sees all of it or the one before. */
export async function writeRecord(file: string, record: object): Promise<void> {
  // The pid alone is no name: a process may write twice at once, and each container has a pid 1.
  const temporary = `${file}.${process.pid}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    // A full disk leaves an empty one; a failure to remove it says less than the first error.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Reads a record, or `undefined` when there is no such file.
 *
 * @throws HostError `uncertain` for a file that is there but cannot be read (then `retryable`) or is
 *   no record of its kind.
 */
export async function readRecord<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFileIfThere(file);
  if (text === undefined) return undefined;
  const record = schema.safeParse(parseJson(text));
  if (record.success) return record.data;
  throw new HostError('uncertain', `${file} is broken: ${z.prettifyError(record.error)}`, {
    cause: record.error,
  });
}

/** The text of a file, or `undefined` when there is none; throws like `readRecord`. */
export async function readFileIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw new HostError('uncertain', `cannot read ${file}: ${describeError(error)}`, {
      cause: error,
      retryable: true,
    });
  }
}

/** The value of a JSON text, or `undefined`, which no schema here accepts. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
