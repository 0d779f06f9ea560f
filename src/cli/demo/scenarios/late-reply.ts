/** A question is withdrawn, and answered all the same: the first outcome stays, the reply is kept as late. */
import { after, always, answer, ask, beginWith, complete, idsOf, use } from '../phrases.ts';
import { createGate, isIdleAndWaiting, taskOf, type Cast, type Scenario } from '../scenario.ts';
import { readRefusals } from '../conversation.ts';

const parts = [
  { agent: 'scout', label: 'survey', task: 'Survey the project; planner knows where to begin.' },
  { agent: 'planner', label: 'plan' },
];

function cast(): Cast {
  const waiting = createGate();
  const settled = createGate();
  return {
    steps: {
      shepherd: [
        ...beginWith(parts).slice(0, -1),
        after(waiting, use('shepherd_status', { id: 'planner' })),
        (request) =>
          use('shepherd_cancel', {
            id: idsOf(request, 'message').at(-1),
            reason: 'go on without planner',
          }),
        ...always({ text: 'Noted.' }),
      ],
      scout: [
        ask('planner', 'Where do I begin?'),
        ...always(({ last }) =>
          last.includes('was withdrawn')
            ? complete('Surveyed without planner.')
            : { text: 'I wait for planner.' },
        ),
      ],
      planner: [
        after(settled, (request) => answer(request, 'With the mailbox.')),
        ...always({ text: 'That came too late.' }),
      ],
    },
    look(store) {
      if (isIdleAndWaiting(store, 'scout')) waiting.open();
      if (taskOf(store, 'scout')?.result !== undefined) settled.open();
      return undefined;
    },
    isOver: (store) => readRefusals(store).length > 0,
  };
}

export const lateReply: Scenario = {
  name: 'late-reply',
  shows: "the Shepherd cancels scout's question; planner answers it afterwards",
  ends: 'scout completes its task without; the reply is refused with `request_settled` and kept as a late event of the task',
  asked: 'for a survey that need not wait for planner',
  cast,
  mustEnd: () => ({
    tasks: ['scout: survey created running waiting running completed'],
    questions: ['scout: survey → planner: plan cancelled'],
    refusals: ['planner: plan request_settled'],
    lateEvents: ['planner: plan reply'],
  }),
};
