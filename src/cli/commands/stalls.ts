/** `sheepfold stalls`: each stall of a session, and what was done about it, oldest first. */
import { join } from 'node:path';
import { z } from 'zod';
import { readStallLines, stallLineSchema, type StallLine } from '../../stall/log.ts';
import type { Command } from '../command.ts';
import { chooseSession, namedStateDir, sessionOptions, textOf } from '../sessions.ts';
import { columnFor, formatDuration, formatLine, type Cell } from '../terminal.ts';

/** What `sheepfold stalls --json` prints. */
export const stallsReportSchema = z.strictObject({
  session: z.string(),
  lines: z.array(stallLineSchema),
  /** Lines of the file that are of no use. */
  unreadable: z.int(),
});

export const stalls: Command = {
  summary: 'lists the stalls of a session, and what was done about each',
  options: sessionOptions,
  async run({ values, out, err, now, columns }) {
    const place = chooseSession(namedStateDir(values), textOf(values, 'session'));
    const { lines, unreadable } = await readStallLines(join(place.dir, 'stalls.jsonl'));
    if (values['json'] === true) {
      out(JSON.stringify({ session: place.name, lines, unreadable }, null, 2));
      return 0;
    }
    const width = columnFor(
      lines.map(({ agent }) => agent),
      28,
    );
    for (const line of lines) out(formatLine(cellsOf(line, { width, nowMs: now() }), columns));
    if (lines.length === 0) out(`No stall in ${place.name}.`);
    if (unreadable > 0) err(`${unreadable} lines of stalls.jsonl are unreadable.`);
    return 0;
  },
};

function cellsOf(
  { atMs, agent, launch, event, silentMs, taskId, detail }: StallLine,
  { width, nowMs }: { readonly width: number; readonly nowMs: number },
): readonly Cell[] {
  return [
    { text: `${formatDuration(nowMs - atMs)} ago`, width: 9, style: 'dim' },
    { text: agent, width },
    { text: `launch ${launch}`, width: 9, style: 'dim' },
    {
      text: event,
      width: 10,
      style: event === 'surfaced' || event === 'stalled' ? 'red' : undefined,
    },
    { text: silentMs === null ? '' : `silent for ${formatDuration(silentMs)}`, width: 16 },
    { text: taskId ?? 'no task' },
    { text: detail ?? '', style: 'dim' },
  ];
}
