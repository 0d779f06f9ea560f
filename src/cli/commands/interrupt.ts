/** `sheepfold interrupt`: stops the running turn of an agent, and keeps the agent and its task. */
import { ConfigError, HostError } from '../../errors.ts';
import { createHosts } from '../../hosts/hosts.ts';
import { nameOf } from '../../runtime/router.ts';
import type { Command } from '../command.ts';
import { findAgent } from '../agents.ts';
import { chooseSession, namedStateDir, readSession, sessionOptions, textOf } from '../sessions.ts';

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
    const agent = await readSession(place, (store) => {
      const found = findAgent(store, target);
      return { ...found, name: nameOf(store, found.id) };
    });
    if (agent.place === undefined) {
      throw new HostError('not_found', `${agent.name} has no process yet.`);
    }
    if (agent.state !== 'working' && agent.state !== 'blocked') {
      throw new HostError('not_found', `${agent.name} is ${agent.state}: no turn of it runs.`);
    }
    const host = createHosts('process');
    try {
      await host.interrupt(agent.place);
    } finally {
      host.dispose();
    }
    const report = { agentId: agent.id, agent: agent.name, interrupted: true };
    out(
      values['json'] === true
        ? JSON.stringify(report, null, 2)
        : `${agent.name} (${agent.id}): its turn is being stopped; its task stays open.`,
    );
    return 0;
  },
};
