/**
 * The runtime of one Pi session: opened when it is first needed, closed with the session.
 *
 * HS1. One runtime a session: calls that come at the same time share it; a failed start is tried anew.
 * HS2. Nothing opens one before it is known which herd this session has.
 * HS3. A quit closes the herd, unless the setting `stayOpen` keeps it. Every other end of the session
 *      (reload, new, resume, fork) lets go of it with its children running, for whoever opens that
 *      session again.
 */
import type { ExtensionAPI, ExtensionContext } from '@earendil-works/pi-coding-agent';
import { describeError } from '../../errors.ts';
import type { HostChoice } from '../../hosts/choose.ts';
import type { DefinitionsView, Notice, Shepherd } from '../../runtime/shepherd.ts';
import type { LiveSettings } from '../../settings/live.ts';
import { plain } from '../render/text.ts';
import { lookForHerds } from './adopt.ts';
import type { ParentNotices } from './notices.ts';
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

/** How a Pi session comes to its herd, and what it does with it. */
export interface HerdPolicy {
  readonly open: (options: OpenShepherdOptions) => Promise<Shepherd>;
  /** Whether this session has a herd from before: it is taken up at once, not at the first tool call. */
  readonly hasHerd?: ((ctx: ExtensionContext) => boolean) | undefined;
  /** Whether a quit keeps it. */
  readonly staysOpen?: ((ctx: ExtensionContext) => boolean) | undefined;
  /** Has a running herd follow the settings; returns the stop. */
  readonly lead?: ((running: Shepherd, ctx: ExtensionContext) => () => void) | undefined;
  readonly settingsOf?: ((ctx: Pick<ExtensionContext, 'cwd'>) => LiveSettings) | undefined;
  /** Where the herd that was opened there starts its agents, and why. */
  readonly hostOf?: ((ctx: Pick<ExtensionContext, 'cwd'>) => HostChoice | undefined) | undefined;
  /** The agent definitions that count there, while no herd is open to ask. */
  readonly definitions?: ((ctx: Pick<ExtensionContext, 'cwd'>) => DefinitionsView) | undefined;
}

export interface SessionHerd {
  /** The runtime, opened if there is none yet. */
  open(ctx: ExtensionContext): Promise<Shepherd>;
  /** The runtime if there is one. */
  running(): Promise<Shepherd | undefined>;
  /** The runtime if it is open by now; waits for nothing. */
  atHand(): Shepherd | undefined;
  /** Opens another herd in place of the one there is, which stays when that fails. */
  takeUp(ctx: ExtensionContext, name: string): Promise<void>;
  /** Takes up this session's own herd, and looks for others that were left behind. */
  begin(ctx: ExtensionContext): void;
  end(ctx: ExtensionContext, reason: string): Promise<void>;
}

/** Creates what holds the runtime of one Pi session; opens nothing yet. */
export function createSessionHerd(
  pi: Pick<ExtensionAPI, 'getSessionName'>,
  { policy, notices }: { readonly policy: HerdPolicy; readonly notices: ParentNotices },
): SessionHerd {
  let opened: Promise<Shepherd> | undefined;
  let atHand: Shepherd | undefined;
  /** Settles once it is known which herd this session has. */
  let begun: Promise<void> = Promise.resolve();
  /** Ends what shows the herd and leads it. */
  let letGo: (() => void) | undefined;

  const current = async (): Promise<Shepherd | undefined> => opened?.catch(() => undefined);

  function start(ctx: ExtensionContext, adopt?: string): Promise<Shepherd> {
    const opening = policy.open({
      ctx,
      sessionName: pi.getSessionName() ?? 'shepherd',
      adopt,
      notify: (notice) => notices.show(notice, { ctx, running: current }),
    });
    void attendOnce(opening, ctx);
    return opening;
  }

  async function attendOnce(opening: Promise<Shepherd>, ctx: ExtensionContext): Promise<void> {
    try {
      const running = await opening;
      if (opened !== opening) return;
      atHand = running;
      letGo = attend(running, ctx);
    } catch {
      // Its caller has the error; the next one tries anew.
      if (opened === opening) opened = undefined;
    }
  }

  function attend(running: Shepherd, ctx: ExtensionContext): () => void {
    const hide = showHerd(ctx, running, {
      hasSheep: () => policy.settingsOf?.(ctx).read().settings.emojiSheep ?? true,
    });
    const stopLeading = policy.lead?.(running, ctx);
    return () => {
      hide();
      stopLeading?.();
    };
  }

  async function lookAround(ctx: ExtensionContext): Promise<void> {
    tellProblems(ctx);
    const hasOwn = policy.hasHerd?.(ctx) ?? false;
    const orphan = await lookForHerds(ctx, hasOwn);
    if (orphan !== undefined) await herd.takeUp(ctx, orphan);
    else if (hasOwn) await (opened ??= start(ctx));
  }

  /** Of the settings: once a session, so that nobody is told the same thing with each change. */
  function tellProblems(ctx: ExtensionContext): void {
    for (const { message } of policy.settingsOf?.(ctx).read().problems ?? []) {
      ctx.ui.notify(plain(message), 'warning');
    }
  }

  const herd: SessionHerd = {
    async open(ctx) {
      await begun;
      return (opened ??= start(ctx));
    },
    async running() {
      await begun;
      return current();
    },
    atHand: () => atHand,
    async takeUp(ctx, name) {
      const before = opened;
      const letGoBefore = letGo;
      letGo = undefined;
      const opening = start(ctx, name);
      opened = opening;
      try {
        await opening;
        letGoBefore?.();
      } catch (error) {
        opened ??= before;
        letGo ??= letGoBefore;
        throw error;
      }
    },
    begin(ctx) {
      begun = lookAround(ctx).catch((error: unknown) => {
        ctx.ui.notify(plain(describeError(error)), 'error');
      });
    },
    async end(ctx, reason) {
      await begun;
      const running = await current();
      opened = undefined;
      atHand = undefined;
      letGo?.();
      letGo = undefined;
      // A runtime that never opened has nothing to close; its caller has the error.
      if (running === undefined) return;
      if (reason !== 'quit') await running.release();
      else if (policy.staysOpen?.(ctx) === true) await running.release({ stayOpen: true });
      else await running.dispose();
    },
  };
  return herd;
}
