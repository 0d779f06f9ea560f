/** Each scenario of `sheepfold demo`, played once on real Pi: what its JSON document says. */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  demoReportSchema,
  findFaults,
  outlineOf,
  type DemoReport,
} from '../../src/cli/demo/report.ts';
import { findScenario, scenarios } from '../../src/cli/demo/scenarios/index.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function demo(...args: readonly string[]): Promise<Ended> {
  const argv = [join(root, 'src/cli/main.ts'), 'demo', ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, argv, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

/** Plays it, removes its files, and returns the document. */
async function play(scenario: string): Promise<DemoReport> {
  const { code, stdout, stderr } = await demo('--scenario', scenario, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const report = demoReportSchema.parse(JSON.parse(stdout));
  const home = join(report.session ?? '', '../../../..');
  expect(home).toMatch(/sheepfold-demo-\w+$/);
  await rm(home, { recursive: true });
  expect(report).toMatchObject({ ok: true, scenario });
  expect(report.notifications.map(({ count }) => count)).toEqual(report.tasks.map(() => 1));
  return report;
}

const taskOf = ({ tasks }: DemoReport, agent: string) => tasks.find((task) => task.agent === agent);
const waited = ['created', 'running', 'waiting', 'running', 'completed'];

describe('sheepfold demo --scenario', { timeout: 90_000 }, () => {
  it('crossing-questions refuses one question with the path, and has the other answered', async () => {
    const report = await play('crossing-questions');

    const { requests, refusals } = report.conversation ?? {};
    expect(requests).toMatchObject([
      { requestId: expect.stringMatching(/^shepherd-message-/), state: 'answered' },
    ]);
    expect(report.tasks.map(({ taskId }) => taskId)).toContain(requests?.[0]?.taskId);
    expect(refusals).toMatchObject([{ code: 'wait_cycle', from: requests?.[0]?.to }]);
    expect(refusals?.[0]?.message).toMatch(
      /(scout: survey|planner: plan) → (?!\1)(scout: survey|planner: plan) → \1\./,
    );
    expect(report.tasks.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(report.tasks.map(({ states }) => states)).toContainEqual(waited);
  });

  it('echo-ring is ended by the hop limit, and told of once', async () => {
    const report = await play('echo-ring');

    const { refusals, notices } = report.conversation ?? {};
    expect(refusals).toMatchObject([{ from: 'worker: three', code: 'hop_limit' }]);
    expect(notices).toMatchObject([{ kind: 'shepherd.notice', code: 'hop_limit' }]);
    expect(notices?.[0]?.text).toContain('answered each other 8 times in a row');
    expect(report.tasks.map(({ agent, status }) => [agent, status])).toEqual([
      ['scout', 'cancelled'],
      ['planner', 'cancelled'],
      ['worker', 'completed'],
    ]);
  });

  it('slow-planner reminds once, then blocks the task by planner, and keeps its late reply', async () => {
    const report = await play('slow-planner');

    expect(taskOf(report, 'scout')).toMatchObject({
      status: 'blocked',
      returnCode: 2,
      summary: expect.stringMatching(/^reply_deadline: planner: plan did not answer/) as string,
      states: ['created', 'running', 'waiting', 'blocked'],
    });
    expect(report.conversation).toMatchObject({
      requests: [{ to: 'planner: plan', state: 'expired' }],
      refusals: [{ from: 'planner: plan', code: 'request_settled' }],
      lateEvents: [{ from: 'planner: plan', kind: 'reply', text: 'With the mailbox.' }],
      notices: [{ kind: 'shepherd.stale.wait' }],
    });
  });

  it('closed-recipient settles the question at once, and scout completes on its own', async () => {
    const report = await play('closed-recipient');

    expect(taskOf(report, 'scout')).toMatchObject({
      states: waited,
      summary: 'Surveyed without planner.',
    });
    expect(report.conversation?.requests).toMatchObject([{ state: 'recipient_gone' }]);
    expect(report.agents).toMatchObject([
      { agent: 'scout', state: 'idle' },
      { agent: 'planner', state: 'closed' },
    ]);
  });

  it('late-reply refuses the reply to a cancelled question, and keeps it with the task', async () => {
    const report = await play('late-reply');

    const scout = taskOf(report, 'scout');
    expect(scout).toMatchObject({ states: waited, summary: 'Surveyed without planner.' });
    expect(report.conversation).toMatchObject({
      requests: [{ state: 'cancelled' }],
      refusals: [{ from: 'planner: plan', code: 'request_settled' }],
      lateEvents: [{ taskId: scout?.taskId, from: 'planner: plan', kind: 'reply' }],
    });
  });

  it('stalled-child replaces the child, and the task completes through the fresh one', async () => {
    const report = await play('stalled-child');

    expect(taskOf(report, 'scout')).toMatchObject({
      states: ['created', 'running', 'completed'],
      summary: 'The second look found everything.',
    });
    expect(report.conversation?.notices).toMatchObject([
      { kind: 'shepherd.stall', code: 'recovered' },
    ]);
  });
});

describe('the scenarios', () => {
  it('are listed by the help, and by the refusal of an unknown one', async () => {
    const names = scenarios.map(({ name }) => name);

    const [help, unknown] = await Promise.all([demo('--help'), demo('--scenario', 'nosuch')]);

    expect(help.code).toBe(0);
    for (const name of names) expect(help.stdout).toContain(`\n  ${name}\n`);
    expect(unknown).toEqual({
      code: 1,
      stdout: '',
      stderr: `sheepfold: invalid_argument: There is no scenario "nosuch"; there is ${names.join(', ')}.\n`,
    });
  });

  it.each(scenarios)('has $name in the README as it is checked', async ({ name, shows, ends }) => {
    const readme = (await readFile(join(root, 'README.md'), 'utf8')).replaceAll(/ +/g, ' ');

    expect(readme).toContain(`| \`${name}\` | ${shows} | ${ends} |`);
  });

  it('are not ok when they end otherwise', () => {
    const task = { taskId: 't', agent: 'scout', label: 'survey', returnCode: 0, summary: null };
    const tasks = [{ ...task, status: 'completed', states: ['created', 'running', 'completed'] }];
    const found = outlineOf({
      agents: [],
      tasks,
      requests: [],
      refusals: [],
      lateEvents: [],
      notices: [],
      notifications: [],
    });

    const faults = findFaults(
      { tasks, notifications: [] },
      found,
      findScenario('late-reply').mustEnd(found),
    );

    expect(faults).toEqual([
      'tasks: scout: survey created running completed, not scout: survey created running waiting running completed',
      'questions: none, not scout: survey → planner: plan cancelled',
      'refusals: none, not planner: plan request_settled',
      'lateEvents: none, not planner: plan reply',
      'the Shepherd was told 0 times instead of once',
    ]);
  });
});
