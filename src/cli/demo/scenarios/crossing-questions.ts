/** Two agents ask each other at the same time: were both let wait, neither would ever go on. */
import { after, always, answer, ask, beginWith, complete, wasShown } from '../phrases.ts';
import type { ModelReply, ModelRequest, ModelStep } from '../scripted-model.ts';
import { createGate, type Cast, type Scenario } from '../scenario.ts';

const parts = [
  { agent: 'scout', label: 'survey', task: 'Survey the project; planner knows in which order.' },
  { agent: 'planner', label: 'plan', task: 'Plan the work; scout knows what there is.' },
];
const names = parts.map(({ agent, label }) => `${agent}: ${label}`);

/** Goes on by what it was shown last. */
function goOn(request: ModelRequest): ModelReply {
  const { last } = request;
  if (last.startsWith('[Question]')) return answer(request, 'Mailbox, runtime, surfaces.');
  if (last.startsWith('[Reply]')) return complete('Done with the answer.');
  if (last.startsWith('wait_cycle')) return { text: 'I answer first, and go on without.' };
  const mayEnd = wasShown(request, 'wait_cycle') && wasShown(request, '[Question]');
  return mayEnd ? complete('Done without the answer.') : { text: 'I wait for the reply.' };
}

function cast(): Cast {
  const bothAsk = createGate();
  let asking = 0;
  /** Asks only once the other one is about to ask as well. */
  const askAtOnce = (target: string, question: string): ModelStep => {
    const together = after(bothAsk, ask(target, question));
    return (request) => {
      asking += 1;
      if (asking === parts.length) bothAsk.open();
      return typeof together === 'function' ? together(request) : together;
    };
  };
  return {
    steps: {
      shepherd: [...beginWith(parts), ...always({ text: 'Noted.' })],
      scout: [askAtOnce('planner', 'In which order?'), ...always(goOn)],
      planner: [askAtOnce('scout', 'What is there?'), ...always(goOn)],
    },
  };
}

export const crossingQuestions: Scenario = {
  name: 'crossing-questions',
  shows: 'scout and planner ask each other at the same time',
  ends: 'one question is refused with `wait_cycle` and the path, the other is answered, both tasks are completed',
  asked: 'for a survey and a plan, of two who need each other',
  cast,
  mustEnd({ questions: [question] }) {
    const [asker, other] = question?.startsWith('scout') === true ? names : names.toReversed();
    return {
      tasks: [
        `${asker} created running waiting running completed`,
        `${other} created running completed`,
      ],
      questions: [`${asker} → ${other} answered`],
      refusals: [`${other} wait_cycle`],
    };
  },
};
