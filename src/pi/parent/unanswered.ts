/**
 * A Pi that was killed while its model thought about something of ours: woken once more.
 *
 * What was delivered is not delivered again, so a herd would stop there with nobody at the keyboard.
 * An answer that was aborted or failed is one: whoever was there has seen it.
 */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { customMessageDetails, type Delivery } from '../delivery.ts';

/** Wakes the model when the session ends with a message of ours that nothing has answered. */
export function repeatUnanswered(
  ctx: Pick<ExtensionContext, 'sessionManager'>,
  delivery: Pick<Delivery, 'deliver'>,
): void {
  const details = customMessageDetails(lastMessage(ctx.sessionManager.getBranch()));
  const { id, isWaking } = details ?? {};
  if (typeof id !== 'string' || isWaking !== true) return;
  delivery
    .deliver({
      id: `${id}.again`,
      customType: 'shepherd.notice',
      text: 'This session ended before you could act on the message above. Act on it now.',
      details: {},
      wake: true,
      deliverAs: 'followUp',
    })
    // A session that ends first is asked again when it is opened the next time.
    .catch(() => undefined);
}

/** The last entry that the model reads, skipping what only the session keeps. */
function lastMessage(entries: readonly { readonly type: string }[]): unknown {
  return entries.findLast(({ type }) => type === 'message' || type === 'custom_message');
}
