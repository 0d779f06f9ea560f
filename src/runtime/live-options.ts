/** What may change while a session is open. */
import type { AgentScope } from '../agents/catalog.ts';
import type { Limits } from '../mailbox/limits.ts';
import type { Policy, Retention } from './policy.ts';

/** Rules that a session can be given anew; what a child goes by is fixed when the session opens. */
export type LivePolicy = Omit<Policy, keyof Limits | 'fieldnotes'>;

/** Each is left as it is when it is absent. */
export interface LiveOptions {
  /** Counts for what begins from now on; `staleAfterMs` also for waits that nobody was reminded of. */
  readonly policy?: Partial<LivePolicy> | undefined;
  readonly retention?: Partial<Retention> | undefined;
  readonly agentScope?: AgentScope | undefined;
  readonly includeBundledAgents?: boolean | undefined;
  readonly confirmProjectAgents?: boolean | undefined;
}
