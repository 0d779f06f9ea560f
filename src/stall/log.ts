/** `stalls.jsonl`: one line for each thing that happened to a stalled child, oldest first. */
import { appendFile, readFile } from 'node:fs/promises';
import { z } from 'zod';

export const stallLineSchema = z.strictObject({
  v: z.literal(1),
  /** A line that is written again has the id that it had. */
  id: z.string().min(1),
  atMs: z.int(),
  agentId: z.string(),
  /** `scout: survey` */
  agent: z.string(),
  taskId: z.string().nullable(),
  /** Number of the launch that it is about, from 1. */
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
export type StallLine = z.infer<typeof stallLineSchema>;

/** Appends a line, unless it is there; a torn last line, as a crash leaves it, is ended first. */
export async function appendStallLine(file: string, line: StallLine): Promise<void> {
  const text = await readText(file);
  const { lines } = parse(text);
  if (lines.some(({ id }) => id === line.id)) return;
  const torn = text === '' || text.endsWith('\n') ? '' : '\n';
  await appendFile(file, `${torn}${JSON.stringify(line)}\n`, { mode: 0o600 });
}

/** Reads all of it; none there is no line. `unreadable` counts lines that are of no use. */
export async function readStallLines(
  file: string,
): Promise<{ readonly lines: readonly StallLine[]; readonly unreadable: number }> {
  return parse(await readText(file));
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

function parse(text: string): {
  readonly lines: readonly StallLine[];
  readonly unreadable: number;
} {
  const written = text.split('\n').filter((line) => line.trim() !== '');
  const lines = written.flatMap((line) => {
    try {
      return stallLineSchema.safeParse(JSON.parse(line)).data ?? [];
    } catch {
      return [];
    }
  });
  return { lines, unreadable: written.length - lines.length };
}
