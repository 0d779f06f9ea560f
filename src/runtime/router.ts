/**
 * Who is meant by a name, and who may ask whom.
 *
 * RT1. A name means one live agent or nobody; a guess is never taken for an answer.
 * RT2. A question that would close a ring of waits is refused before it is asked; nobody else notices.
 */
import { nearestFirst } from '../agents/nearest.ts';
import { HostError, MailboxError, TaskError } from '../errors.ts';
import { SHEPHERD_ID } from '../ids.ts';
import { firstCharacters } from '../text.ts';
import type { Frame, Herd } from './herd.ts';
import type { AgentRecord } from './records.ts';
import type { Draft, Store } from './store.ts';

/** As much of a text as an error or a notice should repeat. */
export function excerpt(text: string, maxLength = 120): string {
  if (text.length <= maxLength) return text;
  const beginning = firstCharacters(text, maxLength);
  return beginning.length === text.length ? text : `${beginning}…`;
}

export type Reader = Pick<Store | Draft, 'get' | 'all'>;

/** What people and models call a party: `scout: api survey`, or `the Shepherd`. */
export function nameOf(reader: Reader, id: string): string {
  if (id === SHEPHERD_ID) return 'the Shepherd';
  const agent = reader.get('agent', id);
  return agent === undefined ? id : `${agent.definition.name}: ${agent.label}`;
}

function liveAgents(herd: Herd, reader: Reader): readonly AgentRecord[] {
  return herd.agents().flatMap((actor) => reader.get('agent', actor.id) ?? []);
}

function namesOf(agent: AgentRecord): readonly string[] {
  const { name } = agent.definition;
  return [agent.label, `${name}: ${agent.label}`, name];
}

/** What a prefix may begin: names, and the id where the prefix says more than every id does. */
function beginningsOf(agent: AgentRecord, target: string): readonly string[] {
  if (target === '') return [];
  const tail = agent.id.slice(commonPrefix.length);
  return [...namesOf(agent), tail, ...(commonPrefix.startsWith(target) ? [] : [agent.id])];
}

function listOf(agents: readonly AgentRecord[]): string {
  return agents
    .map((agent) => `"${agent.definition.name}: ${agent.label}" (${agent.id})`)
    .join(', ');
}

/** Begins every agent's id, so it means nobody. */
const commonPrefix = 'shepherd-agent-';

/**
 * Resolves a target to `shepherd` or a live agent's id.
 *
 * Accepts an agent id, `shepherd` or `parent`, a label, `agent: label`, the name of a definition that
 * one live agent has, or a prefix of one of these that means one agent.
 *
 * @throws MailboxError `invalid_target` with the nearest names, `ambiguous_target` with the
 * candidates; HostError `agent_closed` for an agent that has ended.
 */
export function resolveTarget(herd: Herd, reader: Reader, target: string): string {
  if (target === SHEPHERD_ID || target === 'parent') return SHEPHERD_ID;
  return resolveAgent(reader, liveAgents(herd, reader), target);
}

/** Resolves a target to the id of one of these agents; throws as `resolveTarget`. */
export function resolveAgent(reader: Reader, live: readonly AgentRecord[], target: string): string {
  if (live.some(({ id }) => id === target)) return target;
  const ended = reader.get('agent', target);
  if (ended !== undefined) {
    throw new HostError(
      'agent_closed',
      `${nameOf(reader, target)} (${target}) has ended (${ended.state}); spawn a new agent.`,
      { data: { agentId: target, state: ended.state } },
    );
  }
  const exact = live.filter((agent) => namesOf(agent).includes(target));
  const candidates =
    exact.length > 0
      ? exact
      : live.filter((agent) => beginningsOf(agent, target).some((name) => name.startsWith(target)));
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) return only.id;
  if (candidates.length > 1) {
    throw new MailboxError(
      'ambiguous_target',
      `"${excerpt(target)}" could be ${listOf(candidates)}; use the id.`,
      { data: { candidates: candidates.map((agent) => agent.id) } },
    );
  }
  const byName = nearestFirst(target, live.flatMap(namesOf));
  const rank = (agent: AgentRecord) =>
    Math.min(...namesOf(agent).map((name) => byName.indexOf(name)));
  const nearest = live.toSorted((a, b) => rank(a) - rank(b)).slice(0, 3);
  throw new MailboxError(
    'invalid_target',
    nearest.length === 0
      ? `"${excerpt(target)}" is nobody here; there is only "shepherd".`
      : `"${excerpt(target)}" is nobody here; the nearest are ${listOf(nearest)}, and "shepherd".`,
    { data: { nearest: nearest.map((agent) => agent.id) } },
  );
}

/**
 * Refuses a question that would close a ring: `recipient` already waits, over any number of others,
 * for `asker`.
 *
 * @param answered the request that the same message answers; it holds nobody any more.
 * @throws TaskError `wait_cycle` with the path, also for a question to oneself.
 */
export function refuseWaitCycle(
  frame: Frame,
  question: { readonly asker: string; readonly recipient: string; readonly answered?: string },
): void {
  const { herd, draft } = frame;
  const edges = new Map<string, Set<string>>();
  for (const id of herd.openRequestIds()) {
    const request = draft.get('request', id);
    if (request === undefined || id === question.answered) continue;
    const waitsFor = edges.get(request.askerId) ?? new Set();
    edges.set(request.askerId, waitsFor.add(request.recipientId));
  }
  if (question.recipient === question.asker) {
    throw new TaskError('wait_cycle', 'You would wait for yourself; ask somebody else.', {
      data: { path: [question.asker, question.asker] },
    });
  }
  const path = findPath(edges, question.recipient, question.asker);
  if (path === undefined) return;
  const ring = [question.asker, ...path];
  const names = ring.map((id) => nameOf(draft, id)).join(' → ');
  throw new TaskError(
    'wait_cycle',
    `${nameOf(draft, question.recipient)} already waits for ${nameOf(draft, question.asker)}: ` +
      `${names}. Answer what you were asked first, or go on without.`,
    { data: { path: ring } },
  );
}

function findPath(
  edges: ReadonlyMap<string, ReadonlySet<string>>,
  from: string,
  to: string,
  seen = new Set<string>(),
): readonly string[] | undefined {
  if (from === to) return [to];
  if (seen.has(from)) return undefined;
  seen.add(from);
  for (const next of edges.get(from) ?? []) {
    const path = findPath(edges, next, to, seen);
    if (path !== undefined) return [from, ...path];
  }
  return undefined;
}
