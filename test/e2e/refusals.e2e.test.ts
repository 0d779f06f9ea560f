/** Bad input, typed by a model into real tools of a real Pi session; the herd goes on after each. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, lastId, startPiShepherd, type PiShepherd } from '../support/pi-shepherd.ts';
import type { ModelReply, ModelRequest } from '../support/scripted-model.ts';

const unknownTask = 'shepherd-task-000000000000';
const unknownAgent = 'shepherd-agent-000000000000';

const one = (name: string, args: object): ModelReply => ({ toolCalls: [call(name, args)] });

/** The watched task is the one that the delegate result named, not the invented one. */
function lastTaskOfScout(request: ModelRequest): string {
  const kept = request.messages.filter(({ text }) => !text.includes(unknownTask));
  return lastId({ ...request, messages: kept }, 'task');
}

describe('refusals in a real Pi session', () => {
  let shepherd: PiShepherd;
  let results: readonly string[];
  let completion: Readonly<Record<string, unknown>> | undefined;

  beforeAll(async () => {
    shepherd = await startPiShepherd({
      shepherd: [
        one('shepherd_spawn', { agent: 'shcout', label: 'a' }),
        one('shepherd_delegate', { target: unknownAgent, task: 'x' }),
        one('shepherd_spawn', { agent: 'worker', label: 'gone' }),
        (request) => one('shepherd_close', { id: lastId(request, 'agent') }),
        (request) => one('shepherd_delegate', { target: lastId(request, 'agent'), task: 'x' }),
        one('shepherd_spawn', { agent: 'scout', label: 'a:b' }),
        {
          toolCalls: [
            call('shepherd_spawn', { agent: 'scout', label: 'a' }),
            call('shepherd_spawn', { agent: 'planner', label: 'p' }),
          ],
        },
        one('shepherd_delegate', { target: 'scout', task: '  ' }),
        one('shepherd_delegate', { target: 'scout', task: 'look around' }),
        one('shepherd_delegate', { target: 'scout', task: 'and more' }),
        one('shepherd_status', { id: unknownTask }),
        one('shepherd_watch', { id: unknownTask }),
        (request) => one('shepherd_watch', { id: lastTaskOfScout(request) }),
        { text: 'I wait.' },
        { text: 'Noted.' },
      ],
      scout: [
        one('shepherd_done', { status: 'completed', taskId: unknownTask }),
        one('shepherd_message', { target: 'nobody', message: 'hello' }),
        one('shepherd_message', { target: 'planner', message: 'why?', expectsReply: true }),
        one('shepherd_done', { status: 'completed', summary: 'too early' }),
        one('shepherd_done', {
          status: 'completed',
          summary: 'done without it',
          override: 'the answer is not needed any more',
        }),
      ],
      planner: [{ text: 'I think about it.' }],
    });
    await shepherd.prompt('go');
    [completion] = await shepherd.notices('shepherd.task.completion');
    results = shepherd.results();
  }, 120_000);
  afterAll(() => shepherd.close());

  it.each([
    ['an unknown agent', 0, /^unknown_agent: .*scout/s],
    ['an unknown target', 1, /^invalid_target: /],
    ['a closed target', 4, /^agent_closed: /],
    ['a bad label', 5, /^invalid_label: /],
    ['a blank task', 8, /^invalid_task: /],
    ['a second task', 10, /^active_task: /],
    ['the status of an unknown task', 11, /^unknown_task: /],
    ['a watch of an unknown task', 12, /^unknown_task: /],
  ])('answers %s with its code', (_what, at, code) => {
    expect(results[at]).toMatch(code);
  });

  it('answers the child’s bad calls with their codes, and its model reads them', () => {
    const shown = shepherd.requests
      .filter(({ queue }) => queue === 'scout')
      .map(({ last }) => last);

    expect(shown[1]).toMatch(/^unknown_task: .*Your task is shepherd-task-/s);
    expect(shown[2]).toMatch(/^invalid_target: .*planner/s);
    expect(shown[4]).toMatch(/^completion_refused: .*planner/s);
  });

  it('still ends the task, once, with the override in the result', () => {
    expect(completion).toMatchObject({
      details: {
        results: [
          {
            status: 'completed',
            summary: 'done without it',
            override: 'the answer is not needed any more',
          },
        ],
      },
    });
  });

  it('gives a child its three tools and its prompt, and no tool of the parent', () => {
    const scout = shepherd.requests.find(({ queue }) => queue === 'scout');

    expect(scout?.tools.toSorted()).toEqual([
      'find',
      'grep',
      'ls',
      'read',
      'shepherd_done',
      'shepherd_message',
      'shepherd_roster',
    ]);
    expect(scout?.system).toContain('You are scout');
  });
});
