/**
 * The Shepherd's side in a Pi session: opens the runtime when it is first needed, closes it with the
 * session, and registers the tools that drive it.
 *
 * A quit closes the herd. Every other end of the session (reload, new, resume, fork) lets go of it with
 * its children running, and whoever opens that session again goes on with it.
 *
 * Seams for later: the status widget, `/shepherd` and more tools.
 */
import type { ExtensionAPI, ExtensionContext } from '@earendil-works/pi-coding-agent';
import { describeError } from '../../errors.ts';
import type { Notice, Shepherd } from '../../runtime/shepherd.ts';
import { registerDelivery } from '../delivery-hooks.ts';
import { registerNoticeRenderers } from '../render/notice.ts';
import { createCloseTool } from '../tools/close.ts';
import { createDelegateTool } from '../tools/delegate.ts';
import { createMessageTool } from '../tools/message.ts';
import { createSpawnTool } from '../tools/spawn.ts';
import { createStatusTool } from '../tools/status.ts';
import { createWatchTool } from '../tools/watch.ts';

/** What the Pi session gives the runtime. */
export interface OpenShepherdOptions {
  readonly ctx: ExtensionContext;
  readonly sessionName: string;
  /** Resolves once the session has the notice; rejects when Pi would not take it. */
  readonly notify: (notice: Notice) => Promise<void>;
}
export type OpenShepherd = (options: OpenShepherdOptions) => Promise<Shepherd>;

/** Registers everything that makes a Pi session the Shepherd. */
export function registerParent(
  pi: ExtensionAPI,
  openShepherd: OpenShepherd,
  hasHerd: (ctx: ExtensionContext) => boolean = () => false,
): void {
  const delivery = registerDelivery(pi);
  let opened: Promise<Shepherd> | undefined;

  async function notify(notice: Notice): Promise<void> {
    const { id, kind: customType, text, details, wake, deliverAs } = notice;
    await delivery.deliver({ id, customType, text, details, wake, deliverAs });
  }

  /** One runtime a session: calls that come at the same time share it; a failed start is tried anew. */
  function shepherd(ctx: ExtensionContext): Promise<Shepherd> {
    const opening = (opened ??= openShepherd({
      ctx,
      sessionName: pi.getSessionName() ?? 'shepherd',
      notify,
    }));
    opening.catch(() => {
      if (opened === opening) opened = undefined;
    });
    return opening;
  }

  for (const createTool of [
    createSpawnTool,
    createDelegateTool,
    createMessageTool,
    createWatchTool,
    createStatusTool,
    createCloseTool,
  ]) {
    pi.registerTool(createTool(shepherd));
  }
  registerNoticeRenderers(pi);

  pi.on('session_start', (_event, ctx) => {
    if (!hasHerd(ctx)) return;
    shepherd(ctx).catch((error: unknown) => {
      ctx.ui.notify(describeError(error), 'error');
    });
  });
  pi.on('session_shutdown', async ({ reason }) => {
    const closing = opened;
    opened = undefined;
    // A runtime that never opened has nothing to close; its caller has the error.
    await closing?.then(
      (running) => (reason === 'quit' ? running.dispose() : running.release()),
      () => undefined,
    );
  });
}
