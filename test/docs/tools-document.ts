/** `docs/tools.md`: every tool with its parameters, results and errors, from the tools themselves. */
import { z } from 'zod';
import { createDoneTool } from '../../src/pi/child/done-tool.ts';
import { createMessageTool } from '../../src/pi/child/message-tool.ts';
import { createRosterTool } from '../../src/pi/child/roster-tool.ts';
import { createWork } from '../../src/pi/child/work.ts';
import { limitsSchema } from '../../src/mailbox/limits.ts';
import type { DocumentedTool } from '../../src/pi/tools/define-tool.ts';
import { createParentTools } from '../../src/pi/tools/parent-tools.ts';

const neverOpened = () => Promise.reject(new Error('Only its documentation is read.'));

function childTools(): readonly DocumentedTool[] {
  const options = {
    mailbox: () => undefined,
    work: createWork(() => 0),
    limits: limitsSchema.parse({}),
  };
  return [createMessageTool(options), createDoneTool(options), createRosterTool(options)];
}

export function toolsDocument(): string {
  return [
    '# Tools',
    '',
    'Made from the tools themselves by `npm run docs`; a test fails when it is stale.',
    '',
    'A tool that fails is an error in Pi, with the text `code: message`. Besides its own codes each may answer with',
    '`invalid_argument` (what is wrong with the parameters; unknown ones are refused by name), `session_owned`,',
    '`session_closed`, `session_damaged`, `invalid_setting`, `disk_error` and `internal_error`. An aborted call fails at',
    'once. Ids are opaque: `shepherd-agent-…`, `shepherd-task-…`, `shepherd-message-…`. No pane, tab or workspace id',
    'goes in or out.',
    '',
    'There is no `shepherd_wait`: `shepherd_watch` wakes you. Arguments as the predecessor took them (`handle`, an id within',
    'JSON, numbers in quotes) are understood.',
    '',
    '## Of the Shepherd',
    ...createParentTools(neverOpened).flatMap(sectionOf),
    '',
    '## Of a child',
    ...childTools().flatMap(sectionOf),
    '',
  ].join('\n');
}

const schemaSchema = z.object({
  properties: z
    .record(
      z.string(),
      z.looseObject({
        type: z.string().optional(),
        enum: z.array(z.string()).optional(),
        anyOf: z.array(z.looseObject({ type: z.string().optional() })).optional(),
        description: z.string().optional(),
      }),
    )
    .default({}),
  required: z.array(z.string()).default([]),
});
type Property = z.infer<typeof schemaSchema>['properties'][string];

function sectionOf({ name, description, parameters, documentation }: DocumentedTool): string[] {
  const { properties, required } = schemaSchema.parse(parameters);
  const rows = Object.entries(properties).map(
    ([key, property]) =>
      `| \`${key}\` | ${typeOf(property)} | ${required.includes(key) ? 'yes' : ''} | ${cell(property.description ?? '')} |`,
  );
  return [
    '',
    `### \`${name}\``,
    '',
    description,
    '',
    ...(rows.length === 0
      ? ['It takes nothing.']
      : ['| parameter | type | required | meaning |', '| --- | --- | --- | --- |', ...rows]),
    '',
    '| result | meaning |',
    '| --- | --- |',
    ...Object.entries(documentation.result).map(([key, text]) => `| \`${key}\` | ${cell(text)} |`),
    '',
    documentation.errors.length === 0
      ? 'No errors of its own.'
      : `Errors: ${documentation.errors.map((code) => `\`${code}\``).join(', ')}.`,
  ];
}

function typeOf(property: Property): string {
  if (property.enum !== undefined) return property.enum.map((value) => `\`${value}\``).join(' ');
  if (property.anyOf !== undefined) {
    return property.anyOf.map(({ type }) => type ?? 'any').join(' or ');
  }
  return property.type ?? 'any';
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
