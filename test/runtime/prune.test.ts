import { describe, expect, it } from 'vitest';
import { eventually, openHerd } from '../support/herd.ts';

describe('prune', () => {
  it('forgets what is over and told of; what lives, its last task and its open one stay', async () => {
    const herd = await openHerd();
    const [gone, idle, busy] = [
      await herd.hatch('gone'),
      await herd.hatch('idle'),
      await herd.hatch('busy'),
    ];
    const old = await herd.delegate(idle, 'First.');
    await idle.done('completed', { summary: 'One.' });
    const last = await herd.delegate(idle, 'Second.');
    await idle.done('completed', { summary: 'Two.' });
    const open = await herd.delegate(busy);
    const lost = await herd.delegate(gone);
    await herd.shepherd.close(gone.id);
    await eventually(() =>
      expect(herd.store.all('effect').filter(({ type }) => type !== 'note')).toEqual([]),
    );

    const pruned = herd.shepherd.prune();

    expect(pruned).toMatchObject({ agents: 1, tasks: 2, pruned: 3 });
    expect(herd.shepherd.agents().map(({ id }) => id)).toEqual([idle.id, busy.id]);
    expect(herd.shepherd.tasks().map(({ id }) => id)).toEqual([last, open]);
    for (const id of [old, lost]) expect(() => herd.shepherd.task(id)).toThrow('There is no task');
    expect(herd.shepherd.prune()).toMatchObject({ pruned: 0, remaining: 4 });
  });

  it('keeps a task whose outcome has not been told yet', async () => {
    const refused = await openHerd({ notify: () => new Promise(() => undefined) });
    const child = await refused.hatch('one');
    const taskId = await refused.delegate(child);
    await child.done('completed', { summary: 'One.' });
    const next = await refused.delegate(child, 'Another.');
    expect(refused.shepherd.prune().tasks).toBe(0);
    expect(refused.shepherd.tasks().map(({ id }) => id)).toEqual([taskId, next]);
  });
});
