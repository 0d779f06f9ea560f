/** `adopt`: takes up the herd that another Pi session left behind. */
import { basename } from 'node:path';
import { ConfigError } from '../../../errors.ts';
import { listSessions } from '../../../runtime/sessions.ts';
import { stateDirOf } from '../../../settings/places.ts';
import { liveAgents } from '../../render/herd-rows.ts';
import { findHerd, refuseTaken } from '../adopt.ts';
import { required, type Verb } from './verb.ts';

export const adopt: Verb = {
  name: 'adopt',
  takes: '<session>',
  summary: 'takes up the herd that another Pi session left behind',
  async complete({ ctx }) {
    if (ctx === undefined) return [];
    return (await listSessions(stateDirOf(ctx.cwd))).map(({ name }) => name);
  },
  async run({ rest, herd, ctx }) {
    const wanted = required(adopt, rest);
    const running = await herd.running();
    const found = await findHerd(ctx, wanted);
    if (running !== undefined && basename(running.sessionDir) === found.name) {
      return `This Pi session has ${found.name} already; there is nothing to adopt.`;
    }
    if (liveAgents(running?.agents() ?? []).length > 0) {
      throw new ConfigError(
        'invalid_argument',
        'This Pi session has agents of its own; close them first.',
      );
    }
    refuseTaken(found);
    await herd.takeUp(ctx, found.name);
    await running?.release();
    return `Adopted ${found.name} with ${found.liveAgents} agents.`;
  },
};
