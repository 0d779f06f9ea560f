import { describe, expect, it } from 'vitest';
import { registerChild } from '../../src/pi/child/session.ts';
import { createHandParent, peerId, type HandParent } from './support/hand-parent.ts';
import { calls, says, startPi } from './support/pi-session.ts';

const messageId = `shepherd-message-${'q'.repeat(24)}`;
const you = { id: 'shepherd-agent-scout0000000', name: 'scout: api' };

async function callRoster(parent: HandParent) {
  const pi = await startPi({ extensions: [(api) => registerChild(api, parent.identity)] });
  pi.script(says([calls('shepherd_roster', {})], { stopReason: 'toolUse' }), says('I see.'));
  await pi.session.prompt('go');
  const result = pi.session.messages.findLast(({ role }) => role === 'toolResult');
  if (result?.role !== 'toolResult') throw new Error('No tool was called.');
  return { pi, result, text: pi.requests.at(-1)?.at(-1) };
}

describe('shepherd_roster', () => {
  it('tells who is there, what is asked, and how far messages came', async () => {
    const parent = createHandParent();
    const data = {
      you,
      agents: [
        {
          id: peerId,
          name: 'planner: plan',
          purpose: 'Plans.',
          state: 'idle',
          taskState: 'waiting',
        },
        { id: 'shepherd-agent-worker000000', name: 'worker: w', purpose: 'Works.', state: 'idle' },
      ],
      questions: [
        { requestId: messageId, askedOf: 'planner: plan', deadlineAtMs: 0 },
        { requestId: messageId, askedBy: 'worker: w', deadlineAtMs: 60_000 },
      ],
      messages: [{ messageId, to: 'planner: plan', receipt: 'seen' }],
    };
    parent.answer = () => ({ ok: true, data });

    const { result, text } = await callRoster(parent);

    expect(parent.ofKind('roster')).toMatchObject([{ targetId: 'shepherd' }]);
    expect(text).toBe(
      [
        `You are scout: api (${you.id}).`,
        '',
        'The others:',
        `- planner: plan (${peerId}), idle, task waiting: Plans.`,
        '- worker: w (shepherd-agent-worker000000), idle: Works.',
        '',
        'The Shepherd is "shepherd".',
        '',
        'Open questions:',
        `- ${messageId}: you wait for planner: plan, until 1970-01-01T00:00:00.000Z`,
        `- ${messageId}: worker: w waits for you, until 1970-01-01T00:01:00.000Z`,
        '',
        'Your latest messages, oldest first:',
        `- ${messageId} to planner: plan: seen`,
      ].join('\n'),
    );
    expect(result).toMatchObject({ isError: false, details: data });
  });

  it('says that nobody else is there', async () => {
    const parent = createHandParent();
    parent.answer = () => ({ ok: true, data: { you, agents: [], questions: [], messages: [] } });

    const { text } = await callRoster(parent);

    expect(text).toBe(
      `You are scout: api (${you.id}).\n\nNo other agent is here.\n\nThe Shepherd is "shepherd".`,
    );
  });

  it('fails without an answer in time, and invents nothing', async () => {
    const parent = createHandParent();
    parent.answer = () => undefined;

    const { result, text } = await callRoster(parent);

    expect(result.isError).toBe(true);
    expect(text).toMatch(/^broker_unavailable: The Shepherd has not answered in time/);
  });

  it('is told to the model as the way to find a name', async () => {
    const parent = createHandParent();
    const pi = await startPi({ extensions: [(api) => registerChild(api, parent.identity)] });

    const roster = pi.tools().find(({ name }) => name === 'shepherd_roster');

    expect(roster?.promptGuidelines?.join()).toContain('call shepherd_roster');
  });
});
