/**
 * Herds that another Pi session left behind in this project: told of once, adopted on request.
 *
 * One is taken up by itself only when its owner is dead and had no session file to come back by.
 */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { ConfigError } from '../../errors.ts';
import { adoptSession, stateDirOf } from '../../runtime/session-dir.ts';
import { listSessions, type SessionSummary } from '../../runtime/sessions.ts';

const keyOf = (ctx: ExtensionContext): string => ctx.sessionManager.getSessionId();

const isFree = ({ state }: SessionSummary): boolean => state !== 'alive' && state !== 'unknown';

/** Sessions with agents that may still run, that nobody has, and that are not this Pi session's own. */
async function leftBehind(ctx: ExtensionContext): Promise<readonly SessionSummary[]> {
  const sessions = await listSessions(stateDirOf(ctx.cwd));
  return sessions.filter(
    (session) => isFree(session) && session.runningAgents > 0 && session.owner?.key !== keyOf(ctx),
  );
}

/** Looks for herds that were left behind; true when one was adopted for this Pi session. */
export async function lookForHerds(ctx: ExtensionContext, hasOwn: boolean): Promise<boolean> {
  const found = await leftBehind(ctx);
  const orphan = found.find(({ state, owner }) => state === 'dead' && owner?.canReturn === false);
  if (orphan !== undefined && !hasOwn) {
    adoptSession(stateDirOf(ctx.cwd), keyOf(ctx), orphan.name);
    return true;
  }
  if (found.length > 0) {
    const names = found.map(({ name, liveAgents }) => `${name} (${liveAgents} agents)`).join(', ');
    ctx.ui.notify(`Left behind in this project: ${names}. /shepherd adopt <session> takes one up.`);
  }
  return false;
}

/**
 * Has this Pi session mean the named session from now on.
 *
 * @throws ConfigError `invalid_argument` naming what there is, `session_owned` while somebody has it.
 */
export async function adopt(ctx: ExtensionContext, wanted: string): Promise<SessionSummary> {
  const stateDir = stateDirOf(ctx.cwd);
  const sessions = await listSessions(stateDir);
  const fits = sessions.filter(({ name }) => wanted !== '' && name.startsWith(wanted));
  const [session] = fits;
  if (session === undefined || fits.length > 1) {
    const names = sessions.map(({ name }) => name).join(', ');
    throw new ConfigError(
      'invalid_argument',
      `"${wanted}" is ${fits.length === 0 ? 'no session' : 'more than one session'} here; there is ${names || 'none'}.`,
    );
  }
  if (!isFree(session)) {
    throw new ConfigError('session_owned', `${session.name} is open in another process.`, {
      retryable: true,
    });
  }
  adoptSession(stateDir, keyOf(ctx), session.name);
  return session;
}
