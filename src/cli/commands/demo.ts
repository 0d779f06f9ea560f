/** `sheepfold demo`: plays a scenario on real Pi, by default scout asks planner, and tells the story. */
import { playScenario, type Performance } from '../demo/play.ts';
import type { DemoReport } from '../demo/report.ts';
import { findScenario, scenarios } from '../demo/scenarios/index.ts';
import type { StoryLine } from '../demo/story.ts';
import type { Command } from '../command.ts';
import { textOf } from '../sessions.ts';
import { paint, taskStyles } from '../terminal.ts';

export const demo: Command = {
  summary:
    'plays the canonical flow, or another scenario, on real Pi with a scripted model (no account, no network)',
  options: { scenario: { type: 'string' }, json: { type: 'boolean' } },
  details: [
    '',
    'Scenarios, for --scenario <name>:',
    ...scenarios.flatMap(({ name, shows, ends }) => [
      `  ${name}`,
      `      ${shows}:`,
      `      ${ends}`,
    ]),
  ],
  async run({ values, out, err, signal }) {
    const json = values['json'] === true;
    const wanted = textOf(values, 'scenario');
    const scenario = wanted === undefined ? scenarios[0] : findScenario(wanted);
    const startedAtMs = Date.now();
    if (!json) {
      const lines =
        wanted === undefined
          ? introduction
          : [`What it shows: ${scenario.shows}.`, `How it ends: ${scenario.ends}.`];
      out([...lines, ''].join('\n'));
    }
    const { report, faults } = await playScenario(scenario, {
      signal,
      tell: (line) => {
        if (!json) out(storyLine(line, startedAtMs));
      },
    });
    if (json) out(JSON.stringify(documentOf(report, wanted), null, 2));
    else for (const line of summaryOf(report)) out(line);
    for (const fault of faults) err(`demo: ${fault}`);
    return report.ok ? 0 : 1;
  },
};

const introduction = [
  'A Shepherd and two children, each a real Pi process; the model is a script on this machine.',
  'Watch for the one rule: a turn that ends is not a task that is done.',
];

/** Of the default run only what it always had; of a scenario that was asked for, what was said as well. */
function documentOf(report: Performance['report'], scenario: string | undefined): DemoReport {
  const { ok, conversation, ...rest } = report;
  return scenario === undefined ? { ok, ...rest } : { ok, scenario, ...rest, conversation };
}

function summaryOf(report: Performance['report']): readonly string[] {
  const { tasks, notifications, session, ok, elapsedMs } = report;
  const isOne = tasks.length === 1;
  const ofTask = (taskId: string): string => {
    const task = tasks.find((one) => one.taskId === taskId);
    return isOne || task === undefined ? '' : ` of ${task.agent}: ${task.label}`;
  };
  return [
    '',
    ...tasks.map(({ taskId, states }) => `Task states${ofTask(taskId)}: ${states.join(' → ')}`),
    ...(tasks.length === 0 ? ['Task states: none'] : []),
    ...notifications.map(({ taskId, status, count }) => {
      const times = count === 1 ? 'once' : `${count} times`;
      return `The Shepherd's own Pi session was told “${status}”${ofTask(taskId)} ${times}.`;
    }),
    `Files of the session: ${session ?? 'none'}`,
    paint(ok ? 'green' : 'red', verdict(ok, elapsedMs)),
  ];
}

function storyLine({ atMs, who, what, state }: StoryLine, startedAtMs: number): string {
  const seconds = ((atMs - startedAtMs) / 1000).toFixed(1).padStart(5);
  const style = state === undefined ? undefined : (taskStyles[state] ?? 'cyan');
  return `${paint('dim', `${seconds} s`)}  ${paint('bold', who.padEnd(14))}  ${style === undefined ? what : paint(style, what)}`;
}

function verdict(ok: boolean, elapsedMs: number): string {
  const seconds = (elapsedMs / 1000).toFixed(1);
  return ok ? `Ended as it must, in ${seconds} s.` : `Did not end as it must (${seconds} s).`;
}
