/**
 * Forgetting on demand: what `retention.ts` would forget one day, at once.
 *
 * PN1. Nothing live and nothing that is still to be told is forgotten.
 * PN2. The last task of an agent that lives stays: its child may have something to say about it.
 * PN3. The journal stays: what happened can be looked at afterwards.
 */
import type { Frame } from './herd.ts';
import type { Retention } from './policy.ts';
import { forgetAgents, forgetKeys, forgetTasks } from './retention.ts';
import type { PruneResult } from './shepherd.ts';

const nothingKept: Retention = { keep: 0, keepMs: 0 };

/** Forgets ended agents and finished tasks; how many went, and how many of both are left. */
export function pruneFinished(frame: Frame): PruneResult {
  const { draft, herd } = frame;
  const tasks = forgetTasks(
    frame,
    nothingKept,
    ({ id, agentId }) =>
      herd.agent(agentId) !== undefined && draft.get('agent', agentId)?.taskId === id,
  );
  forgetKeys(frame);
  const agents = forgetAgents(frame, nothingKept);
  return {
    pruned: tasks.length + agents.length,
    remaining: draft.all('task').length + draft.all('agent').length,
    agents: agents.length,
    tasks: tasks.length,
  };
}
