/** A child's call that the Shepherd may refuse: publish, then wait a little for the verdict. */
import { MailboxError } from '../../errors.ts';
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import type { EnvelopeDraft } from '../../mailbox/envelope.ts';

/** After this the call is answered `delivery: "queued"` (CONTRACT §7). */
const verdictWithinMs = 2_000;

export interface Answer {
  readonly messageId: string;
  /** What the verdict says; undefined when none came in time. */
  readonly data: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Sends an envelope and returns the verdict's data, or none when it takes too long.
 *
 * @throws Error `code: message` of a refusal; MailboxError `broker_unavailable` without a mailbox,
 * and what sending throws.
 */
export async function askShepherd(
  mailbox: ChildMailbox | undefined,
  draft: EnvelopeDraft,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  if (mailbox === undefined) {
    throw new MailboxError('broker_unavailable', 'This session has no mailbox any more.');
  }
  const { messageId, verdict } = await mailbox.ask(draft, {
    timeoutMs: verdictWithinMs,
    ...(signal === undefined ? {} : { signal }),
  });
  if (verdict?.ok === false) {
    // A plain error: its code is the Shepherd's, and may be one that this version does not know.
    throw new Error(`${verdict.code ?? 'refused'}: ${verdict.error ?? 'The Shepherd refused it.'}`);
  }
  return { messageId, data: verdict === undefined ? undefined : (verdict.data ?? {}) };
}
