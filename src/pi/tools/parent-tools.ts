/** The Shepherd's tools, in the order in which a model reads of them. */
import { createCancelTool } from './cancel.ts';
import { createCloseTool } from './close.ts';
import type { ParentTool } from './define-parent-tool.ts';
import { createDelegateTool } from './delegate.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { createMessageTool } from './message.ts';
import { createPromptTool } from './prompt.ts';
import { createReadTool } from './read.ts';
import { createShepherdTool } from './shepherd.ts';
import { createSpawnTool } from './spawn.ts';
import { createStatusTool } from './status.ts';
import { createWatchTool } from './watch.ts';

export function createParentTools(shepherd: GetShepherd): readonly ParentTool[] {
  return [
    createShepherdTool,
    createSpawnTool,
    createDelegateTool,
    createMessageTool,
    createWatchTool,
    createStatusTool,
    createReadTool,
    createCancelTool,
    createCloseTool,
    createPromptTool,
  ].map((create) => create(shepherd));
}
