/** What the inspector's server tells its page: plain data, shared by both. */
import type { Move, Taken } from '../runtime/store.ts';
import type {
  AgentStatus,
  MessageStatus,
  Receipt,
  RequestView,
  TaskState,
  TaskStatus,
} from '../runtime/shepherd.ts';

export type MachineName = 'session' | 'agent' | 'task' | 'request' | 'prompt' | 'watcher';

/** An actor after a step; its context is asked for on its own. */
export interface ActorReport {
  readonly id: string;
  readonly machine: MachineName;
  /** The actor that it hangs under; null for the session. */
  readonly under: string | null;
  /** As in XState: a state's name, or names within names. */
  readonly value: unknown;
}

/** One step of the session. */
export interface RowReport {
  readonly seq: number;
  /** Epoch ms. */
  readonly atMs: number;
  /** `envelope task_done`, `command delegate`, `timer`, … */
  readonly input: string;
  readonly error?: string;
  readonly actors: readonly ActorReport[];
  readonly taken: readonly Taken[];
  readonly moves: readonly Move[];
  readonly receipts: readonly { readonly messageId: string; readonly receipt: Receipt }[];
}

export interface SessionReport {
  readonly name: string;
  readonly dir: string;
  /** Whether a living process has it. */
  readonly isLive: boolean;
  /** For people: `held by 4711 (alive)`, `parked`. */
  readonly owner: string;
}

/** What an actor was after a step. */
export interface ContextReport {
  readonly id: string;
  readonly seq: number;
  readonly value: unknown;
  readonly context: unknown;
}

/** Names for ids, as they are now. */
export interface NamesReport {
  readonly agents: readonly Pick<AgentStatus, 'id' | 'agent' | 'label' | 'state'>[];
  /** In order of their creation; the description is cut to a line. */
  readonly tasks: readonly {
    readonly id: string;
    readonly agentId: string;
    readonly description: string;
    readonly state: TaskState;
  }[];
}

/** A task's own page. */
export interface TaskReport {
  readonly task: TaskStatus;
  readonly agentName: string;
  readonly messages: readonly MessageStatus[];
  readonly requests: readonly RequestView[];
  /** The whole text of its note, if there is one. */
  readonly note: string | null;
}

/** An envelope that still lies in a box, without its proof. */
export interface EnvelopeReport {
  readonly messageId: string;
  readonly envelope: Readonly<Record<string, unknown>>;
}
