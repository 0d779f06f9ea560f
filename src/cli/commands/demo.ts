/** `sheepfold demo`: plays scout asks planner on real Pi and tells the story. */
import { playCanonicalFlow } from '../demo/canonical-flow.ts';
import type { StoryLine } from '../demo/story.ts';
import type { Command } from '../command.ts';
import { paint, taskStyles } from '../terminal.ts';

export const demo: Command = {
  summary: 'plays the canonical flow on real Pi with a scripted model (no account, no network)',
  options: { json: { type: 'boolean' } },
  async run({ values, out, err, signal }) {
    const json = values['json'] === true;
    const startedAtMs = Date.now();
    if (!json) out(introduction);
    const { report, faults } = await playCanonicalFlow({
      signal,
      tell: (line) => {
        if (!json) out(storyLine(line, startedAtMs));
      },
    });
    if (json) out(JSON.stringify(report, null, 2));
    else {
      const [task] = report.tasks;
      out('');
      out(`Task states: ${task?.states.join(' → ') ?? 'none'}`);
      for (const { status, count } of report.notifications) {
        out(
          `The Shepherd's own Pi session was told “${status}” ${count === 1 ? 'once' : `${count} times`}.`,
        );
      }
      out(`Files of the session: ${report.session ?? 'none'}`);
      out(paint(report.ok ? 'green' : 'red', verdict(report.ok, report.elapsedMs)));
    }
    for (const fault of faults) err(`demo: ${fault}`);
    return report.ok ? 0 : 1;
  },
};

const introduction = [
  'A Shepherd and two children, each a real Pi process; the model is a script on this machine.',
  'Watch for the one rule: a turn that ends is not a task that is done.',
  '',
].join('\n');

function storyLine({ atMs, who, what, state }: StoryLine, startedAtMs: number): string {
  const seconds = ((atMs - startedAtMs) / 1000).toFixed(1).padStart(5);
  const style = state === undefined ? undefined : (taskStyles[state] ?? 'cyan');
  return `${paint('dim', `${seconds} s`)}  ${paint('bold', who.padEnd(14))}  ${style === undefined ? what : paint(style, what)}`;
}

function verdict(ok: boolean, elapsedMs: number): string {
  const seconds = (elapsedMs / 1000).toFixed(1);
  return ok ? `Ended as it must, in ${seconds} s.` : `Did not end as it must (${seconds} s).`;
}
