/** A child agent in the test's own process: what a Pi session with our extension says and hears. */
import { createIdMaker } from '../../src/ids.ts';
import { readIdentity, type Identity } from '../../src/mailbox/capability.ts';
import { createChildMailbox, type ChildMailbox } from '../../src/mailbox/child-mailbox.ts';
import type {
  Envelope,
  EnvelopeDraft,
  EnvelopeKind,
  EnvelopeOf,
} from '../../src/mailbox/envelope.ts';

type DoneStatus = EnvelopeOf<'task_done'>['status'];

/** The answer to a call: the verdict, with its data at hand. */
export interface Answer {
  readonly messageId: string;
  readonly ok: boolean;
  readonly code: string | undefined;
  readonly error: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface SayOptions {
  readonly taskId?: string;
  readonly replyTo?: string;
  readonly expectsReply?: boolean;
  readonly threadId?: string;
  readonly causeId?: string;
  readonly messageId?: string;
}

export interface DoneOptions {
  readonly taskId?: string;
  readonly summary?: string;
  readonly content?: string;
  readonly override?: string;
  readonly messageId?: string;
}

export type TurnOptions = Partial<
  Pick<EnvelopeOf<'runtime'>, 'error' | 'content' | 'taskId' | 'aborted'>
>;

export interface TestChild {
  readonly id: string;
  readonly identity: Identity;
  readonly mailbox: ChildMailbox;
  /** Everything but awaited verdicts, in the order of arrival; acked. */
  readonly received: readonly Envelope[];
  hello(tools?: readonly string[]): void;
  turn(event: EnvelopeOf<'runtime'>['event'], more?: TurnOptions): void;
  /** Says something, asks (`expectsReply`) or answers (`replyTo`), and waits for the verdict. */
  say(target: string, content: string, options?: SayOptions): Promise<Answer>;
  done(status: DoneStatus, options?: DoneOptions): Promise<Answer>;
  roster(): Promise<Answer>;
  /** Publishes without waiting for the verdict. */
  send(draft: EnvelopeDraft, messageId?: string): string;
  /** Resolves with the first envelope of this kind that is or will be received. */
  receives<K extends EnvelopeKind>(
    kind: K,
    which?: (envelope: EnvelopeOf<K>) => boolean,
  ): Promise<EnvelopeOf<K>>;
  /** Reads and writes no more, as a process that has ended. */
  leave(): void;
}

/** Starts the child that an identity file belongs to; it has not said hello yet. */
export function startChild(identityPath: string, now: () => number): TestChild {
  const identity = readIdentity(identityPath);
  const mailbox = createChildMailbox(identity, { now, ids: createIdMaker() });
  const received: Envelope[] = [];
  const waiting = new Set<() => void>();

  mailbox.receive((envelope) => {
    received.push(envelope);
    mailbox.ack(envelope.messageId);
    for (const look of waiting) look();
  });

  async function ask(draft: EnvelopeDraft, messageId?: string): Promise<Answer> {
    const asked = await mailbox.ask(draft, { messageId, timeoutMs: 20_000 });
    const { verdict } = asked;
    if (verdict === undefined) throw new Error(`no verdict on ${draft.kind}`);
    const { ok, code, error, data = {} } = verdict;
    return { messageId: asked.messageId, ok, code, error, data };
  }

  return {
    id: identity.agentId,
    identity,
    mailbox,
    received,
    hello(tools = ['shepherd_message', 'shepherd_done']) {
      mailbox.send({ kind: 'hello', targetId: 'shepherd', pid: process.pid, tools: [...tools] });
    },
    turn(event, more = {}) {
      mailbox.send({ kind: 'runtime', targetId: 'shepherd', event, ...more });
    },
    say(target, content, { replyTo, messageId, ...options } = {}) {
      const said = { targetId: target, content, delivery: 'followUp' as const, ...options };
      return ask(
        replyTo === undefined ? { kind: 'message', ...said } : { kind: 'reply', replyTo, ...said },
        messageId,
      );
    },
    done(status, { messageId, ...options } = {}) {
      return ask({ kind: 'task_done', targetId: 'shepherd', status, ...options }, messageId);
    },
    roster: () => ask({ kind: 'roster', targetId: 'shepherd' }),
    send: (draft, messageId) => mailbox.send(draft, { messageId }),
    receives(kind, which = () => true) {
      return new Promise((resolve) => {
        const look = (): void => {
          for (const envelope of received) {
            if (envelope.kind !== kind) continue;
            if (!which(envelope as EnvelopeOf<typeof kind>)) continue;
            waiting.delete(look);
            resolve(envelope as EnvelopeOf<typeof kind>);
            return;
          }
        };
        waiting.add(look);
        look();
      });
    },
    leave: () => mailbox.dispose(),
  };
}
