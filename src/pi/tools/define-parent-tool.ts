/** What the Shepherd's tools have in common: its runtime, older spellings, and their documentation. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import type { z } from 'zod';
import type { Shepherd } from '../../runtime/shepherd.ts';
import {
  defineTool,
  type ToolCall,
  type ToolDocumentation,
  type ToolOutcome,
  type ToolSpec,
} from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { createNormaliser, type LegacyKeys } from './legacy-arguments.ts';

export interface ParentCall extends ToolCall {
  readonly runtime: Shepherd;
}

export interface ParentToolSpec<Parameters extends z.ZodObject, D extends object>
  extends Omit<ToolSpec<Parameters, D>, 'run' | 'prepare'>, ToolDocumentation<NoInfer<D>> {
  /** Spellings of the predecessor that this tool still takes. */
  readonly legacy: LegacyKeys;
  readonly run: (parameters: z.output<Parameters>, call: ParentCall) => Promise<ToolOutcome<D>>;
}

/** A tool that says what it returns and refuses. */
export type ParentTool = ToolDefinition & { readonly documentation: ToolDocumentation };

/** Makes a tool of the Shepherd; it does nothing when its turn was aborted while the runtime opened. */
export function defineParentTool<Parameters extends z.ZodObject, D extends object>(
  shepherd: GetShepherd,
  spec: ParentToolSpec<Parameters, D>,
): ParentTool {
  const { legacy, result, errors, run, ...shared } = spec;
  const tool = defineTool<Parameters, D>({
    ...shared,
    prepare: createNormaliser(spec.parameters, legacy),
    async run(parameters, call) {
      const runtime = await shepherd(call.ctx);
      call.signal?.throwIfAborted();
      return run(parameters, { ...call, runtime });
    },
  });
  return { ...tool, documentation: { result, errors } };
}
