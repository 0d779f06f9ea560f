import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';
import type { ModelRequest } from '../support/scripted-model.ts';

let herd: PiChildren;
beforeAll(async () => {
  herd = await openPiChildren();
  await Promise.all([
    herd.shepherd.spawn({ agent: 'scout', label: 'looks' }),
    herd.shepherd.spawn({ agent: 'planner', label: 'the plan' }),
  ]);
}, 120_000);
afterAll(() => herd.close());

/** The planner's name, as the roster told it. */
function nameFrom({ last }: ModelRequest): string {
  const [, name = ''] = /^- (planner: [^(]+) \(shepherd-agent-/m.exec(last) ?? [];
  return name;
}

it('tells a child who is there, by names that shepherd_message takes, and how its messages stand', async () => {
  herd.script('planner', { text: 'I see.' });
  herd.script(
    'scout',
    { toolCalls: [call('shepherd_roster', {})] },
    (request) => ({
      toolCalls: [
        call('shepherd_message', {
          target: nameFrom(request),
          message: 'Where do I begin?',
          expectsReply: true,
        }),
      ],
    }),
    { toolCalls: [call('shepherd_roster', {})] },
    { toolCalls: [call('shepherd_done', { status: 'blocked', summary: 'I have seen it.' })] },
  );

  const { taskId } = await herd.shepherd.delegate({ target: 'scout', task: 'Ask the planner.' });
  await herd.shepherd.settled(taskId);

  const [begin, first, , second] = herd.requests('scout');
  expect(begin?.tools).toContain('shepherd_roster');
  expect(begin?.system).toContain('shepherd_roster');
  expect(first?.last).toMatch(
    /^You are scout: looks \(.*The others:\n- planner: the plan \(shepherd-agent-\w+\), idle: Turns a goal into a short plan/s,
  );
  expect(second?.last).toMatch(
    /Open questions:\n- (shepherd-message-\w+): you wait for planner: the plan, until .*Your latest messages, oldest first:\n- \1 to planner: the plan: (queued|delivered|seen)/s,
  );
});
