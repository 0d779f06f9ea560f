/**
 * The Shepherd's side in a Pi session: opens the runtime when it is first needed, closes it with the
 * session, and registers the tools that drive it.
 *
 * A quit closes the herd, unless the setting `stayOpen` keeps it. Every other end of the session (reload, new, resume, fork) lets go of it with
 * its children running, and whoever opens that session again goes on with it.
 *
 * Seams for later: the status widget, the rest of `/shepherd` and more tools.
 */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { ExtensionAPI, ExtensionContext } from '@earendil-works/pi-coding-agent';
import { ConfigError, describeError } from '../../errors.ts';
import type { AgentState, Notice, Shepherd } from '../../runtime/shepherd.ts';
import { registerDelivery } from '../delivery-hooks.ts';
import { registerNoticeRenderers } from '../render/notice.ts';
import { createCancelTool } from '../tools/cancel.ts';
import { createCloseTool } from '../tools/close.ts';
import { createDelegateTool } from '../tools/delegate.ts';
import { createMessageTool } from '../tools/message.ts';
import { createSpawnTool } from '../tools/spawn.ts';
import { createStatusTool } from '../tools/status.ts';
import { createWatchTool } from '../tools/watch.ts';
import { findHerd, lookForHerds, refuseTaken } from './adopt.ts';
import { repeatUnanswered } from './unanswered.ts';
import { showHerd } from './widget.ts';

/** What the Pi session gives the runtime. */
export interface OpenShepherdOptions {
  readonly ctx: ExtensionContext;
  readonly sessionName: string;
  /** Name of the session to take up in place of the one that this Pi session has. */
  readonly adopt: string | undefined;
  /** Resolves once the session has the notice; rejects when Pi would not take it. */
  readonly notify: (notice: Notice) => Promise<void>;
}
export type OpenShepherd = (options: OpenShepherdOptions) => Promise<Shepherd>;

/** What a Pi session does with herds that outlive it. */
export interface HerdPolicy {
  /** Whether this session has one from before. */
  readonly hasHerd: (ctx: ExtensionContext) => boolean;
  /** Whether a quit keeps it. */
  readonly staysOpen: (ctx: ExtensionContext) => boolean;
}

/** Nothing to wait for in a session without a file. */
function isOnDisk({ sessionManager }: ExtensionContext): boolean {
  const path = sessionManager.getSessionFile();
  return path === undefined || existsSync(path);
}

const newHerds: HerdPolicy = { hasHerd: () => false, staysOpen: () => false };

const endStates: ReadonlySet<AgentState> = new Set(['closed', 'failed', 'lost']);

/** Registers everything that makes a Pi session the Shepherd. */
export function registerParent(
  pi: ExtensionAPI,
  openShepherd: OpenShepherd,
  { hasHerd, staysOpen }: HerdPolicy = newHerds,
): void {
  const delivery = registerDelivery(pi, isOnDisk);
  let opened: Promise<Shepherd> | undefined;
  /** Settles once it is known which herd this session has; nothing opens one before. */
  let begun: Promise<void> = Promise.resolve();

  let hideHerd: (() => void) | undefined;

  /** Notices that the model has had, and the runtime has not heard of. */
  const seenIds: string[] = [];

  async function notify(notice: Notice, ctx: ExtensionContext): Promise<void> {
    const { id, kind: customType, text, details, wake, deliverAs } = notice;
    await delivery.deliver({ id, customType, text, details, wake, deliverAs });
    noteSeen(id).catch((error: unknown) => {
      ctx.ui.notify(describeError(error), 'error');
    });
  }

  /** Those that one answer of the model had before it are noted in one call. */
  async function noteSeen(noticeId: string): Promise<void> {
    if (!(await delivery.seen(noticeId)) || seenIds.push(noticeId) > 1) return;
    const running = await opened?.catch(() => undefined);
    const ids = seenIds.splice(0);
    running?.seen(ids);
  }

  /** One runtime a session: calls that come at the same time share it; a failed start is tried anew. */
  function open(ctx: ExtensionContext): Promise<Shepherd> {
    return (opened ??= start(ctx));
  }

  function start(ctx: ExtensionContext, adopt?: string): Promise<Shepherd> {
    const opening = openShepherd({
      ctx,
      sessionName: pi.getSessionName() ?? 'shepherd',
      adopt,
      notify: (notice) => notify(notice, ctx),
    });
    opening.then(
      (running) => {
        if (opened === opening) hideHerd = showHerd(ctx, running);
        return running;
      },
      () => {
        if (opened === opening) opened = undefined;
        return undefined;
      },
    );
    return opening;
  }

  async function shepherd(ctx: ExtensionContext): Promise<Shepherd> {
    await begun;
    return open(ctx);
  }

  for (const createTool of [
    createSpawnTool,
    createDelegateTool,
    createMessageTool,
    createWatchTool,
    createStatusTool,
    createCancelTool,
    createCloseTool,
  ]) {
    pi.registerTool(createTool(shepherd));
  }
  registerNoticeRenderers(pi);

  /** Takes up this session's own herd, and looks for others that were left behind. */
  async function begin(ctx: ExtensionContext): Promise<void> {
    const hasOwn = hasHerd(ctx);
    const orphan = await lookForHerds(ctx, hasOwn);
    if (orphan !== undefined) await takeUp(ctx, orphan);
    else if (hasOwn) await open(ctx);
  }

  /** Opens another herd in place of the one there is, which stays when that fails. */
  async function takeUp(ctx: ExtensionContext, name: string): Promise<void> {
    const before = opened;
    const hideBefore = hideHerd;
    hideHerd = undefined;
    const opening = start(ctx, name);
    opened = opening;
    try {
      await opening;
      hideBefore?.();
    } catch (error) {
      opened ??= before;
      hideHerd ??= hideBefore;
      throw error;
    }
  }

  pi.registerCommand('shepherd', {
    description: 'adopt <session>: takes up the herd that another Pi session left behind',
    async handler(args, ctx) {
      try {
        const [verb, wanted = ''] = args.trim().split(/\s+/);
        if (verb !== 'adopt') {
          throw new ConfigError('invalid_argument', 'Usage: /shepherd adopt <session>');
        }
        await begun;
        const running = await opened?.catch(() => undefined);
        const herd = await findHerd(ctx, wanted);
        if (running !== undefined && basename(running.sessionDir) === herd.name) {
          ctx.ui.notify(`This Pi session has ${herd.name} already; there is nothing to adopt.`);
          return;
        }
        if (running?.agents().some(({ state }) => !endStates.has(state)) === true) {
          throw new ConfigError(
            'invalid_argument',
            'This Pi session has agents of its own; close them first.',
          );
        }
        refuseTaken(herd);
        await takeUp(ctx, herd.name);
        await running?.release();
        ctx.ui.notify(`Adopted ${herd.name} with ${herd.liveAgents} agents.`);
      } catch (error) {
        ctx.ui.notify(describeError(error), 'error');
      }
    },
  });
  pi.on('session_start', (_event, ctx) => {
    begun = begin(ctx).catch((error: unknown) => {
      ctx.ui.notify(describeError(error), 'error');
    });
    repeatUnanswered(ctx, delivery);
  });
  pi.on('session_shutdown', async ({ reason }, ctx) => {
    await begun;
    const closing = opened;
    opened = undefined;
    hideHerd?.();
    // A runtime that never opened has nothing to close; its caller has the error.
    await closing?.then(
      (running) => {
        if (reason !== 'quit') return running.release();
        return staysOpen(ctx) ? running.release({ stayOpen: true }) : running.dispose();
      },
      () => undefined,
    );
  });
}
