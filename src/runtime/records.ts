/**
 * What a session remembers outside of its charts: one record for each thing with an id.
 *
 * The charts decide; a record is what they decided, together with the texts that a chart's context
 * must not hold. Records are plain data and are replaced, never changed in place.
 */
import type { AgentInput, TaskCause } from '../../machines/index.ts';
import type { AgentDefinition } from '../agents/definition.ts';
import type { HostErrorCode } from '../errors.ts';
import type { Placement, PlaceRef } from '../hosts/host.ts';
import type { Attachment, EnvelopeDraft, Evidence } from '../mailbox/envelope.ts';
import type { StallLine } from '../stall/log.ts';
import type { StallLook } from './stall-look.ts';
import type {
  AgentState,
  LateEvent,
  Notice,
  PromptResult,
  Receipt,
  RequestView,
  TaskResult,
  TaskState,
} from './shepherd.ts';

export interface AgentError {
  readonly code: HostErrorCode;
  readonly message: string;
}

export interface AgentRecord {
  readonly id: string;
  readonly definition: AgentDefinition;
  readonly label: string;
  readonly model: string | null;
  readonly cwd: string;
  readonly placement: Placement | undefined;
  readonly state: AgentState;
  readonly launch: AgentInput['launch'];
  /** Proves the incarnation's envelopes; lies in 0600 files only. */
  readonly secret: string;
  readonly createdAtMs: number;
  readonly endedAtMs?: number;
  readonly place?: PlaceRef;
  readonly pid?: number;
  /** What ended or hurt the agent. */
  readonly error?: AgentError;
  /** Counted by the child since its launch. */
  readonly evidence: Evidence;
  /** The task that this agent has or had last. */
  readonly taskId?: string;
  /** Tasks that wait for this agent's slot, oldest first. */
  readonly queue: readonly string[];
  /** It shows nothing since then, in epoch ms; while it counts as stalled. */
  readonly stalledSinceMs?: number;
  /** What was seen of it since. */
  readonly look?: StallLook;
  /** Its incarnations that were replaced: what they still say is refused. */
  readonly superseded?: readonly Superseded[];
  /** The last envelope that wakes it: what counts when it does not say the cause of one of its own. */
  readonly wakeId?: string;
}

export interface Superseded {
  readonly launch: number;
  readonly secret: string;
  readonly launchDir?: string;
}

export interface TaskRecord {
  readonly id: string;
  readonly agentId: string;
  readonly description: string;
  readonly state: TaskState;
  readonly states: readonly { readonly state: TaskState; readonly atMs: number }[];
  readonly createdAtMs: number;
  readonly timeoutMs: number | null;
  /** Decided at dispatch; `null` for none, and while the task is held. */
  readonly deadlineAtMs: number | null;
  readonly cause?: TaskCause;
  /** Envelope that carries the task. */
  readonly messageId: string;
  /** The file that its text travels in, where that does not fit an envelope. */
  readonly attachment?: Attachment;
  /** Launches that worked on it. */
  readonly attempts: readonly { readonly launch: number; readonly startedAtMs: number }[];
  readonly stale: boolean;
  /** Every request that this task required, in order of opening. */
  readonly requestIds: readonly string[];
  /** What the owner said last about this task; the chart decides whether it counts. */
  readonly summary?: string;
  readonly text?: string;
  readonly error?: string;
  readonly override?: string;
  readonly evidence?: Evidence;
  readonly evidenceAtStart: Evidence;
  readonly lateEvents: readonly LateEvent[];
  readonly result?: TaskResult;
}

/** One turn of a child, started by the deprecated tool; its text lies with it until it is sent. */
export interface PromptRecord {
  readonly id: string;
  readonly agentId: string;
  readonly messageId: string;
  readonly createdAtMs: number;
  /** What the child said last in its turn. */
  readonly text?: string;
  readonly error?: string;
  readonly result?: PromptResult;
}

/** The note that a task is to have; `id` is the task's. */
export interface NoteRecord {
  readonly id: string;
  /** Its name; `null` until it is there. */
  readonly file: string | null;
  /** Why it could not be written, once the Shepherd has been told. */
  readonly trouble?: string;
}

export interface RequestRecord {
  readonly id: string;
  readonly askerId: string;
  readonly recipientId: string;
  readonly taskId: string | null;
  readonly question: string;
  readonly openedAtMs: number;
  readonly deadlineAtMs: number;
  readonly state: RequestView['state'];
  readonly settledAtMs?: number;
  /** Why it was withdrawn, in the words of who did it. */
  readonly reason?: string;
}

export interface MessageRecord {
  readonly id: string;
  readonly senderId: string;
  readonly targetId: string;
  readonly kind: 'message' | 'reply' | 'task';
  readonly taskId?: string;
  readonly atMs: number;
  /** How many envelopes led to it since a task, a word of the Shepherd or an answer. */
  readonly hops: number;
  /** The first message of its chain. */
  readonly chainId: string;
  /** On a first message: its chain went too far, and the Shepherd has been told. */
  readonly isCut?: boolean;
  readonly receipt: Receipt;
  readonly error?: string;
}

/** What a sender wrote to a recipient lately; `id` is `sender>recipient`. */
export interface RateRecord {
  readonly id: string;
  /** Epoch ms of each accepted message of the last minute, oldest first. */
  readonly sentAtMs: readonly number[];
  /** Whether the Shepherd has been told that this pair goes too fast. */
  readonly isTold: boolean;
}

/** The task that an idempotency key stands for; `id` is the key. */
export interface KeyRecord {
  readonly id: string;
  readonly taskId: string;
  /** Hash of what was asked: another task under the same key is refused. */
  readonly hash: string;
}

export interface NoticeRecord {
  readonly id: string;
  readonly notice: Notice;
  readonly delivered: boolean;
  /** Pi would not take it: it is not told again, and the Shepherd knows that much. */
  readonly isDead?: true;
}

/** An envelope that has had its effect, and the answer that its sender was given. */
export interface SeenRecord {
  readonly id: string;
  readonly hash: string;
  readonly verdict?: VerdictBody;
  /** The envelope that carried the verdict. */
  readonly verdictId?: string;
}

export interface VerdictBody {
  readonly ok: boolean;
  readonly code?: string;
  readonly error?: string;
  readonly data?: Record<string, unknown>;
}

/** Something that happens after commit, in order for each target, harmless when repeated. */
export type Effect = { readonly id: string } & EffectBody;

export type EffectBody =
  | { readonly type: 'launch'; readonly agentId: string }
  | { readonly type: 'end'; readonly agentId: string }
  | { readonly type: 'interrupt'; readonly agentId: string }
  /** Looks at a child that shows nothing. */
  | { readonly type: 'look'; readonly agentId: string }
  /** Aborts the turn of a stalled child, ends its process, and closes its boxes. */
  | { readonly type: 'bail'; readonly agentId: string }
  /** Takes away what a replaced incarnation has not read. */
  | { readonly type: 'empty'; readonly agentId: string; readonly launch: number }
  /** Writes a line into `stalls.jsonl`. */
  | { readonly type: 'log'; readonly line: StallLine }
  /** Stops taking mail from and for an agent that has ended. */
  | { readonly type: 'retire'; readonly agentId: string }
  /** Removes the files of a launch whose agent is forgotten. */
  | { readonly type: 'remove'; readonly agentId: string; readonly launch: number }
  | {
      readonly type: 'publish';
      readonly agentId: string;
      /** For a replaced incarnation; by default the living one. */
      readonly launch?: number;
      readonly messageId: string;
      readonly senderId: string;
      readonly createdAtMs: number;
      readonly hops: number;
      readonly draft: EnvelopeDraft;
    }
  /** Removes the file of a task that is forgotten. */
  | {
      readonly type: 'detach';
      readonly agentId: string;
      readonly launch: number;
      readonly file: string;
    }
  /** Reserves the note of a task, or writes into it how the task is now. */
  | {
      readonly type: 'note';
      readonly taskId: string;
      /** Not in the store: an earlier process may have begun it. */
      readonly isAgain?: true;
    }
  | { readonly type: 'notify'; readonly noticeId: string };

/** Every table, by name; `id` is the key of each. */
export interface Tables {
  agent: AgentRecord;
  task: TaskRecord;
  prompt: PromptRecord;
  note: NoteRecord;
  request: RequestRecord;
  message: MessageRecord;
  notice: NoticeRecord;
  seen: SeenRecord;
  effect: Effect;
  rate: RateRecord;
  key: KeyRecord;
}

export type Table = keyof Tables;
