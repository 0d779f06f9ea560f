/** `sheepfold interrupt`: stops the running turn of an agent, and keeps the agent and its task. */
import { z } from 'zod';
import { ConfigError, HostError } from '../../errors.ts';
import { judgeOwner } from '../../hosts/owner.ts';
import { createHosts } from '../../hosts/hosts.ts';
import type { AgentRecord } from '../../runtime/records.ts';
import { nameOf } from '../../runtime/router.ts';
import type { Store } from '../../runtime/store.ts';
import type { Command } from '../command.ts';
import { findAgent } from '../agents.ts';
import { chooseSession, namedStateDir, readSession, sessionOptions, textOf } from '../sessions.ts';

/** What `sheepfold interrupt --json` prints. */
export const interruptReportSchema = z.strictObject({
  agentId: z.string(),
  /** `scout: survey` */
  agent: z.string(),
  interrupted: z.literal(true),
});
type InterruptReport = z.infer<typeof interruptReportSchema>;

export const interrupt: Command = {
  summary: 'stops the running turn of an agent, and keeps the agent and its task',
  options: sessionOptions,
  positionals: '<agent>',
  async run({ values, positionals, out }) {
    const [target, ...more] = positionals;
    if (target === undefined || more.length > 0) {
      throw new ConfigError(
        'invalid_argument',
        'sheepfold interrupt takes one agent: an id or a name.',
      );
    }
    const place = chooseSession(namedStateDir(values), textOf(values, 'session'));
    const agent = await readSession(place, async (store) => {
      const found = findAgent(store, target);
      return { ...found, name: nameOf(store, found.id), isWatched: await isWatched(store) };
    });
    await interruptAgent(agent);
    const report: InterruptReport = { agentId: agent.id, agent: agent.name, interrupted: true };
    out(
      values['json'] === true
        ? JSON.stringify(report, null, 2)
        : `${agent.name} (${agent.id}): its turn is being stopped; its task stays open.`,
    );
    return 0;
  },
};

/** Somebody follows the agents' turns: what the store says of them is so. */
async function isWatched(store: Store): Promise<boolean> {
  const owner = store.owner();
  return owner?.state === 'held' && (await judgeOwner(owner.identity)) === 'alive';
}

/**
 * @throws HostError `not_found` where no turn runs or its process is gone, `host_unavailable` for a place
 * that another host opened, and what the host's interrupt throws.
 */
async function interruptAgent(agent: AgentRecord & { name: string; isWatched: boolean }) {
  const { name, state, place } = agent;
  const data = { agentId: agent.id, state };
  if (place === undefined) {
    throw new HostError('not_found', `${name} has no process yet.`, { data });
  }
  // Where nobody has the session, a turn may have begun since: an agent at rest takes it without harm.
  if (agent.isWatched && state !== 'working' && state !== 'blocked' && state !== 'unknown') {
    throw new HostError('not_found', `${name} is ${state}: no turn of it runs.`, { data });
  }
  const host = createHosts('process');
  try {
    const { presence } = await host.inspect(place);
    if (presence === 'dead' || presence === 'gone') {
      throw new HostError('not_found', `The process of ${name} is ${presence}.`, { data });
    }
    await host.interrupt(place);
  } finally {
    host.dispose();
  }
}
