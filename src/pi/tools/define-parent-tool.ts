/** What the Shepherd's tools have in common: its runtime, older spellings, and their documentation. */
import type { z } from 'zod';
import type { Shepherd } from '../../runtime/shepherd.ts';
import {
  defineTool,
  type DocumentedTool,
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
  extends
    Omit<ToolSpec<Parameters, D>, 'run' | 'prepare' | 'documentation'>,
    ToolDocumentation<NoInfer<D>> {
  /** Spellings of the predecessor that this tool still takes. */
  readonly legacy: LegacyKeys;
  readonly run: (parameters: z.output<Parameters>, call: ParentCall) => Promise<ToolOutcome<D>>;
}

export type ParentTool = DocumentedTool;

/** Makes a tool of the Shepherd; it does nothing when its turn was aborted while the runtime opened. */
export function defineParentTool<Parameters extends z.ZodObject, D extends object>(
  shepherd: GetShepherd,
  spec: ParentToolSpec<Parameters, D>,
): ParentTool {
  const { legacy, result, errors, run, ...shared } = spec;
  return defineTool<Parameters, D>({
    ...shared,
    documentation: { result: { ...result }, errors },
    prepare: createNormaliser(spec.parameters, legacy),
    async run(parameters, call) {
      const runtime = await shepherd(call.ctx);
      call.signal?.throwIfAborted();
      return run(parameters, { ...call, runtime });
    },
  });
}
