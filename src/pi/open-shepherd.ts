/** Opens the runtime for a Pi session: what Pi and the settings say becomes the runtime's options. */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { createShepherd } from '../runtime/create-shepherd.ts';
import type { LiveOptions } from '../runtime/live-options.ts';
import { findSession } from '../runtime/session-dir.ts';
import type { Shepherd } from '../runtime/shepherd.ts';
import { followSettings, type LiveSettings } from '../settings/live.ts';
import { agentDirOf, settingsFiles, stateDirOf } from '../settings/places.ts';
import { type Settings, toDurations } from '../settings/settings.ts';
import { approveWith } from './parent/approval.ts';
import type { HerdPolicy } from './parent/herd-of-session.ts';

/** How long an agent is kept after its task, with the setting `keepOpen` off. */
const closeIdleAfterMs = 10_000;

/** What the settings say, as the runtime takes it. */
function liveOptions(settings: Settings): LiveOptions {
  const { replyTimeoutMs, taskTimeoutMs, staleAfterMs, retentionMs } = toDurations(settings);
  const { doneNudges, agentScope, includeBundledAgents, confirmProjectAgents } = settings;
  return {
    agentScope,
    includeBundledAgents,
    confirmProjectAgents,
    retention: { keep: settings.retention.finishedTasks, keepMs: retentionMs },
    policy: {
      replyTimeoutMs,
      taskTimeoutMs,
      staleAfterMs,
      doneNudges,
      closeIdleAfterMs: settings.keepOpen || settings.stayOpen ? null : closeIdleAfterMs,
    },
  };
}

/** The herd of a Pi session: found again by that session's id, and led by the settings of the moment. */
export function createHerdPolicy(): HerdPolicy {
  const followed = new Map<string, LiveSettings>();

  function settingsOf({ cwd }: Pick<ExtensionContext, 'cwd'>): LiveSettings {
    const known = followed.get(cwd);
    if (known !== undefined) return known;
    const live = followSettings(settingsFiles({ agentDir: agentDirOf(), cwd }));
    followed.set(cwd, live);
    return live;
  }

  return {
    settingsOf,
    open({ ctx, sessionName, adopt, notify }): Promise<Shepherd> {
      const { settings } = settingsOf(ctx).read();
      return createShepherd({
        ...liveOptions(settings),
        cwd: ctx.cwd,
        sessionKey: ctx.sessionManager.getSessionId(),
        canReturn: ctx.sessionManager.getSessionFile() !== undefined,
        sessionName,
        adopt,
        notify,
        model: () => (ctx.model === undefined ? null : `${ctx.model.provider}/${ctx.model.id}`),
        agentDir: agentDirOf(),
        approveAgent: approveWith(ctx),
        orphanGraceMs: toDurations(settings).orphanGraceMs,
        fieldnotes: settings.fieldnotes,
      });
    },
    lead: (running, ctx) =>
      settingsOf(ctx).onChange(({ settings }) => running.configure(liveOptions(settings))),
    staysOpen: (ctx) => settingsOf(ctx).read().settings.stayOpen,
    hasHerd: (ctx) =>
      findSession(stateDirOf(ctx.cwd), ctx.sessionManager.getSessionId()) !== undefined,
  };
}
