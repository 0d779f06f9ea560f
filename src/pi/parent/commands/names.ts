/** Words that a completion of `/shepherd` offers. */
import type { Shepherd } from '../../../runtime/shepherd.ts';
import { liveAgents } from '../../render/herd-rows.ts';

/** `scout: survey` of each live agent. */
export function agentNames(running: Shepherd | undefined): readonly string[] {
  return liveAgents(running?.agents() ?? []).map(({ agent, label }) => `${agent}: ${label}`);
}

/** Ids of the tasks that have not settled. */
export function taskIds(running: Shepherd | undefined): readonly string[] {
  return (running?.tasks() ?? []).flatMap(({ id, result }) => (result === undefined ? id : []));
}

/** Ids of the questions that are open. */
export function requestIds(running: Shepherd | undefined): readonly string[] {
  return (running?.tasks() ?? []).flatMap(({ requests }) =>
    requests.flatMap(({ requestId, state }) => (state === 'open' ? requestId : [])),
  );
}
