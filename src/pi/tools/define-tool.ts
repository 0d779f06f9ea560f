/** How our tools meet Pi: a flat JSON Schema outside, zod inside, and errors as `code: message`. */
import type { ExtensionToolContext, ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { ConfigError, describeError, type ShepherdErrorCode } from '../../errors.ts';

/** One call of a tool, without what only Pi needs. */
export interface ToolCall {
  readonly signal: AbortSignal | undefined;
  readonly ctx: ExtensionToolContext;
  /** Shows a line while the tool runs. */
  readonly progress: (text: string) => void;
}

type Details = object;

export interface ToolOutcome<D extends Details = Details> {
  /** What the model reads. */
  readonly text: string;
  /** The same for programs; kept in the session. */
  readonly details: D;
  /** Ends the run without another model call, if the whole batch says so. */
  readonly terminate?: boolean;
}

/** What `docs/tools.md` says of a tool besides its schema. */
export interface ToolDocumentation<D extends Details = Details> {
  /** Each field of the details, in a few words. */
  readonly result: { readonly [Field in keyof D]-?: string };
  /** Codes that the tool answers with, besides those that every tool has. */
  readonly errors: readonly ShepherdErrorCode[];
}

/** A tool that says what it returns and refuses. */
export type DocumentedTool = ToolDefinition & {
  readonly documentation: ToolDocumentation<Record<string, unknown>>;
};

export interface ToolSpec<Parameters extends z.ZodObject, D extends Details = Details> {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: Parameters;
  readonly promptSnippet: string;
  readonly promptGuidelines?: readonly string[];
  /** Runs alone in its batch, after the calls before it. Default false. */
  readonly sequential?: boolean;
  /** Makes what a model wrote into what the schema takes. Default: it stays as it is. */
  readonly prepare?: (raw: unknown) => unknown;
  readonly documentation: ToolDocumentation<Record<string, unknown>>;
  readonly run: (parameters: z.output<Parameters>, call: ToolCall) => Promise<ToolOutcome<D>>;
}

/**
 * Makes a Pi tool of a spec.
 *
 * A failure is thrown, so that Pi paints it as one: `code: message` of a `ShepherdError`, and
 * `invalid_argument` for parameters that the schema refuses or does not know. An aborted call fails at
 * once; what it had begun goes on, and `run` has the signal where it can do better.
 */
export function defineTool<Parameters extends z.ZodObject, D extends Details>(
  spec: ToolSpec<Parameters, D>,
): DocumentedTool {
  // A root with `anyOf` makes constrained sampling emit `{}`; `$schema` is noise in every request.
  const { $schema, ...parameters } = z.toJSONSchema(spec.parameters, { io: 'input' });
  const { prepare } = spec;
  return {
    documentation: spec.documentation,
    name: spec.name,
    label: spec.label,
    description: spec.description,
    promptSnippet: spec.promptSnippet,
    promptGuidelines: [...(spec.promptGuidelines ?? [])],
    parameters,
    ...(spec.sequential === true ? { executionMode: 'sequential' as const } : {}),
    ...(prepare === undefined ? {} : { prepareArguments: prepare }),
    async execute(_toolCallId, raw, signal, onUpdate, ctx) {
      const progress = (line: string): void =>
        onUpdate?.({ content: [{ type: 'text', text: line }], details: undefined });
      try {
        signal?.throwIfAborted();
        const running = spec.run(parse(spec, raw), { signal, ctx, progress });
        const { text, ...outcome } = await untilAborted(running, signal);
        return { content: [{ type: 'text', text }], ...outcome };
      } catch (cause) {
        throw new Error(describeError(cause), { cause });
      }
    },
  };
}

/** Rejects with the signal's reason when that comes first. */
async function untilAborted<T>(running: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return running;
  const over = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => {
      try {
        signal.throwIfAborted();
      } catch (reason) {
        reject(reason);
      }
    };
    signal.addEventListener('abort', onAbort, { signal: over.signal });
  });
  try {
    return await Promise.race([running, aborted]);
  } finally {
    over.abort();
  }
}

function parse<Parameters extends z.ZodObject, D extends Details>(
  spec: ToolSpec<Parameters, D>,
  raw: unknown,
): z.output<Parameters> {
  const names = Object.keys(spec.parameters.shape);
  const parsed = spec.parameters.safeParse(raw);
  // Not in the schema: constrained sampling is not to be told of other keys.
  const strangers = parsed.success
    ? Object.keys(z.looseObject({}).parse(raw)).filter((key) => !names.includes(key))
    : [];
  if (parsed.success && strangers.length === 0) return parsed.data;
  const wrong = parsed.success
    ? `It does not know ${strangers.join(', ')}.`
    : z.prettifyError(parsed.error);
  throw new ConfigError(
    'invalid_argument',
    `${spec.name} does not take these arguments. ${wrong}\nIt takes: ${names.join(', ') || 'nothing'}.`,
    { cause: parsed.error },
  );
}
