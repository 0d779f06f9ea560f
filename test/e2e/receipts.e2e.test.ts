/** How far messages come between real Pis: to a child, and to the Shepherd. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import { viewMessage } from '../../src/runtime/views.ts';
import { heldStep, limits, openPiChildren } from '../support/pi-children.ts';
import { call, startPiShepherd } from '../support/pi-shepherd.ts';
import type { ModelReply, ModelRequest } from '../support/scripted-model.ts';

const done: ModelReply = { toolCalls: [call('shepherd_done', { status: 'completed' })] };

/** Tells the Shepherd something, and answers what it asked. */
function tellAndAnswer({ last }: ModelRequest): ModelReply {
  const [, target, replyTo] = /target "([^"]+)", replyTo "([^"]+)"/.exec(last) ?? [];
  return {
    toolCalls: [
      call('shepherd_message', { target: 'shepherd', message: 'By the way.' }),
      call('shepherd_message', { target, replyTo, message: 'Blue.' }),
    ],
  };
}

describe('receipts', () => {
  it('of what a child gets reach seen with its next answer, passive messages too', async () => {
    const herd = await openPiChildren();
    onTestFinished(() => herd.close());
    const { id: scout } = await herd.shepherd.spawn({ agent: 'scout', label: 's' });
    const receiptOf = (id: string) => herd.shepherd.messages(id)[0]?.receipt;
    const thinking = heldStep(done);
    herd.script('scout', thinking.step);

    const { messageId } = await herd.shepherd.message({ target: scout, message: 'FYI' });
    await vi.waitFor(() => expect(receiptOf(messageId)).toBe('delivered'), limits);
    const { taskId } = await herd.shepherd.delegate({ target: scout, task: 'Count the flock.' });
    const ofTask = () => herd.shepherd.messages(taskId)[0]?.receipt;
    await vi.waitFor(() => expect(ofTask()).toBe('delivered'), limits);
    expect(receiptOf(messageId)).toBe('delivered');
    thinking.letGo();

    await herd.shepherd.settled(taskId);
    await vi.waitFor(
      () => expect([receiptOf(messageId), ofTask()]).toEqual(['seen', 'seen']),
      limits,
    );
  }, 120_000);

  it('of what the Shepherd gets reach seen with its next answer, passive messages too', async () => {
    const ask = { target: 'scout', message: 'Which?', expectsReply: true };
    const shepherd = await startPiShepherd({
      shepherd: [
        { toolCalls: [call('shepherd_spawn', { agent: 'scout', label: 's' })] },
        { toolCalls: [call('shepherd_message', ask)] },
        { text: 'I wait.' },
        { text: 'Noted.' },
      ],
      scout: [tellAndAnswer, { text: 'Said.' }],
    });
    onTestFinished(() => shepherd.close());

    await shepherd.prompt('go');
    await shepherd.notices('shepherd.message.reply');

    const sessions = join(shepherd.isolated.workDir, '.shepherd', 'sessions');
    const [name = ''] = readdirSync(sessions).filter((entry) => /^\d/.test(entry));
    const store = openSessionStore(join(sessions, name, 'session.db'), { readOnly: true });
    onTestFinished(() => store.close());
    const toShepherd = () =>
      store
        .all('message')
        .filter(({ targetId }) => targetId === 'shepherd')
        .map((message) => viewMessage(store, message));
    await vi.waitFor(
      () =>
        expect(toShepherd()).toMatchObject([
          { kind: 'message', receipt: 'seen' },
          { kind: 'reply', receipt: 'seen' },
        ]),
      limits,
    );
  }, 120_000);
});
