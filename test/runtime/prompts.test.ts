import { describe, expect, it } from 'vitest';
import { eventually, openHerd, type TestHerd } from '../support/herd.ts';

const told = (herd: TestHerd) =>
  herd.notices.filter(({ kind }) => kind === 'shepherd.prompt.completion');

/** Begins and ends the turn that the child was woken for. */
async function turn(
  child: Awaited<ReturnType<TestHerd['hatch']>>,
  content: string,
  more: { readonly aborted?: boolean } = {},
): Promise<void> {
  await child.receives('notice', ({ code }) => code === 'prompt');
  child.turn('turn_started');
  child.turn('turn_settled', { content, ...more });
}

describe('a prompt', () => {
  it('is one turn of the child, and wakes its watcher once with what it said', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const { promptId } = herd.shepherd.prompt({ target: 'scout: one', message: 'Say something.' });
    expect(promptId).toMatch(/^shepherd-prompt-/);
    expect(herd.shepherd.watchPrompts(promptId)).toMatchObject({ pending: [promptId] });
    await turn(child, 'Something.');
    await eventually(() => {
      herd.advance(30);
      expect(told(herd)).toHaveLength(1);
    });
    expect(told(herd)[0]).toMatchObject({
      wake: true,
      text: `Prompted turn over: scout: one completed\n\n${promptId}: Something.`,
      details: { results: [{ promptId, agentId: child.id, status: 'completed' }] },
    });
    expect(herd.shepherd.tasks()).toEqual([]);
    expect(herd.shepherd.watchPrompts([promptId])).toMatchObject({
      pending: [],
      completed: [{ promptId, text: 'Something.' }],
    });
  });

  it('that nobody watches is told of passively, once', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const { promptId } = herd.shepherd.prompt({ target: child.id, message: 'Go.' });
    await turn(child, 'Gone.', { aborted: true });
    await eventually(() =>
      expect(herd.notices.filter(({ text }) => text.includes(promptId))).toMatchObject([
        { kind: 'shepherd.notice', wake: false, details: { status: 'cancelled' } },
      ]),
    );
  });

  it('is refused beside a task or another one, and a task beside it, unless it may wait', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const prompt = () => herd.shepherd.prompt({ target: child.id, message: 'Go.' });
    prompt();
    expect(prompt).toThrow('is in a turn');
    await expect(
      herd.shepherd.delegate({ target: child.id, task: 'Count.' }),
    ).rejects.toMatchObject({ code: 'active_prompt' });
    const held = await herd.shepherd.delegate({ target: child.id, task: 'Count.', queue: true });
    expect(held).toMatchObject({ position: 1 });
    await turn(child, 'Gone.');
    await child.receives('task', ({ taskId }) => taskId === held.taskId);
    expect(prompt).toThrow(held.taskId);
  });

  it.each([
    [{ target: 'nobody', message: 'x' }, 'invalid_target'],
    [{ target: 'shepherd', message: 'x' }, 'invalid_target'],
    [{ target: 'one', message: ' ' }, 'invalid_argument'],
    [{ target: 'one', message: 'x'.repeat(50_001) }, 'message_too_large'],
  ])('%j is refused as %s', async (options, code) => {
    const herd = await openHerd();
    await herd.hatch('one');
    expect(() => herd.shepherd.prompt(options)).toThrow(expect.objectContaining({ code }) as Error);
  });

  it('ends as failed with its agent, and is never watched as a task', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const { promptId } = herd.shepherd.prompt({ target: child.id, message: 'Go.' });
    expect(() => herd.shepherd.watch(promptId)).toThrow('There is no task');
    expect(() => herd.shepherd.watchPrompts('shepherd-prompt-none')).toThrow('There is no prompt');
    herd.host.exit(`${child.id}.1`);
    await eventually(() =>
      expect(herd.store.get('prompt', promptId)?.result).toMatchObject({ status: 'failed' }),
    );
  });

  it('is watched on over a restart, and told once', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const { promptId } = herd.shepherd.prompt({ target: child.id, message: 'Go.' });
    herd.shepherd.watchPrompts(promptId);
    herd.abandon();
    const again = await herd.reopen();
    await turn(child, 'Gone.');
    await eventually(() => {
      again.advance(30);
      expect(told(again)).toHaveLength(1);
    });
    expect(again.shepherd.watchPrompts(promptId).completed).toHaveLength(1);
  });
});
