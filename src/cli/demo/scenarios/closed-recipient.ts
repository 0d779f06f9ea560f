/** Who was asked is closed: whoever waits is told at once, and not by a deadline. */
import { after, always, ask, beginWith, complete, use } from '../phrases.ts';
import { createGate, isIdleAndWaiting, type Cast, type Scenario } from '../scenario.ts';

const parts = [
  { agent: 'scout', label: 'survey', task: 'Survey the project; planner knows where to begin.' },
  { agent: 'planner', label: 'plan' },
];

function cast(): Cast {
  const waiting = createGate();
  return {
    steps: {
      shepherd: [
        ...beginWith(parts).slice(0, -1),
        after(waiting, {
          ...use('shepherd_close', { id: 'planner' }),
          text: 'I need no plan any more.',
        }),
        ...always({ text: 'Noted.' }),
      ],
      scout: [
        ask('planner', 'Where do I begin?'),
        ...always(({ last }) =>
          last.includes('will not answer')
            ? complete('Surveyed without planner.')
            : { text: 'I wait for planner.' },
        ),
      ],
      planner: [{ hang: true }],
    },
    look(store) {
      const isRead = store
        .all('message')
        .some(({ kind, receipt }) => kind === 'message' && receipt === 'delivered');
      if (isRead && isIdleAndWaiting(store, 'scout')) waiting.open();
      return undefined;
    },
  };
}

export const closedRecipient: Scenario = {
  name: 'closed-recipient',
  shows: 'the Shepherd closes planner while scout waits for its answer',
  ends: 'the question is settled at once as `recipient_gone`, scout is told and completes its task on its own',
  asked: 'for a survey, and then not for a plan any more',
  cast,
  mustEnd: () => ({
    agents: ['planner: plan closed', 'scout: survey idle'],
    tasks: ['scout: survey created running waiting running completed'],
    questions: ['scout: survey → planner: plan recipient_gone'],
    notices: [],
  }),
};
