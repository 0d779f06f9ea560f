/**
 * `stalls.jsonl`: what a session has seen of stalls and done about them, a line each, in order.
 *
 * SL1. A line is appended by one write. What a kill or a full disk leaves of one is no line: the next
 *      one begins anew behind it.
 * SL2. A line with an id that is there already is not written again, so that appending may be repeated.
 */
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { diskError, errnoOf } from '../mailbox/mail-fs.ts';

/** One line. */
export const stallLineSchema = z.strictObject({
  v: z.literal(1),
  /** Of this line: the same event has the same one. */
  id: z.string().min(1),
  /** Epoch ms. */
  atMs: z.int(),
  agentId: z.string(),
  /** Its name at that time, `scout: survey`. */
  agent: z.string(),
  taskId: z.string().nullable(),
  /** The incarnation that it is about. */
  launch: z.int().positive(),
  event: z.enum([
    'stalled',
    'cleared',
    'surfaced',
    'bailed',
    'dispatched',
    'recovered',
    'superseded',
  ]),
  /** How long the child had shown nothing. */
  silentMs: z.int().nullable(),
  detail: z.string().optional(),
});
export type StallLine = Readonly<z.infer<typeof stallLineSchema>>;

/**
 * Appends a line and has it on the disk; one with its id that is there already is left as it is.
 *
 * For one writer at a time, the owner of the session: two at once may both write the same id.
 *
 * @returns whether it was written.
 * @throws MailboxError `disk_error`; the same call may be repeated.
 */
export async function appendStallLine(file: string, line: StallLine): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'a+', 0o600);
    const text = await handle.readFile('utf8');
    if (parseLines(text).lines.some(({ id }) => id === line.id)) return false;
    const start = text === '' || text.endsWith('\n') ? '' : '\n';
    const bytes = Buffer.from(`${start}${JSON.stringify(stallLineSchema.parse(line))}\n`);
    const { bytesWritten } = await handle.write(bytes);
    // A disk that is nearly full takes a part; the rest would not be one write any more.
    if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} bytes were taken`);
    await handle.datasync();
    return true;
  } catch (cause) {
    if (cause instanceof z.ZodError) throw cause;
    throw diskError('append to', file, cause);
  } finally {
    await handle?.close();
  }
}

export interface StallLines {
  /** In the order in which they were written. */
  readonly lines: readonly StallLine[];
  /** How many are no lines of this version: torn ones, or somebody else's. */
  readonly unreadable: number;
}

/**
 * Reads every line; a session without the file has none.
 *
 * @throws MailboxError `disk_error`.
 */
export async function readStallLines(file: string): Promise<StallLines> {
  try {
    return parseLines(await readFile(file, 'utf8'));
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return { lines: [], unreadable: 0 };
    throw diskError('read', file, cause);
  }
}

function parseLines(text: string): StallLines {
  const parsed = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => stallLineSchema.safeParse(parseJson(line)));
  const lines = parsed.flatMap(({ data }) => data ?? []);
  return { lines, unreadable: parsed.length - lines.length };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
