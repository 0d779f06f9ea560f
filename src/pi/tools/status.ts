/** `shepherd_status`: how an agent and its task stand, a task alone, or how far a message has come. */
import { z } from 'zod';
import { messageIdSchema, taskIdSchema } from '../../ids.ts';
import type {
  AgentState,
  MessageStatus,
  Shepherd,
  TaskResult,
  TaskState,
} from '../../runtime/shepherd.ts';
import { defineParentTool, type ParentTool } from './define-parent-tool.ts';
import type { ToolOutcome } from './define-tool.ts';
import type { GetShepherd } from './get-shepherd.ts';
import {
  agentText,
  shortDescription,
  taskDetails,
  taskText,
  type TaskDetails,
} from './task-text.ts';
import { notBlank } from './text-parameters.ts';

const parameters = z.object({
  id: notBlank.describe('An agent id or name, a task id, or a message id.'),
});

interface StatusDetails extends Partial<Omit<TaskDetails, 'id' | 'state'>> {
  readonly id: string;
  readonly state?: AgentState | TaskState;
  readonly task?: TaskDetails;
  readonly queue?: readonly TaskDetails[];
  readonly agentId?: string;
  readonly result?: TaskResult;
  readonly messages: readonly MessageStatus[];
  readonly error?: string;
}
type StatusOutcome = ToolOutcome<StatusDetails>;

/** As many of the latest messages as are shown. */
const maxMessages = 5;

/** Creates the tool. */
export function createStatusTool(shepherd: GetShepherd): ParentTool {
  return defineParentTool(shepherd, {
    name: 'shepherd_status',
    label: 'Status',
    description:
      'How an agent and its task stand (two independent states), what waits in its queue, and how far the latest messages came: queued, delivered, seen, answered, or dead. Of a task id or a message id: that one. For a look, not for waiting: shepherd_watch wakes you.',
    promptSnippet: 'Look at the state of a child agent, a task or a message',
    promptGuidelines: [
      'In shepherd_status the state of an agent and the state of its task are two things: idle says that no turn runs, not that the task is completed.',
    ],
    parameters,
    legacy: { address: 'id', aliases: ['taskId'] },
    result: {
      id: 'The id of what was asked for.',
      state: 'Of an agent its process state, of a task the task’s state.',
      task: 'Of an agent: its task that has not settled, with the fields of a task.',
      queue: 'Of an agent: the tasks that wait for it, in order.',
      messages: 'The latest messages, newest first, at most 5, each with its `receipt`.',
      agentId: 'Of a task: the agent that has it.',
      description: 'Of a task: its text, at most 500 characters.',
      queuePosition: 'Of a held task: its place in the queue, from 1.',
      waitingMs: 'Of a waiting task: for how long.',
      pendingRequest: 'Of a waiting task: id of its oldest open question.',
      waitingOn: 'Of a waiting task: who is to answer that.',
      stale: 'Of a waiting task: whether the reminder was sent.',
      result: 'Of a settled task: how it ended.',
      error: 'Of an agent: what ended or hurt it.',
    },
    errors: [
      'invalid_target',
      'ambiguous_target',
      'agent_closed',
      'unknown_task',
      'unknown_request',
    ],
    run: async ({ id }, { runtime }) => statusOutcome(runtime, id),
  });
}

/** How an agent, a task or a message stands. Throws as `Shepherd.status`, `task` and `messages`. */
export function statusOutcome(runtime: Shepherd, id: string): StatusOutcome {
  if (messageIdSchema.safeParse(id).success) return messageOutcome(runtime, id);
  if (taskIdSchema.safeParse(id).success) return taskOutcome(runtime, id);
  return agentOutcome(runtime, id);
}

function agentOutcome(runtime: Shepherd, target: string): StatusOutcome {
  const status = runtime.status(target);
  const { id, state, task, error } = status;
  const queue = (status.queue ?? []).map((taskId) => runtime.task(taskId));
  const messages = runtime.messages(id, { limit: maxMessages });
  return {
    text: [
      `Agent ${agentText(status)}`,
      ...(task === undefined ? [] : [`Task: ${shortDescription(task)}`]),
      ...queue.map(
        (held) =>
          `In its queue, number ${held.queuePosition}: ${held.id}, ${shortDescription(held)}`,
      ),
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

function taskOutcome(runtime: Shepherd, taskId: string): StatusOutcome {
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

function messageOutcome(runtime: Shepherd, messageId: string): StatusOutcome {
  const messages = runtime.messages(messageId);
  return { text: messages.map(receiptText).join('\n'), details: { id: messageId, messages } };
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
