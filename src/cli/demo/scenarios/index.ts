/** The scenarios of `sheepfold demo`, in the order in which they are listed; the first is the default. */
import { ConfigError } from '../../../errors.ts';
import type { Scenario } from '../scenario.ts';
import { canonical } from './canonical.ts';
import { closedRecipient } from './closed-recipient.ts';
import { crossingQuestions } from './crossing-questions.ts';
import { echoRing } from './echo-ring.ts';
import { lateReply } from './late-reply.ts';
import { slowPlanner } from './slow-planner.ts';
import { stalledChild } from './stalled-child.ts';

export const scenarios: readonly [Scenario, ...Scenario[]] = [
  canonical,
  crossingQuestions,
  echoRing,
  slowPlanner,
  closedRecipient,
  lateReply,
  stalledChild,
];

/** @throws ConfigError `invalid_argument` with the names that there are. */
export function findScenario(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((scenario) => scenario.name).join(', ');
  throw new ConfigError('invalid_argument', `There is no scenario "${name}"; there is ${names}.`);
}
