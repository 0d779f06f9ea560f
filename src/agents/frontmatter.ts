/**
 * The text of an agent file: YAML frontmatter that says name, tools and model, and a Markdown body.
 *
 * Owns the keys and what each accepts. It reads no files and decides no precedence (`catalog.ts`).
 *
 * F1. A known key with a value that is not accepted refuses the file: an agent never runs with more
 *     tools, or another model, than its author wrote.
 * F2. An unknown key is a warning, never a refusal: files are shared with other tools that have
 *     keys of their own.
 */
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../errors.ts';
import type { AgentDefinition, Thinking } from './definition.ts';
import { nearestFirst } from './nearest.ts';

/** What a file says of its agent; where it lies and what its bytes are is the catalog's to add. */
type AgentText = Omit<AgentDefinition, 'source' | 'path' | 'contentHash'>;

export interface ParsedAgent {
  readonly definition: AgentText;
  /** What the author probably meant otherwise; the file still counts. */
  readonly warnings: readonly string[];
}

const thinkingLevels = [
  'default',
  'off',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
] as const satisfies readonly Thinking[];

/** Addresses of the Shepherd itself (CONTRACT §7). */
const reservedNames = ['shepherd', 'parent'];

/** `agent: label` addresses an agent, so that a name has no colon; labels have the same length. */
const name = z
  .string()
  .trim()
  .regex(/^[^:\p{Cc}]{1,64}$/u)
  .refine((value) => !reservedNames.includes(value));

/** Left out or empty is Pi's own set, `[]` is no tool of Pi at all. */
const tools = z.preprocess(
  (value) => {
    if (typeof value !== 'string') return value ?? undefined;
    const items = value.split(',').filter((item) => item.trim() !== '');
    return items.length > 0 ? items : undefined;
  },
  z
    .array(
      z
        .string()
        .trim()
        .regex(/^[^\s,]+$/),
    )
    .transform((items) => [...new Set(items)])
    .optional(),
);

const model = z.preprocess(
  (value) => value ?? '',
  z
    .string()
    .trim()
    .refine((value) => value.toLowerCase() !== 'none')
    .transform((value) => (/^(?:default)?$/i.test(value) ? undefined : value)),
);

interface Frontmatter {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly string[] | undefined;
  readonly model: string | undefined;
  readonly thinking: Thinking;
  readonly 'omit-system-prompt': boolean;
  readonly 'omit-pi-documentation': boolean;
  readonly 'omit-context-files': boolean;
  readonly 'user-invocable': boolean;
}

interface Rule<Value> {
  readonly schema: z.ZodType<Value>;
  /** What the schema takes, in words that end "write …". */
  readonly accepted: string;
}

const flag = (byDefault: boolean): Rule<boolean> => ({
  schema: z.boolean().default(byDefault),
  accepted: 'true or false, without quotes',
});

const rules: { readonly [Key in keyof Frontmatter]: Rule<Frontmatter[Key]> } = {
  name: {
    schema: name,
    accepted: 'a text of 1 to 64 characters without ":", other than "shepherd" and "parent"',
  },
  description: { schema: z.string().trim().min(1), accepted: 'a text that is not empty' },
  tools: {
    schema: tools,
    accepted: 'tool names, as a list or separated by commas; leave it out for those of Pi',
  },
  model: {
    schema: model,
    accepted: 'a model such as provider/model; leave it out or write "default" to inherit',
  },
  thinking: {
    schema: z.preprocess((value) => value ?? 'default', z.enum(thinkingLevels)),
    accepted: `one of ${thinkingLevels.join(', ')}`,
  },
  'omit-system-prompt': flag(false),
  'omit-pi-documentation': flag(false),
  'omit-context-files': flag(false),
  'user-invocable': flag(true),
};

/**
 * Parses the text of an agent file; `path` only names it in messages.
 *
 * Takes CRLF line ends and a byte order mark. The body comes trimmed, with LF line ends. An empty
 * body is a warning, and a refusal where it would replace Pi's system prompt.
 *
 * @throws ConfigError `invalid_agent` that names file, key, offending value and what is accepted.
 */
export function parseAgent(markdown: string, path: string): ParsedAgent {
  const { yaml, body } = split(markdown, path);
  const values = parseYaml(yaml, path);

  const read = <Key extends keyof Frontmatter>(key: Key): Frontmatter[Key] => {
    const { schema, accepted } = rules[key];
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const problem = value === undefined ? 'is missing' : `does not accept ${show(value)}`;
    throw refusal(path, `"${key}" ${problem}; write ${accepted}`, { key, value });
  };
  const definition: AgentText = {
    name: read('name'),
    description: read('description'),
    tools: read('tools'),
    model: read('model'),
    thinking: read('thinking'),
    omitSystemPrompt: read('omit-system-prompt'),
    omitPiDocumentation: read('omit-pi-documentation'),
    omitContextFiles: read('omit-context-files'),
    userInvocable: read('user-invocable'),
    body,
  };

  const warnings = Object.keys(values)
    .filter((key) => !Object.hasOwn(rules, key))
    .map(
      (key) =>
        `${path}: "${key}" is not a key of agent files and has no effect; ` +
        `there are ${nearestFirst(key, Object.keys(rules)).join(', ')}`,
    );
  if (body === '') {
    if (definition.omitSystemPrompt) {
      throw refusal(
        path,
        '"omit-system-prompt" does not accept true when the body is empty; ' +
          "write the system prompt below the frontmatter, or keep Pi's own",
        { key: 'omit-system-prompt', value: true },
      );
    }
    warnings.push(`${path}: the body is empty, so the agent gets no instructions of its own`);
  }
  return { definition, warnings };
}

function split(markdown: string, path: string): { yaml: string; body: string } {
  const lines = markdown.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  if (lines[0]?.trimEnd() !== '---') {
    throw refusal(
      path,
      `the frontmatter is missing: the first line is ${show(lines[0] ?? '')}; ` +
        'write --- there, name and description below it, and --- again',
    );
  }
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---');
  if (end === -1) {
    throw refusal(path, 'the frontmatter is not closed; write --- on a line of its own after it');
  }
  // The first line stays, emptied, so that line numbers in messages are those of the file.
  const yaml = ['', ...lines.slice(1, end)].join('\n');
  return {
    yaml,
    body: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
  };
}

function parseYaml(yaml: string, path: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(yaml);
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem) throw notYaml(yaml, path, problem);
  let values: unknown;
  try {
    // An alias without an anchor (`description: *urgent*`) is only found here.
    values = document.toJS();
  } catch (cause) {
    throw notYaml(yaml, path, cause);
  }
  if (values === null) return {};
  const record = z.record(z.string(), z.unknown()).safeParse(values);
  if (record.success) return record.data;
  throw refusal(path, `the frontmatter is ${show(values)}; write lines of the form "key: value"`, {
    value: values,
  });
}

function notYaml(yaml: string, path: string, cause: unknown): ConfigError {
  const message = (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? '';
  const line = /at line (\d+)/.exec(message)?.[1];
  const text = line === undefined ? undefined : yaml.split('\n')[Number(line) - 1];
  return refusal(
    path,
    `the frontmatter is not YAML: ${message.replace(/:$/, '')}` +
      (text === undefined ? '' : `, ${show(text)}`) +
      '; write each key once, and quote a value that contains ": " or begins with a sign',
    { line: line === undefined ? undefined : Number(line), cause },
  );
}

function refusal(
  path: string,
  message: string,
  { cause, ...data }: Readonly<Record<string, unknown>> = {},
): ConfigError {
  return new ConfigError('invalid_agent', `${path}: ${message}`, {
    cause,
    data: { path, ...data },
  });
}

/** A value as its author may recognise it, at most 80 characters of it. */
function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
