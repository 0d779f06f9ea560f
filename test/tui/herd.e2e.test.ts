/** What a Pi user sees, in a real terminal. */
import { afterEach, describe, expect, it } from 'vitest';
import { ask, complete, delegate, spawn, watchTasks } from '../../src/cli/demo/phrases.ts';
import { heldStep } from '../support/pi-children.ts';
import { hasTmux } from './has-tmux.ts';
import { startPiTui, type PiTui } from './pi-tui.ts';

let tui: PiTui | undefined;
afterEach(() => tui?.close(), 60_000);

const parts = [
  { agent: 'scout', label: 'survey', task: 'Survey the fence.' },
  { agent: 'planner', label: 'plan' },
];

describe.skipIf(!hasTmux)('the herd on a screen', () => {
  it('has rows, a footer, what waits for whom, and the result; it outlives a reload', async () => {
    const answer = heldStep({ text: 'I think.' });
    const shepherdWaits = heldStep({ text: 'I look.' });
    tui = await startPiTui({
      shepherd: [
        spawn(parts),
        delegate(parts),
        watchTasks,
        { text: 'I am free.' },
        { text: 'The fence is seen to.' },
        shepherdWaits.step,
      ],
      scout: [
        ask('planner', 'Which gate first?'),
        { text: 'I wait.' },
        complete(
          'North gate first.\nThe hinges are loose.\nThe lock is fine.\nThe paint is old.\nThe post stands.\nThe wire holds.\nThe sign is gone.',
        ),
      ],
      planner: [answer.step],
    });
    const { terminal } = tui;
    await terminal.shows('m');
    await terminal.enter('go');

    const waiting = await terminal.shows(/╭─ shepherd ─── 1 working · 1 waiting ─+╮/);
    expect(waiting).toMatch(/… 00:\d\d {2}scout: survey ⏳0m ←planner: plan +waiting │/);
    expect(waiting).toContain('🐑');
    expect(/╭─ shepherd[\s\S]+╯/.exec(waiting)?.[0]).not.toMatch(/shepherd-(agent|task)-/);
    for (const line of waiting.split('\n')) expect(line.length).toBeLessThanOrEqual(100);

    await terminal.enter('/shepherd status scout: survey');
    await terminal.shows(/waiting on planner: plan for/);

    await terminal.enter('/reload');
    await terminal.shows(/Reloaded|reloaded/);
    await terminal.shows(/scout: survey ⏳0m ←planner: plan/);

    await terminal.resize(60, 40);
    const narrow = await terminal.shows(/╭─ shepherd/);
    expect(narrow).toContain('scout: survey');
    await terminal.resize(100, 40);

    await terminal.enter('/shepherd cancel');
    await terminal.shows('Usage: /shepherd cancel <task id | question id> [reason]');
    await terminal.enter('/shepherd colse x');
    await terminal.shows('the nearest is close');

    // Found by its label, taken by Tab.
    await terminal.type('/shepherd close pla');
    await terminal.shows(/→ planner: plan/);
    await terminal.press('Tab');
    await terminal.shows('/shepherd close planner: plan');
    await terminal.press('Enter');
    await terminal.shows('Task settled: scout: survey completed');
    const collapsed = await terminal.shows('The fence is seen to.');
    expect(collapsed).toMatch(/North gate first\. … ctrl\+o for all/);
    expect(collapsed).not.toContain('The hinges are loose.');
    await terminal.press('C-o');
    expect(await terminal.shows('The sign is gone.')).toMatch(
      /scout: survey: \d+ turns?, \d+ tool/,
    );
    answer.letGo();

    await terminal.enter('and now?');
    await terminal.shows(/Working/);
    await terminal.press('Escape');
    await terminal.shows(/aborted|Aborted/);
    expect(await terminal.screen()).toContain('scout: survey');
    shepherdWaits.letGo();

    await terminal.enter('/shepherd close scout: survey');
    await terminal.hides(/╭─ shepherd/);
  }, 180_000);

  it('has dialogs: the settings', async () => {
    tui = await startPiTui({ shepherd: [] });
    const { terminal } = tui;
    await terminal.shows('m');
    await terminal.type('/shepherd se');
    await terminal.shows(/settings/);
    await terminal.press('C-u');
    await terminal.enter('/shepherd settings');
    await terminal.shows('Settings of Sheepfold');
    await terminal.press('Enter');
    expect(await terminal.shows('keepOpen = true (default)')).toContain('agentScope = "user"');
    await terminal.press('Escape');
    await terminal.shows('Settings of Sheepfold');
    await terminal.press('Escape');
    await terminal.hides('Settings of Sheepfold');
  }, 120_000);
});
