/**
 * What the scripted models of the scenarios say: calls of the real tools, with the ids that they were shown.
 *
 * Ids are read from the text that the model gets, as a real model would.
 */
import type { ModelReply, ModelRequest, ModelStep, ModelToolCall } from './scripted-model.ts';

/** A turn that calls one tool. */
export function use(name: string, args: object): ModelReply {
  return { toolCalls: [{ name, args }] };
}

export function ask(target: string, message: string): ModelReply {
  return use('shepherd_message', { target, message, expectsReply: true });
}

export function complete(summary: string): ModelReply {
  return use('shepherd_done', { status: 'completed', summary });
}

/** Answers the newest question by its message id. */
export function answer({ messages }: ModelRequest, message: string): ModelReply {
  const [, target, replyTo] =
    /target "([^"]+)", replyTo "([^"]+)"/.exec(
      messages.findLast(({ text }) => text.includes('replyTo "'))?.text ?? '',
    ) ?? [];
  return use('shepherd_message', { target, replyTo, message });
}

/** Whether the model was shown, anywhere, a text that begins so. */
export function wasShown({ messages }: ModelRequest, beginning: string): boolean {
  return messages.some(({ text }) => text.startsWith(beginning));
}

/** Every id of a kind that the model was shown, in order, each once. */
export function idsOf({ messages }: ModelRequest, kind: 'task' | 'message'): readonly string[] {
  const pattern = new RegExp(`shepherd-${kind}-[0-9a-z]+`, 'g');
  return [...new Set(messages.flatMap(({ text }) => text.match(pattern) ?? []))];
}

/** The same in as many turns as a scenario may have. */
export function always(step: ModelStep): readonly ModelStep[] {
  return Array.from({ length: 20 }, () => step);
}

/** Says it once the gate is open. */
export function after(gate: { readonly opened: Promise<void> }, step: ModelStep): ModelStep {
  return async (request) => {
    await gate.opened;
    return typeof step === 'function' ? step(request) : step;
  };
}

export interface Part {
  readonly agent: string;
  readonly label: string;
  /** Its task; none for an agent that is only asked. */
  readonly task?: string;
}

/** How the Shepherd begins: it spawns, delegates, watches, and ends its turn. */
export function beginWith(parts: readonly Part[]): readonly ModelStep[] {
  return [spawn(parts), delegate(parts), watchTasks, { text: 'I am free until I am woken.' }];
}

export function spawn(parts: readonly Part[]): ModelReply {
  const toolCalls = parts.map(({ agent, label }) => call('shepherd_spawn', { agent, label }));
  return { text: `I spawn ${parts.map(({ agent }) => agent).join(' and ')}.`, toolCalls };
}

export function delegate(parts: readonly Part[]): ModelReply {
  return {
    toolCalls: parts.flatMap(({ agent, task }) =>
      task === undefined ? [] : call('shepherd_delegate', { target: agent, task }),
    ),
  };
}

export const watchTasks: ModelStep = (request) =>
  use('shepherd_watch', { id: idsOf(request, 'task') });

function call(name: string, args: object): ModelToolCall {
  return { name, args };
}
