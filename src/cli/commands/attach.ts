/** `sheepfold attach`: shows an agent's own terminal, or says how to. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConfigError, HostError } from '../../errors.ts';
import { createTmuxClient, socketOf } from '../../hosts/tmux/client.ts';
import { findPane } from '../../hosts/tmux/host.ts';
import { nameOf } from '../../runtime/router.ts';
import { findAgent } from '../agents.ts';
import type { Command } from '../command.ts';
import { chooseSession, namedStateDir, readSession, sessionOptions, textOf } from '../sessions.ts';

export const attach: Command = {
  summary:
    'shows the terminal of an agent that runs in tmux; without a terminal prints the command',
  options: { ...sessionOptions, print: { type: 'boolean' } },
  positionals: '<agent>',
  async run({ values, positionals, out, columns }) {
    const [target, ...more] = positionals;
    if (target === undefined || more.length > 0) {
      throw new ConfigError(
        'invalid_argument',
        'sheepfold attach takes one agent: an id or a name.',
      );
    }
    const session = chooseSession(namedStateDir(values), textOf(values, 'session'));
    const { place, name } = await readSession(session, (store) => {
      const agent = findAgent(store, target);
      return { place: agent.place, name: nameOf(store, agent.id) };
    });
    if (place?.host !== 'tmux') {
      throw new HostError(
        'not_found',
        place?.host === 'herdr'
          ? `${name} runs in Herdr: look for the tab that is called like it.`
          : `${name} has no terminal: it runs on ${place?.host ?? 'no host yet'}. Look at it with shepherd_read, or set host to tmux.`,
      );
    }
    const socket = socketOf(place.launchDir);
    const pane = await findPane(createTmuxClient(socket), place.launchId);
    // A pane as a target shows its window, whichever session has it.
    const command = ['tmux', '-L', socket, 'attach', '-t', pane] as const;
    if (values['json'] === true) {
      out(JSON.stringify({ agent: name, command }, null, 2));
      return 0;
    }
    if (columns === undefined || values['print'] === true) {
      out(command.map(quoted).join(' '));
      return 0;
    }
    const [program, ...args] = command;
    const tmux = spawn(program, args, { stdio: 'inherit' });
    await once(tmux, 'exit');
    return tmux.exitCode ?? 1;
  },
};

const quoted = (word: string): string => (/^[\w./:=-]+$/.test(word) ? word : `'${word}'`);
