/** What a fresh child is told about the one that it replaces. */

export interface RecoveryBrief {
  readonly runId: string | null;
  readonly cwd: string | null;
  readonly lastAction: string;
  /** One line of four sentences. */
  readonly brief: string;
}

function textOr<T>(value: unknown, fallback: T): string | T {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : fallback;
}

/** Builds the brief; each input that is no text, or blank, has a phrase in its place. */
export function buildAgentStallRecoveryBrief(
  input: {
    readonly runId?: unknown;
    readonly cwd?: unknown;
    readonly lastAction?: unknown;
    readonly reason?: unknown;
  } = {},
): RecoveryBrief {
  const runId = textOr(input.runId, null);
  const cwd = textOr(input.cwd, null);
  const lastAction = textOr(input.lastAction, 'unknown last action');
  const reason = textOr(input.reason, 'stalled');
  const brief = [
    `Recovery dispatch: the previous child of run ${runId ?? '(unknown)'} was ended (${reason}).`,
    `Its worktree is ${cwd ?? '(unknown)'}.`,
    `The last thing it is known to have done: ${lastAction}.`,
    'Carry the state of the worktree forward and go on from there; do not start over.',
  ].join(' ');
  return { runId, cwd, lastAction, brief };
}
