import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playScenario, type Performance } from '../../src/cli/demo/play.ts';
import { demoReportSchema } from '../../src/cli/demo/report.ts';
import { canonical } from '../../src/cli/demo/scenarios/canonical.ts';
import type { StoryLine } from '../../src/cli/demo/story.ts';

describe('scout asks planner, three real Pi processes', () => {
  const lines: StoryLine[] = [];
  let root: string;
  let flow: Performance;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'sheepfold-flow-'));
    flow = await playScenario(canonical, {
      root,
      tell: (line) => lines.push(line),
      limitMs: 100_000,
    });
  }, 120_000);
  afterAll(() => rm(root, { recursive: true }));

  const story = () => lines.map(({ who, what }) => `${who} ${what}`);

  it('ends as it must, with every process ended', () => {
    expect(flow.faults).toEqual([]);
    expect(demoReportSchema.parse(flow.report).ok).toBe(true);
  });

  it('takes the task through created, running, waiting, running, completed', () => {
    expect(flow.report.tasks).toMatchObject([
      {
        agent: 'scout',
        status: 'completed',
        returnCode: 0,
        states: ['created', 'running', 'waiting', 'running', 'completed'],
      },
    ]);
  });

  it('tells the Shepherd exactly once, counted in its own Pi session', () => {
    expect(flow.report.notifications).toEqual([
      { taskId: flow.report.tasks[0]?.taskId, status: 'completed', count: 1 },
    ]);
  });

  it('leaves the task waiting while scout is idle and planner is busy', () => {
    const told = story();
    const waiting = told.indexOf('scout: survey task is waiting');
    const idle = told.findIndex(
      (line, at) => at > waiting && line.startsWith('scout: survey is idle'),
    );
    const answered = told.indexOf('planner: plan answers scout: survey');

    expect(waiting).toBeGreaterThan(
      told.findIndex((line) => line.startsWith('planner: plan works')),
    );
    expect(idle).toBeGreaterThan(waiting);
    expect(answered).toBeGreaterThan(idle);
    expect(told.indexOf('the Shepherd is woken with the result')).toBeGreaterThan(answered);
  });
});
