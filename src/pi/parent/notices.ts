/** Brings the runtime's notices into the Pi session, and tells the runtime which the model has had. */
import type { ExtensionAPI, ExtensionContext } from '@earendil-works/pi-coding-agent';
import { existsSync } from 'node:fs';
import { describeError } from '../../errors.ts';
import type { Notice, Shepherd } from '../../runtime/shepherd.ts';
import { registerDelivery } from '../delivery-hooks.ts';
import { repeatUnanswered } from './unanswered.ts';

export interface ParentNotices {
  /**
   * Resolves once the session has the notice; rejects when Pi would not take it.
   *
   * @param running the runtime that it is from, as soon as there is one.
   */
  show(
    notice: Notice,
    from: {
      readonly ctx: ExtensionContext;
      readonly running: () => Promise<Shepherd | undefined>;
    },
  ): Promise<void>;
  /** Wakes the model again when it was killed before it could act on the last one. */
  repeatUnanswered(ctx: ExtensionContext): void;
}

/** Nothing to wait for in a session without a file. */
function isOnDisk({ sessionManager }: ExtensionContext): boolean {
  const path = sessionManager.getSessionFile();
  return path === undefined || existsSync(path);
}

/** Registers the hooks of one delivery; before any other handler of the same events. */
export function registerNotices(pi: ExtensionAPI): ParentNotices {
  const delivery = registerDelivery(pi, isOnDisk);
  /** Notices that the model has had, and the runtime has not heard of. */
  const seenIds: string[] = [];

  /** Those that one answer of the model had before it are noted in one call. */
  async function noteSeen(
    noticeId: string,
    running: () => Promise<Shepherd | undefined>,
  ): Promise<void> {
    if (!(await delivery.seen(noticeId)) || seenIds.push(noticeId) > 1) return;
    const shepherd = await running();
    const ids = seenIds.splice(0);
    shepherd?.seen(ids);
  }

  return {
    async show({ id, kind: customType, text, details, wake, deliverAs }, { ctx, running }) {
      await delivery.deliver({ id, customType, text, details, wake, deliverAs });
      noteSeen(id, running).catch((error: unknown) => {
        ctx.ui.notify(describeError(error), 'error');
      });
    },
    repeatUnanswered: (ctx) => repeatUnanswered(ctx, delivery),
  };
}
