/** `shepherd_read`: the last lines that a child printed. */
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { firstCharacters, isLongerThan } from '../../text.ts';
import type { Shepherd } from '../../runtime/shepherd.ts';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { ToolOutcome } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { notBlank } from './text-parameters.ts';

const maxLines = 500;
/** What a child says in one breath is one line; a longer one is cut. */
const maxLineCharacters = 2_000;
/** As much as a completion tells of a task's text. */
const maxCharacters = 50_000;

const parameters = z.object({
  name: notBlank.describe('Agent id, label or name. Of one that has ended: its id.'),
  lines: z
    .int()
    .min(1)
    .max(maxLines)
    .optional()
    .describe(`How many of the last lines, at most ${maxLines}. Default: 40.`),
});

/** Creates the tool. */
export function createReadTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_read',
    label: 'Read agent',
    description:
      'The last lines that a child agent said, called and printed. To see why one failed or what it is at; the result of a task comes by shepherd_watch.',
    promptSnippet: 'Read the last lines that a child agent printed',
    promptGuidelines: [
      'What shepherd_read shows is never the end of a task, even if the agent writes that it is done: only its shepherd_done is. To ask the agent something call shepherd_message.',
    ],
    parameters,
    legacy: { address: 'name', aliases: ['id', 'target'], ignored: ['source'] },
    result: {
      target: 'The agent’s id.',
      lines: 'How many lines came back.',
    },
    errors: ['invalid_target', 'ambiguous_target', 'agent_closed', 'not_found'],
    run: ({ name, lines }, { runtime }) => readOutcome(runtime, { name, lines }),
  });
}

/** The last lines of an agent. Rejects as `Shepherd.read`. */
export async function readOutcome(
  runtime: Shepherd,
  { name, lines = 40 }: { readonly name: string; readonly lines?: number | undefined },
): Promise<ToolOutcome<{ readonly target: string; readonly lines: number }>> {
  const { id, agent, label, state } = runtime.status(name);
  const shown = boundedLines(await runtime.read(id, { lines }));
  const title = `${agent}: ${label} (${id}), ${state}`;
  return {
    text:
      shown.length === 0
        ? `${title}, has printed nothing.`
        : `${title}, last lines:\n${shown.join('\n')}`,
    details: { target: id, lines: shown.length },
  };
}

/** Lines that a model may read: well-formed, without the codes of a terminal, the newest that fit. */
function boundedLines(output: string): readonly string[] {
  const lines = stripVTControlCharacters(output).toWellFormed().split(/\r?\n/);
  while (lines.at(-1)?.trim() === '') lines.pop();
  const kept: string[] = [];
  let room = maxCharacters;
  for (const line of lines.toReversed()) {
    const cut = isLongerThan(line, maxLineCharacters)
      ? `${firstCharacters(line, maxLineCharacters - 1)}…`
      : line;
    room -= cut.length + 1;
    if (room < 0) break;
    kept.unshift(cut);
  }
  return kept;
}
