/**
 * What the scripted model says in the demo: three roles, told apart by their system prompts.
 *
 * A role answers what it is shown; only the order of its turns is fixed. Ids are read from the text
 * that the model gets, as a real model would.
 */
import { once } from 'node:events';
import type {
  ModelReply,
  ModelRequest,
  ModelStep,
  ScriptedModelOptions,
} from './scripted-model.ts';

const question = 'Which part should I survey first?';
const planRequest = 'Draft a plan for the survey; tell me when you have it.';
const task = 'Survey this project and say where a newcomer should begin.';

export interface DemoScript {
  readonly options: Required<Pick<ScriptedModelOptions, 'steps' | 'route'>>;
  /** Lets planner's long turn end. */
  releasePlanner(): void;
}

/** The last text that fits, anywhere in what the model was shown. */
function find(request: ModelRequest, pattern: RegExp): string {
  for (const message of request.messages.toReversed()) {
    const [, found] = pattern.exec(message.text) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error(`nothing like ${pattern.source} was shown to ${request.queue}`);
}

/** Answers the newest question by its message id. */
function reply(request: ModelRequest, message: string): ModelReply {
  const [, target, replyTo] =
    /target "([^"]+)", replyTo "([^"]+)"/.exec(
      request.messages.findLast(({ text }) => text.includes('replyTo "'))?.text ?? '',
    ) ?? [];
  return { toolCalls: [{ name: 'shepherd_message', args: { target, replyTo, message } }] };
}

/** Creates the script of one run. */
export function createDemoScript(): DemoScript {
  const released = new AbortController();
  const busy = once(released.signal, 'abort');

  const shepherd: ModelStep[] = [
    {
      text: 'I spawn a scout and a planner.',
      toolCalls: [
        { name: 'shepherd_spawn', args: { agent: 'scout', label: 'survey' } },
        { name: 'shepherd_spawn', args: { agent: 'planner', label: 'plan' } },
      ],
    },
    {
      toolCalls: [
        {
          name: 'shepherd_message',
          args: { target: 'planner', message: planRequest, expectsReply: true },
        },
      ],
    },
    { toolCalls: [{ name: 'shepherd_delegate', args: { target: 'scout', task } }] },
    (request) => ({
      toolCalls: [
        { name: 'shepherd_watch', args: { id: find(request, /(shepherd-task-[0-9a-z]+)/) } },
      ],
    }),
    { text: 'Both are at work; I am free until one of them wakes me.' },
    // Woken by planner's plan and by scout's result, in one turn or in two.
    { text: 'Noted.' },
    { text: 'Noted.' },
  ];
  const scout: ModelStep[] = [
    { toolCalls: [{ name: 'ls', args: { path: '.' } }] },
    {
      toolCalls: [
        {
          name: 'shepherd_message',
          args: { target: 'planner', message: question, expectsReply: true },
        },
      ],
    },
    { text: 'I wait for planner.' },
    {
      text: 'Begin with the mailbox: everything else speaks through it.',
      toolCalls: [
        {
          name: 'shepherd_done',
          args: { status: 'completed', summary: 'A newcomer begins with the mailbox.' },
        },
      ],
    },
  ];
  const planner: ModelStep[] = [
    async (request) => {
      await busy;
      return reply(request, 'The plan: mailbox, then runtime, then surfaces.');
    },
    { text: 'The plan is out.' },
    (request) => reply(request, 'The mailbox first.'),
    { text: 'Scout has its answer.' },
  ];
  return {
    options: {
      steps: { shepherd, scout, planner },
      route: ({ system }) => /You are (scout|planner)\b/.exec(system)?.[1] ?? 'shepherd',
    },
    releasePlanner: () => released.abort(),
  };
}
