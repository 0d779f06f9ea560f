/** `shepherd_status`: how an agent and its task stand, a task alone, or how far a message has come. */
import type { ToolDefinition } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { messageIdSchema, taskIdSchema } from '../../ids.ts';
import { excerpt } from '../../runtime/router.ts';
import type { AgentStatus, MessageStatus, Shepherd, TaskStatus } from '../../runtime/shepherd.ts';
import { defineTool, type ToolOutcome } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import { notBlank } from './text-parameters.ts';

const parameters = z.object({
  id: notBlank.describe('An agent id or name, a task id, or a message id.'),
});

/** As much of a task as is repeated, in characters; a whole one may have a megabyte. */
const descriptionCharacters = 500;

/** As many of the latest messages as are shown. */
const maxMessages = 5;

/** Creates the tool. */
export function createStatusTool(shepherd: GetShepherd): ToolDefinition {
  return defineTool({
    name: 'shepherd_status',
    label: 'Status',
    description:
      'How an agent and its task stand (two independent states), what waits in its queue, and how far the latest messages came: queued, delivered, seen, answered, or dead. Of a task id or a message id: that one. For a look, not for waiting: shepherd_watch wakes you.',
    promptSnippet: 'Look at the state of a child agent, a task or a message',
    parameters,
    async run({ id }, { ctx }) {
      const runtime = await shepherd(ctx);
      if (messageIdSchema.safeParse(id).success) return messageOutcome(runtime, id);
      if (taskIdSchema.safeParse(id).success) return taskOutcome(runtime, id);
      return agentOutcome(runtime, id);
    },
  });
}

function agentOutcome(runtime: Shepherd, target: string): ToolOutcome {
  const status = runtime.status(target);
  const { id, state, task, error } = status;
  const queue = (status.queue ?? []).map((taskId) => runtime.task(taskId));
  const messages = runtime.messages(id, { limit: maxMessages });
  return {
    text: [
      headline(status),
      ...(task === undefined ? [] : [`Task: ${shortDescription(task)}`]),
      ...queue.map((held) => `In its queue, number ${held.queuePosition}: ${heldText(held)}`),
      ...receiptLines(messages),
    ].join('\n'),
    details: {
      id,
      state,
      ...(task === undefined ? {} : { task: taskDetails(task) }),
      ...(queue.length === 0 ? {} : { queue: queue.map(taskDetails) }),
      messages,
      ...(error === undefined ? {} : { error }),
    },
  };
}

function headline({ id, agent, label, state, task, error }: AgentStatus): string {
  const parts = [`Agent ${agent}: ${label} (${id}) is ${state}`];
  if (task !== undefined) parts.push(taskText(task));
  if (error !== undefined) parts.push(error);
  return `${parts.join('; ')}.`;
}

function taskOutcome(runtime: Shepherd, taskId: string): ToolOutcome {
  const task = runtime.task(taskId);
  const messages = runtime.messages(taskId, { limit: maxMessages });
  const { agentId, result } = task;
  return {
    text: [
      `${taskText(task)}.${result === undefined ? '' : ` ${result.error ?? result.text ?? ''}`}`,
      `Task: ${shortDescription(task)}`,
      ...receiptLines(messages),
    ].join('\n'),
    details: {
      ...taskDetails(task),
      agentId,
      messages,
      ...(result === undefined ? {} : { result }),
    },
  };
}

function messageOutcome(runtime: Shepherd, messageId: string): ToolOutcome {
  const messages = runtime.messages(messageId);
  return { text: messages.map(receiptText).join('\n'), details: { id: messageId, messages } };
}

function taskDetails(task: TaskStatus): Readonly<Record<string, unknown>> {
  const { id, state, queuePosition, waitingMs, pendingRequest, waitingOn, stale } = task;
  return {
    id,
    state,
    description: shortDescription(task),
    ...(queuePosition === undefined ? {} : { queuePosition }),
    ...(waitingMs === undefined ? {} : { waitingMs }),
    ...(pendingRequest === undefined ? {} : { pendingRequest }),
    ...(waitingOn === undefined ? {} : { waitingOn }),
    ...(stale === undefined ? {} : { stale }),
  };
}

/** The ellipsis counts too. */
const shortDescription = ({ description }: TaskStatus): string =>
  excerpt(description, descriptionCharacters - 1);

const heldText = (task: TaskStatus): string => `${task.id}, ${shortDescription(task)}`;

function taskText({ id, state, queuePosition, waitingMs, waitingOn, stale }: TaskStatus): string {
  if (queuePosition !== undefined)
    return `task ${id} is held, number ${queuePosition} in the queue`;
  if (state !== 'waiting') return `task ${id} is ${state}`;
  const minutes = Math.floor((waitingMs ?? 0) / 60_000);
  const on = waitingOn === undefined ? '' : ` on ${waitingOn}`;
  return `task ${id} is waiting${on} for ${minutes} min${stale === true ? ' (stale)' : ''}`;
}

function receiptLines(messages: readonly MessageStatus[]): readonly string[] {
  if (messages.length === 0) return [];
  return [
    'Latest messages, newest first:',
    ...messages.map((message) => `- ${receiptText(message)}`),
  ];
}

function receiptText({ messageId, kind, fromName, toName, receipt, error }: MessageStatus): string {
  const why = error === undefined ? '' : `: ${error}`;
  return `${messageId} (${kind}) from ${fromName} to ${toName} is ${receipt}${why}`;
}
