/** What a sender is told of the question that its message has opened. */

/** "The reply will wake you, until …", from the details of an accepted message. */
export function replyNote(opened: Readonly<Record<string, unknown>> | undefined): string {
  const { deadlineAtMs, isClipped } = opened ?? {};
  if (typeof deadlineAtMs !== 'number') return 'The reply will wake you';
  const instant = new Date(deadlineAtMs).toISOString();
  const why = isClipped === true ? ', the deadline of the task' : '';
  return `The reply will wake you; it is waited for until ${instant}${why}`;
}
