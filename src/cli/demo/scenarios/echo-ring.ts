/** Three agents that answer whatever they are told, each to the next: nobody in it would ever stop. */
import { always, beginWith, complete, idsOf, use } from '../phrases.ts';
import type { ModelReply, ModelRequest } from '../scripted-model.ts';
import { type Cast, type Scenario } from '../scenario.ts';
import { readRefusals } from '../conversation.ts';

const parts = [
  { agent: 'scout', label: 'one', task: 'Begin the round, and go on for as long as it lasts.' },
  { agent: 'planner', label: 'two', task: 'Answer whatever you are told.' },
  { agent: 'worker', label: 'three', task: 'Answer whatever you are told.' },
];

/** Says on what it was told, to the next one of the ring. */
function echo(request: ModelRequest): ModelReply {
  const { queue, last } = request;
  if (last.startsWith('hop_limit')) return complete('It went in circles, and was ended.');
  const isFirst = queue === 'scout' && last.startsWith('[Task delegated');
  if (!isFirst && !last.startsWith('[Reply]'))
    return { text: 'I answer when I am told something.' };
  const at = parts.findIndex(({ agent }) => agent === queue);
  const [, replyTo] = /^Message ID: (\S+)$/m.exec(last) ?? [];
  return use('shepherd_message', {
    target: parts[(at + 1) % parts.length]?.agent,
    replyTo,
    message: 'And what do you say?',
  });
}

/** Told of a task that ended by itself, the Shepherd withdraws the others. */
function cancelOthers(request: ModelRequest): ModelReply {
  const [, settled = ''] = /(shepherd-task-[0-9a-z]+): /.exec(request.last) ?? [];
  const toolCalls = idsOf(request, 'task')
    .filter((id) => id !== settled)
    .map((id) => ({ name: 'shepherd_cancel', args: { id, reason: 'The round is over.' } }));
  return { text: 'The round is over for all of them.', toolCalls };
}

function cast(): Cast {
  return {
    steps: {
      shepherd: [...beginWith(parts), cancelOthers, ...always({ text: 'Noted.' })],
      ...Object.fromEntries(parts.map(({ agent }) => [agent, always(echo)])),
    },
    isOver: (store) =>
      readRefusals(store).length > 0 && store.all('notice').every(({ delivered }) => delivered),
  };
}

export const echoRing: Scenario = {
  name: 'echo-ring',
  shows: 'three agents answer whatever they are told, each to the next',
  ends: 'the ninth message in a row is refused with `hop_limit` (8) and the Shepherd told of it once; who was refused completes its task, the Shepherd cancels the other two',
  asked: 'to let three agents talk',
  // What they forget is not the point here, and would be told as well.
  policy: { doneNudges: 0 },
  cast,
  mustEnd: () => ({
    tasks: [
      'planner: two created running cancelled',
      'scout: one created running cancelled',
      'worker: three created running completed',
    ],
    refusals: ['worker: three hop_limit'],
    notices: ['shepherd.notice hop_limit'],
  }),
};
