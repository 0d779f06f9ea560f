/** The canonical flow: scout asks planner, who is busy; the end of scout's turn settles nothing. */
import {
  after,
  always,
  answer,
  ask,
  complete,
  delegate,
  spawn,
  use,
  watchTasks,
} from '../phrases.ts';
import { createGate, isIdleAndWaiting, type Cast, type Scenario } from '../scenario.ts';

const parts = [
  {
    agent: 'scout',
    label: 'survey',
    task: 'Survey this project and say where a newcomer should begin.',
  },
  { agent: 'planner', label: 'plan' },
];

function cast(): Cast {
  const waiting = createGate();
  return {
    steps: {
      shepherd: [
        spawn(parts),
        ask('planner', 'Draft a plan for the survey; tell me when you have it.'),
        delegate(parts),
        watchTasks,
        { text: 'Both are at work; I am free until one of them wakes me.' },
        // Woken by planner's plan and by scout's result, in one turn or in two.
        ...always({ text: 'Noted.' }),
      ],
      scout: [
        use('ls', { path: '.' }),
        ask('planner', 'Which part should I survey first?'),
        { text: 'I wait for planner.' },
        {
          ...complete('A newcomer begins with the mailbox.'),
          text: 'Begin with the mailbox: everything else speaks through it.',
        },
      ],
      planner: [
        after(waiting, (request) =>
          answer(request, 'The plan: mailbox, then runtime, then surfaces.'),
        ),
        { text: 'The plan is out.' },
        (request) => answer(request, 'The mailbox first.'),
        { text: 'Scout has its answer.' },
      ],
    },
    look(store) {
      if (!isIdleAndWaiting(store, 'scout')) return undefined;
      if (store.all('notice').some(({ notice }) => notice.kind === 'shepherd.task.completion')) {
        return 'a completion was reported while the task was waiting';
      }
      // Scout's process is idle, its task waits, nobody was told: now planner may end its turn.
      waiting.open();
      return undefined;
    },
  };
}

export const canonical: Scenario = {
  name: 'canonical',
  shows: 'scout asks planner, who is busy; its turn ends, its task waits',
  ends: 'planner answers, the task is completed, the Shepherd is told once',
  asked: 'for a survey',
  cast,
  mustEnd: () => ({
    agents: ['planner: plan idle', 'scout: survey idle'],
    tasks: ['scout: survey created running waiting running completed'],
  }),
};
