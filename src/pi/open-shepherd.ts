/** Opens the runtime for a Pi session: what Pi and the settings say becomes the runtime's options. */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { homedir } from 'node:os';
import { discoverAgents } from '../agents/catalog.ts';
import { chooseHost, type HostChoice } from '../hosts/choose.ts';
import { createHosts } from '../hosts/hosts.ts';
import { createShepherd } from '../runtime/create-shepherd.ts';
import { viewCatalog } from '../runtime/definitions.ts';
import type { LiveOptions } from '../runtime/live-options.ts';
import { findSession } from '../runtime/session-dir.ts';
import type { Shepherd } from '../runtime/shepherd.ts';
import { followSettings, type LiveSettings } from '../settings/live.ts';
import { agentDirOf, settingsFiles, stateDirOf } from '../settings/places.ts';
import type { ReadSettings } from '../settings/read.ts';
import { toDurations } from '../settings/settings.ts';
import { resolveStallPolicy } from '../stall/policy.ts';
import { findGit } from '../stall/probe.ts';
import { readWorkflowConfig } from '../stall/workflow-config.ts';
import { approveWith } from './parent/approval.ts';
import type { HerdPolicy } from './parent/herd-of-session.ts';

/** How long an agent is kept after its task, with the setting `keepOpen` off. */
const closeIdleAfterMs = 10_000;

/** What the settings say, and a project's `.devloops` of stalls, as the runtime takes it. */
function liveOptions({ settings, sources }: ReadSettings, root: string): LiveOptions {
  const { replyTimeoutMs, taskTimeoutMs, staleAfterMs, stallAfterMs, retentionMs } =
    toDurations(settings);
  const { recovery, thresholdMs } = resolveStallPolicy({
    recovery: { value: settings.stallRecovery, isGiven: sources.stallRecovery !== 'default' },
    thresholdMs: {
      value: stallAfterMs,
      isGiven: sources.stallThresholdMinutes !== 'default',
    },
    written: readWorkflowConfig(root).stallDetection,
  });
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
      stallAfterMs: recovery === 'off' ? null : thresholdMs,
      stallRecovery: recovery === 'auto' ? 'auto' : 'notify',
      maxFreshDispatches: settings.maxFreshDispatches,
      closeIdleAfterMs: settings.keepOpen || settings.stayOpen ? null : closeIdleAfterMs,
    },
  };
}

/** The herd of a Pi session: found again by that session's id, and led by the settings of the moment. */
export function createHerdPolicy(): HerdPolicy {
  const followed = new Map<string, LiveSettings>();
  /** Where a project's `.devloops` lies: at the top of its worktree. */
  const roots = new Map<string, string>();
  const hosts = new Map<string, HostChoice>();
  const rootOf = (cwd: string): string => roots.get(cwd) ?? cwd;

  function settingsOf({ cwd }: Pick<ExtensionContext, 'cwd'>): LiveSettings {
    const known = followed.get(cwd);
    if (known !== undefined) return known;
    const live = followSettings(settingsFiles({ agentDir: agentDirOf(), cwd }));
    followed.set(cwd, live);
    return live;
  }

  return {
    settingsOf,
    async open({ ctx, sessionName, adopt, notify }): Promise<Shepherd> {
      roots.set(ctx.cwd, (await findGit(ctx.cwd))?.root ?? ctx.cwd);
      const read = settingsOf(ctx).read();
      const { settings } = read;
      const host = chooseHost(settings.host, process.env);
      hosts.set(ctx.cwd, host);
      for (const { message } of readWorkflowConfig(rootOf(ctx.cwd)).problems) {
        ctx.ui.notify(message, 'warning');
      }
      return createShepherd({
        ...liveOptions(read, rootOf(ctx.cwd)),
        cwd: ctx.cwd,
        sessionKey: ctx.sessionManager.getSessionId(),
        canReturn: ctx.sessionManager.getSessionFile() !== undefined,
        sessionName,
        adopt,
        notify,
        model: () => (ctx.model === undefined ? null : `${ctx.model.provider}/${ctx.model.id}`),
        agentDir: agentDirOf(),
        host: createHosts(host.kind),
        approveAgent: approveWith(ctx),
        orphanGraceMs: toDurations(settings).orphanGraceMs,
        fieldnotes: settings.fieldnotes,
      });
    },
    lead: (running, ctx) =>
      settingsOf(ctx).onChange((now) => running.configure(liveOptions(now, rootOf(ctx.cwd)))),
    hostOf: ({ cwd }) => hosts.get(cwd),
    staysOpen: (ctx) => settingsOf(ctx).read().settings.stayOpen,
    definitions(ctx) {
      const { agentScope, includeBundledAgents } = settingsOf(ctx).read().settings;
      const catalog = discoverAgents({
        cwd: ctx.cwd,
        agentDir: agentDirOf(),
        homeDir: homedir(),
        scope: agentScope,
        includeBundled: includeBundledAgents,
      });
      return viewCatalog(catalog);
    },
    hasHerd: (ctx) =>
      findSession(stateDirOf(ctx.cwd), ctx.sessionManager.getSessionId()) !== undefined,
  };
}
