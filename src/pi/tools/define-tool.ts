/** How our tools meet Pi: a flat JSON Schema outside, zod inside, and errors as `code: message`. */
import type { ExtensionToolContext, ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { ConfigError, describeError } from '../../errors.ts';

/** One call of a tool, without what only Pi needs. */
export interface ToolCall {
  readonly signal: AbortSignal | undefined;
  readonly ctx: ExtensionToolContext;
  /** Shows a line while the tool runs. */
  readonly progress: (text: string) => void;
}

export interface ToolOutcome {
  /** What the model reads. */
  readonly text: string;
  /** The same for programs; kept in the session. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Ends the run without another model call, if the whole batch says so. */
  readonly terminate?: boolean;
}

export interface ToolSpec<Parameters extends z.ZodObject> {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: Parameters;
  readonly promptSnippet: string;
  readonly promptGuidelines?: readonly string[];
  /** Runs alone in its batch, after the calls before it. Default false. */
  readonly sequential?: boolean;
  readonly run: (parameters: z.output<Parameters>, call: ToolCall) => Promise<ToolOutcome>;
}

/**
 * Makes a Pi tool of a spec.
 *
 * A failure is thrown, so that Pi paints it as one: `code: message` of a `ShepherdError`, and
 * `invalid_argument` for parameters that the schema refuses.
 */
export function defineTool<Parameters extends z.ZodObject>(
  spec: ToolSpec<Parameters>,
): ToolDefinition {
  // A root with `anyOf` makes constrained sampling emit `{}`; `$schema` is noise in every request.
  const { $schema, ...parameters } = z.toJSONSchema(spec.parameters, { io: 'input' });
  return {
    name: spec.name,
    label: spec.label,
    description: spec.description,
    promptSnippet: spec.promptSnippet,
    promptGuidelines: [...(spec.promptGuidelines ?? [])],
    parameters,
    ...(spec.sequential === true ? { executionMode: 'sequential' as const } : {}),
    async execute(_toolCallId, raw, signal, onUpdate, ctx) {
      const progress = (line: string): void =>
        onUpdate?.({ content: [{ type: 'text', text: line }], details: undefined });
      try {
        signal?.throwIfAborted();
        const { text, ...outcome } = await spec.run(parse(spec, raw), { signal, ctx, progress });
        return { content: [{ type: 'text', text }], ...outcome };
      } catch (cause) {
        throw new Error(describeError(cause), { cause });
      }
    },
  };
}

function parse<Parameters extends z.ZodObject>(
  spec: ToolSpec<Parameters>,
  raw: unknown,
): z.output<Parameters> {
  const parsed = spec.parameters.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    'invalid_argument',
    `${spec.name} does not take these arguments. ${z.prettifyError(parsed.error)}`,
    { cause: parsed.error },
  );
}
