/** What the journal says of an envelope's content: enough to draw its way, none of its text. */
import type { EnvelopeDraft } from '../mailbox/envelope.ts';
import type { Move } from './store.ts';

export function describeMove(
  envelope: EnvelopeDraft,
): Pick<Move, 'kind' | 'asks' | 'about' | 'code' | 'taskId'> {
  const about = aboutOf(envelope);
  return {
    kind: envelope.kind,
    ...(about === undefined ? {} : { about }),
    ...('expectsReply' in envelope && envelope.expectsReply === true ? { asks: true } : {}),
    ...(envelope.kind === 'verdict' && !envelope.ok ? { code: envelope.code ?? 'refused' } : {}),
    ...('taskId' in envelope && envelope.taskId !== undefined ? { taskId: envelope.taskId } : {}),
  };
}

function aboutOf(envelope: EnvelopeDraft): string | undefined {
  switch (envelope.kind) {
    case 'reply':
      return envelope.replyTo;
    case 'verdict':
    case 'receipt':
      return envelope.forMessageId;
    case 'notice':
      return envelope.requestId;
    case 'task':
    case 'message':
    case 'task_done':
    case 'runtime':
    case 'hello':
    case 'heartbeat':
    case 'roster':
    case 'task_closed':
      return undefined;
  }
}
