import { describe, expect, it } from 'vitest';
import { openHerd, startMs } from '../support/herd.ts';

describe('a delegated task', () => {
  it('runs once it lies in the agent’s inbox, and reaches the child as it was written', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');

    const delegated = await herd.shepherd.delegate({ target: child.id, task: 'Count the flock.' });

    expect(delegated).toEqual({
      taskId: expect.stringMatching(/^shepherd-task-/),
      agentId: child.id,
      state: 'running',
    });
    expect(await child.receives('task')).toMatchObject({
      taskId: delegated.taskId,
      senderId: 'shepherd',
      targetId: child.id,
      content: 'Count the flock.',
    });
    expect(herd.shepherd.task(delegated.taskId)).toMatchObject({
      state: 'running',
      description: 'Count the flock.',
      states: [{ state: 'created' }, { state: 'running' }],
    });
    expect(herd.shepherd.status(child.id)).toMatchObject({
      state: 'idle',
      task: { id: delegated.taskId },
    });
  });

  it('carries its deadline to the child and has none by default', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');

    await herd.delegate(one, 'Hurry.', 60_000);
    await herd.delegate(two, 'Take your time.');

    expect(await one.receives('task')).toMatchObject({ deadlineAt: startMs + 60_000 });
    expect(await two.receives('task')).not.toHaveProperty('deadlineAt');
  });

  it('is settled by no turn that ends', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    child.turn('turn_started');
    child.turn('turn_settled', { content: 'Done! Everything is completed.' });
    await child.roster();

    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(herd.shepherd.status(child.id).state).toBe('idle');
  });

  it('is refused while the agent has another, which it names', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    await expect(herd.shepherd.delegate({ target: child.id, task: 'More.' })).rejects.toMatchObject(
      {
        code: 'active_task',
        retryable: true,
        message: expect.stringContaining(taskId),
      },
    );
    expect(herd.shepherd.tasks()).toHaveLength(1);
  });

  it('may follow another that has settled', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    await herd.delegate(child);
    await child.done('completed');

    const second = await herd.delegate(child, 'And now the lambs.');

    expect(herd.shepherd.task(second).state).toBe('running');
    expect(herd.shepherd.tasks().map((task) => task.state)).toEqual(['completed', 'running']);
  });

  it.each([
    ['a blank text', { task: ' \n ' }, 'invalid_task'],
    ['a timeout of 0', { timeoutMs: 0 }, 'invalid_timeout'],
    ['a negative timeout', { timeoutMs: -1 }, 'invalid_timeout'],
    ['an endless timeout', { timeoutMs: Infinity }, 'invalid_timeout'],
    ['a timeout that is no number', { timeoutMs: NaN }, 'invalid_timeout'],
    ['an unknown agent', { target: 'shepherd-agent-000000000000' }, 'invalid_target'],
    ['the Shepherd as its owner', { target: 'shepherd' }, 'invalid_task'],
    ['a text that is too long', { task: 'x'.repeat(1_048_577) }, 'message_too_large'],
  ])('is refused with %s, and nothing changes', async (_name, options, code) => {
    const herd = await openHerd();
    const child = await herd.hatch('one');

    await expect(
      herd.shepherd.delegate({ target: child.id, task: 'Count.', ...options }),
    ).rejects.toMatchObject({ code });

    expect(herd.shepherd.tasks()).toEqual([]);
    expect(herd.shepherd.status(child.id)).not.toHaveProperty('task');
    await expect(herd.delegate(child)).resolves.toBeDefined();
  });

  it.each([
    ['in characters', 'x'.repeat(50_001)],
    // Below the limit in characters, above it in bytes.
    ['in bytes', '羊'.repeat(30_000)],
    ['as large as it may be', '🐑'.repeat(262_144)],
  ])('whose text does not fit an envelope %s travels as a file', async (_name, task) => {
    const herd = await openHerd();
    const child = await herd.hatch('one');

    const taskId = await herd.delegate(child, task);

    const { content, attachment } = await child.receives('task');
    expect(content).toBe(task.slice(0, content.length));
    expect(content.length).toBeLessThan(5_000);
    expect(attachment && child.mailbox.readAttachment(attachment)).toBe(task);
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'running', description: task });
  });

  it('is refused for an agent that has ended, by its id', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    await herd.shepherd.close(child.id);

    await expect(
      herd.shepherd.delegate({ target: child.id, task: 'Count.' }),
    ).rejects.toMatchObject({ code: 'agent_closed' });
  });

  it('is refused when the inbox is full', async () => {
    const herd = await openHerd({ policy: { maxUnread: 2 } });
    const child = await herd.hatch('one');
    child.leave();
    for (const message of ['one', 'two']) {
      await herd.shepherd.message({ target: child.id, message });
    }

    await expect(
      herd.shepherd.delegate({ target: child.id, task: 'Count.' }),
    ).rejects.toMatchObject({ code: 'queue_full', retryable: true });
    expect(herd.shepherd.tasks()).toEqual([]);
  });

  it('is unknown by any other id', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');

    const unknown = expect.objectContaining({ code: 'unknown_task' });
    expect(() => herd.shepherd.task('shepherd-task-000000000000')).toThrow(unknown);
    expect(() => herd.shepherd.task(child.id)).toThrow(unknown);
    await expect(herd.shepherd.settled('t1')).rejects.toMatchObject({ code: 'unknown_task' });
    expect(() => herd.shepherd.status('shepherd-agent-000000000000')).toThrow(
      expect.objectContaining({ code: 'invalid_target' }),
    );
  });
});
