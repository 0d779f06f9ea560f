/** What a child may know of the others: who is there, what they are for, and how far its words came. */
import type { Frame } from './herd.ts';
import type { AgentRecord } from './records.ts';
import { nameOf } from './router.ts';
import { viewMessage } from './views.ts';

/** As many of its latest messages as a child is shown. */
const maxMessages = 10;

/** The answer to an agent's roster call. */
export function rosterFor(frame: Frame, agent: AgentRecord): Record<string, unknown> {
  const { draft, herd } = frame;
  const agents = herd
    .agents()
    .flatMap((actor) => draft.get('agent', actor.id) ?? [])
    .filter((other) => other.id !== agent.id)
    .map((other) => {
      const task = draft.get('task', other.taskId ?? '');
      return {
        id: other.id,
        name: nameOf(draft, other.id),
        purpose: other.definition.description,
        state: other.state,
        ...(task === undefined || task.result !== undefined ? {} : { taskState: task.state }),
      };
    });
  const questions = herd
    .openRequestIds()
    .flatMap((id) => draft.get('request', id) ?? [])
    .filter(({ askerId, recipientId }) => askerId === agent.id || recipientId === agent.id)
    .map((request) => ({
      requestId: request.id,
      ...(request.askerId === agent.id
        ? { askedOf: nameOf(draft, request.recipientId) }
        : { askedBy: nameOf(draft, request.askerId) }),
      deadlineAtMs: request.deadlineAtMs,
    }));
  const messages = draft
    .all('message')
    .filter(({ senderId }) => senderId === agent.id)
    .slice(-maxMessages)
    .map((message) => {
      const { messageId, toName, receipt } = viewMessage(draft, message);
      return { messageId, to: toName, receipt };
    });
  return { you: { id: agent.id, name: nameOf(draft, agent.id) }, agents, questions, messages };
}
