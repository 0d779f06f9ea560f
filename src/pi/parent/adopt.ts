/**
 * Herds that another Pi session left behind in this project: told of once, adopted on request.
 *
 * One is taken up by itself only when its owner is dead and had no session file to come back by.
 */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { ConfigError } from '../../errors.ts';
import { findSession } from '../../runtime/session-dir.ts';
import { listSessions, type SessionSummary } from '../../runtime/sessions.ts';
import { stateDirOf } from '../../settings/places.ts';

const keyOf = (ctx: ExtensionContext): string => ctx.sessionManager.getSessionId();

const isFree = ({ state }: SessionSummary): boolean => state !== 'alive' && state !== 'unknown';

/** Sessions with agents that may still run, that nobody has, and that are not this Pi session's own. */
async function leftBehind(ctx: ExtensionContext): Promise<readonly SessionSummary[]> {
  const stateDir = stateDirOf(ctx.cwd);
  // Not by its owner's key: who failed to open it has left its own there.
  const own = findSession(stateDir, keyOf(ctx));
  const sessions = await listSessions(stateDir);
  return sessions.filter(
    (session) => isFree(session) && session.runningAgents > 0 && session.name !== own,
  );
}

/** Looks for herds that were left behind; the name of one that this Pi session is to take up. */
export async function lookForHerds(
  ctx: ExtensionContext,
  hasOwn: boolean,
): Promise<string | undefined> {
  const found = await leftBehind(ctx);
  const orphan = found.find(({ state, owner }) => state === 'dead' && owner?.canReturn === false);
  if (orphan !== undefined && !hasOwn) return orphan.name;
  if (found.length > 0) {
    const names = found.map(({ name, liveAgents }) => `${name} (${liveAgents} agents)`).join(', ');
    ctx.ui.notify(`Left behind in this project: ${names}. /shepherd adopt <session> takes one up.`);
  }
  return undefined;
}

/**
 * Finds the session that is meant by its name or a beginning of it.
 *
 * @throws ConfigError `invalid_argument` naming what there is.
 */
export async function findHerd(ctx: ExtensionContext, wanted: string): Promise<SessionSummary> {
  const sessions = await listSessions(stateDirOf(ctx.cwd));
  const fits = sessions.filter(({ name }) => wanted !== '' && name.startsWith(wanted));
  const [session] = fits;
  if (session !== undefined && fits.length === 1) return session;
  const names = sessions.map(({ name }) => name).join(', ');
  throw new ConfigError(
    'invalid_argument',
    `"${wanted}" is ${fits.length === 0 ? 'no session' : 'more than one session'} here; there is ${names || 'none'}.`,
  );
}

/** @throws ConfigError `session_owned` while somebody has it. */
export function refuseTaken(session: SessionSummary): void {
  if (isFree(session)) return;
  throw new ConfigError('session_owned', `${session.name} is open in another process.`, {
    retryable: true,
  });
}
