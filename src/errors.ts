/**
 * Every deliberate error of Sheepfold: one class an area, told apart by `code`.
 *
 * Codes are contract: added, never renamed. Test with `ShepherdError.is(e) && e.code === '…'`;
 * Pi's loader makes two copies of a module, so `instanceof` would lie.
 */

const brand = Symbol.for('sheepfold.error');

/** What went wrong with an envelope, a box or a send. */
export type MailboxErrorCode =
  | 'ambiguous_target'
  | 'broker_unavailable'
  | 'disk_error'
  | 'duplicate_conflict'
  | 'foreign_session'
  | 'hop_limit'
  | 'invalid_capability'
  | 'invalid_envelope'
  | 'invalid_sender'
  | 'invalid_target'
  | 'message_too_large'
  | 'queue_full'
  | 'rate_limited'
  | 'superseded';

/** What went wrong with a task, a request or a watch. */
export type TaskErrorCode =
  | 'active_prompt'
  | 'active_task'
  | 'completion_refused'
  | 'internal_error'
  | 'invalid_task'
  | 'invalid_timeout'
  | 'no_delegated_task'
  | 'not_the_recipient'
  | 'reply_task_mismatch'
  | 'request_settled'
  | 'task_agent_mismatch'
  | 'task_settled'
  | 'unknown_prompt'
  | 'unknown_request'
  | 'unknown_task'
  | 'wait_cycle';

/** What went wrong with an agent or the place it runs in. */
export type HostErrorCode =
  | 'agent_closed'
  | 'agent_lost'
  | 'agent_not_ready'
  | 'close_unconfirmed'
  | 'host_unavailable'
  | 'launch_failed'
  | 'not_found'
  | 'not_owned'
  | 'provider_error'
  | 'spawn_deadline'
  | 'uncertain';

/** What went wrong with a definition, a setting or an argument. */
export type ConfigErrorCode =
  | 'agent_not_approved'
  | 'duplicate_label'
  | 'invalid_agent'
  | 'invalid_argument'
  | 'invalid_label'
  | 'invalid_setting'
  | 'session_closed'
  | 'session_damaged'
  | 'session_owned'
  | 'unknown_agent'
  | 'unsupported_node';

export type ShepherdErrorCode = MailboxErrorCode | TaskErrorCode | HostErrorCode | ConfigErrorCode;

export interface ShepherdErrorOptions {
  /** True when the same call may succeed later without a change. Default false. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
  /** Ids and values involved, for programs; the message already names them for people. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Base of all deliberate errors; `message` says what was refused and what would be accepted. */
export class ShepherdError<Code extends ShepherdErrorCode = ShepherdErrorCode> extends Error {
  readonly code: Code;
  readonly retryable: boolean;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: Code, message: string, options: ShepherdErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.data = options.data ?? {};
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for errors of this module, also those made by another loaded copy of it. */
  static is(error: unknown): error is ShepherdError {
    return typeof error === 'object' && error !== null && brand in error;
  }
}

export class MailboxError extends ShepherdError<MailboxErrorCode> {}
export class TaskError extends ShepherdError<TaskErrorCode> {}
export class HostError extends ShepherdError<HostErrorCode> {}
export class ConfigError extends ShepherdError<ConfigErrorCode> {}

/** True for a failure that the same call may get over by itself. */
export function isRetryable(error: unknown): boolean {
  return ShepherdError.is(error) && error.retryable;
}

/** True when the disk has failed: nothing was kept, and it may be tried again. */
export function isDiskError(error: unknown): boolean {
  return ShepherdError.is(error) && error.code === 'disk_error';
}

/** The one line that tools and the CLI print for an error: `code: message`, or the bare message. */
export function describeError(error: unknown): string {
  if (ShepherdError.is(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
