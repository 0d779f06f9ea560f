/** Opens the runtime for a Pi session: what Pi knows becomes the runtime's options. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { createShepherd } from '../runtime/create-shepherd.ts';
import { findSession, stateDirOf } from '../runtime/session-dir.ts';
import { readSettings, settingsFiles, toDurations } from '../settings.ts';
import type { OpenShepherd } from './parent/session.ts';

/** The herd of a Pi session is found again by that session's id. */
export const openShepherd: OpenShepherd = ({ ctx, sessionName, adopt, notify }) => {
  const agentDir = piAgentDir();
  const { settings, problems, sources } = readSettings(settingsFiles({ agentDir, cwd: ctx.cwd }));
  for (const { message } of problems) ctx.ui.notify(message, 'warning');
  const { replyTimeoutMs, taskTimeoutMs, staleAfterMs, orphanGraceMs, retentionMs } =
    toDurations(settings);
  return createShepherd({
    cwd: ctx.cwd,
    sessionKey: ctx.sessionManager.getSessionId(),
    canReturn: ctx.sessionManager.getSessionFile() !== undefined,
    sessionName,
    adopt,
    notify,
    model: () => (ctx.model === undefined ? null : `${ctx.model.provider}/${ctx.model.id}`),
    agentDir,
    // Its default leaves a project's own agents out; asking before they are used is not built yet.
    ...(sources.agentScope === 'default' ? {} : { agentScope: settings.agentScope }),
    includeBundledAgents: settings.includeBundledAgents,
    orphanGraceMs,
    fieldnotes: settings.fieldnotes,
    retention: { keep: settings.retention.finishedTasks, keepMs: retentionMs },
    policy: { replyTimeoutMs, taskTimeoutMs, staleAfterMs, doneNudges: settings.doneNudges },
  });
};

/** Whether the agents are to outlive a quit, by the settings of this moment. */
export const staysOpen = (ctx: ExtensionContext): boolean =>
  readSettings(settingsFiles({ agentDir: piAgentDir(), cwd: ctx.cwd })).settings.stayOpen;

/** Whether this Pi session has a herd from before: it is taken up at once, not at the first tool call. */
export const hasHerd = (ctx: ExtensionContext): boolean =>
  findSession(stateDirOf(ctx.cwd), ctx.sessionManager.getSessionId()) !== undefined;

/** Pi's `getAgentDir`, not imported: loading all of Pi a second time takes 1.5 s. */
function piAgentDir(): string {
  const dir = process.env['PI_CODING_AGENT_DIR'] ?? '';
  if (dir === '') return join(homedir(), '.pi', 'agent');
  return /^~(?=$|[/\\])/.test(dir) ? join(homedir(), dir.slice(1)) : dir;
}
