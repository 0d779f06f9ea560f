/** Ties a delivery to the events of the Pi session that an extension lives in. */
import type {
  AgentActivityOutcome,
  ExtensionAPI,
  ExtensionContext,
} from '@earendil-works/pi-coding-agent';
import { createDelivery, type Delivery } from './delivery.ts';

/**
 * Registers the hooks of one delivery and returns it.
 *
 * @param isKept whether the session's entries would outlive a crash. Default: they need not.
 *
 * What is delivered before `session_start` waits for it; `session_shutdown` disposes the delivery.
 * Call it before other handlers of these events are registered, so that it has confirmed first.
 */
export function registerDelivery(
  pi: ExtensionAPI,
  isKept: (ctx: ExtensionContext) => boolean = () => true,
): Delivery {
  let context: ExtensionContext | undefined;
  const delivery = createDelivery({
    send: (message, options) => pi.sendMessage(message, options),
    entries: () => context?.sessionManager.getEntries() ?? [],
    isKept: () => context === undefined || isKept(context),
    isIdle: () => context?.isIdle() ?? false,
  });
  // Pi stores and settles right after its handlers have returned.
  const reviewSoon = (): void => {
    setImmediate(() => delivery.review());
  };

  pi.on('session_start', (_event, ctx) => {
    context = ctx;
    delivery.review();
  });
  pi.on('input', () => delivery.promptExpected());
  pi.on('turn_start', () => delivery.review());
  pi.on('message_end', ({ message }) => {
    if (message.role === 'custom') reviewSoon();
    if (message.role !== 'assistant') return;
    if (message.stopReason !== 'error' && message.stopReason !== 'aborted') {
      delivery.modelAnswered();
    }
  });
  pi.on('turn_end', ({ outcome }, ctx) =>
    delivery.turnEnded(actualOutcome(outcome, ctx)) ? { continue: true } : undefined,
  );
  pi.on('agent_before_settle', ({ outcome }, ctx) =>
    delivery.beforeSettle(actualOutcome(outcome, ctx)) ? { continue: true } : undefined,
  );
  pi.on('agent_settled', ({ aborted }) => {
    // An abort is often the first step of a shutdown, in which a new turn must not start: what
    // waits is left to the sweep.
    if (!aborted) reviewSoon();
  });
  pi.on('session_compact', reviewSoon);
  pi.on('session_compact_failed', reviewSoon);
  pi.on('session_shutdown', () => {
    delivery.dispose();
    context = undefined;
  });
  return delivery;
}

/** A turn whose tools were aborted still ends as `completed`, although no request will follow. */
function actualOutcome(
  outcome: AgentActivityOutcome,
  ctx: Pick<ExtensionContext, 'signal'>,
): AgentActivityOutcome {
  return ctx.signal?.aborted === true ? 'aborted' : outcome;
}
