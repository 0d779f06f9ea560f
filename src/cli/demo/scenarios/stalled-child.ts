/** A model that never answers: its child is seen, ended and replaced, and the task goes on. */
import { always, beginWith, complete } from '../phrases.ts';
import type { Scenario } from '../scenario.ts';

const parts = [{ agent: 'scout', label: 'survey', task: 'Survey the project.' }];

export const stalledChild: Scenario = {
  name: 'stalled-child',
  shows: "scout's model never answers (4 s of silence are a stall here, and it is replaced)",
  ends: 'the stalled child is ended, a fresh one gets the task with a brief and completes it; the Shepherd is told of both, once each',
  asked: 'for a survey, by a model that hangs',
  policy: { stallAfterMs: 4_000, stallRecovery: 'auto' },
  cast: () => ({
    steps: {
      shepherd: [...beginWith(parts), ...always({ text: 'Noted.' })],
      scout: [{ hang: true }, complete('The second look found everything.')],
    },
  }),
  mustEnd: () => ({
    tasks: ['scout: survey created running completed'],
    results: ['The second look found everything.'],
    notices: ['shepherd.stall recovered'],
  }),
};
