/** An agent of a session, as somebody at a terminal names it. */
import { ConfigError } from '../errors.ts';
import type { AgentRecord } from '../runtime/records.ts';
import { resolveAgent } from '../runtime/router.ts';
import type { Store } from '../runtime/store.ts';
import { isLive } from './sessions.ts';

/** Finds a live agent. @throws as `resolveTarget`. */
export function findAgent(store: Store, target: string): AgentRecord {
  const id = resolveAgent(store, store.all('agent').filter(isLive), target);
  const agent = store.get('agent', id);
  if (agent === undefined) throw new ConfigError('invalid_argument', `There is no agent ${id}.`);
  return agent;
}
