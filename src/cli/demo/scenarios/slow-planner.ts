/** Nobody answers in time: the wait is told of once, then it ends; a task never waits for ever. */
import { after, always, answer, ask, beginWith } from '../phrases.ts';
import { createGate, taskOf, type Cast, type Scenario } from '../scenario.ts';
import { readRefusals } from '../conversation.ts';

const parts = [
  { agent: 'scout', label: 'survey', task: 'Survey the project; planner knows where to begin.' },
  { agent: 'planner', label: 'plan' },
];

function cast(): Cast {
  const blocked = createGate();
  return {
    steps: {
      shepherd: [...beginWith(parts), ...always({ text: 'Noted.' })],
      scout: [ask('planner', 'Where do I begin?'), ...always({ text: 'I wait for planner.' })],
      planner: [
        after(blocked, (request) => answer(request, 'With the mailbox.')),
        ...always({ text: 'I was too slow.' }),
      ],
    },
    look(store) {
      if (taskOf(store, 'scout')?.result !== undefined) blocked.open();
      return undefined;
    },
    isOver: (store) => readRefusals(store).length > 0,
  };
}

export const slowPlanner: Scenario = {
  name: 'slow-planner',
  shows: 'planner takes longer to answer than scout may wait (3 s here, with a reminder after 1 s)',
  ends: "one reminder of the wait, then the reply deadline settles scout's task as `blocked`, naming planner; planner's reply is late and refused with `request_settled`",
  asked: 'for a survey, with a planner that is slow',
  policy: { replyTimeoutMs: 3_000, staleAfterMs: 1_000 },
  cast,
  mustEnd: () => ({
    tasks: ['scout: survey created running waiting blocked'],
    results: ['reply_deadline: planner: plan did not answer "Where do I begin?" in time.'],
    questions: ['scout: survey → planner: plan expired'],
    refusals: ['planner: plan request_settled'],
    lateEvents: ['planner: plan reply'],
    notices: ['shepherd.stale.wait'],
  }),
};
