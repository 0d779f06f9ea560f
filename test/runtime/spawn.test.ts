import { describe, expect, it } from 'vitest';
import { HostError } from '../../src/errors.ts';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import { eventually, openHerd, startMs, textsOf } from '../support/herd.ts';

describe('a spawn', () => {
  it('is ready only after the child’s own hello', async () => {
    const herd = await openHerd();
    const { spawned, child } = herd.launch('scout', 'one');
    let ready = false;
    void spawned.then(() => (ready = true));
    expect(herd.shepherd.status(child.id).state).toBe('starting');

    child.turn('turn_started');
    child.turn('turn_settled');
    await child.roster();
    expect(ready).toBe(false);
    child.hello();

    expect(await spawned).toEqual({ id: child.id, agent: 'scout', label: 'one', model: null });
    expect(herd.shepherd.status(child.id)).toMatchObject({ state: 'idle', agent: 'scout' });
  });

  it('fails at the spawn deadline, with what the child printed, and ends it', async () => {
    const herd = await openHerd();
    const { spawned, child } = herd.launch('scout', 'one');
    const failure = spawned.catch((error: unknown) => error);
    await eventually(() => expect(herd.host.launches).toHaveLength(1));
    herd.host.print(herd.host.launches[0]?.launchId ?? '', 'no model "grass"');

    herd.advanceTo(startMs + defaultPolicy.spawnTimeoutMs - 1);
    await child.roster();
    expect(herd.shepherd.status(child.id).state).toBe('starting');
    herd.advanceTo(startMs + defaultPolicy.spawnTimeoutMs);
    expect(await failure).toMatchObject({
      code: 'spawn_deadline',
      message: expect.stringContaining('no model "grass"'),
    });

    expect(herd.shepherd.status(child.id).state).toBe('failed');
    const place = [...herd.pasture.world.places.values()][0];
    await eventually(() => expect(place?.exit).toBeDefined());
  });

  it('beats the deadline with a hello sent in time, however late it is read', async () => {
    const herd = await openHerd();
    const { spawned, child } = herd.launch('scout', 'one');
    herd.pasture.nowMs = startMs + defaultPolicy.spawnTimeoutMs;
    child.hello();

    herd.advanceTo(startMs + 10 * defaultPolicy.spawnTimeoutMs);

    await expect(spawned).resolves.toMatchObject({ id: child.id });
  });

  it('fails with the reason when the place cannot be opened', async () => {
    const herd = await openHerd();
    herd.host.failNextOpen(new HostError('launch_failed', 'there is no pi here'));

    const spawned = herd.shepherd.spawn({ agent: 'scout', label: 'one' });

    await expect(spawned).rejects.toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('there is no pi here'),
    });
    expect(herd.shepherd.agents()).toMatchObject([{ state: 'failed' }]);
  });

  it('fails with the child’s output when it ends before its hello', async () => {
    const herd = await openHerd();
    const { spawned, child } = herd.launch('scout', 'one');
    const failure = spawned.catch((error: unknown) => error);
    await eventually(() => expect(herd.host.launches).toHaveLength(1));

    herd.host.exit(`${child.id}.1`, { code: 1, output: 'bad flag' });

    expect(await failure).toMatchObject({
      code: 'launch_failed',
      message: expect.stringMatching(/code 1.*bad flag/s),
    });
  });

  it('frees its label when it failed', async () => {
    const herd = await openHerd();
    herd.host.failNextOpen();
    await expect(herd.shepherd.spawn({ agent: 'scout', label: 'one' })).rejects.toMatchObject({
      code: 'launch_failed',
    });

    await expect(herd.hatch('one')).resolves.toBeDefined();
  });

  it('ends the child when the caller gives up', async () => {
    const herd = await openHerd();
    const caller = new AbortController();
    const spawned = herd.shepherd.spawn({ agent: 'scout', label: 'one' }, caller.signal);
    const failure = spawned.catch((error: unknown) => error);

    caller.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });

    expect(herd.shepherd.agents()).toMatchObject([{ state: 'closed' }]);
  });

  it.each([
    ['an unknown definition', { agent: 'wolf', label: 'one' }, 'unknown_agent'],
    ['an empty label', { agent: 'scout', label: '' }, 'invalid_label'],
    ['a blank label', { agent: 'scout', label: ' ' }, 'invalid_label'],
    ['a colon in a label', { agent: 'scout', label: 'a:b' }, 'invalid_label'],
    ['a label of 65 characters', { agent: 'scout', label: 'x'.repeat(65) }, 'invalid_label'],
  ])('refuses %s and launches nothing', async (_name, options, code) => {
    const herd = await openHerd();

    await expect(herd.shepherd.spawn(options)).rejects.toMatchObject({ code });

    expect(herd.shepherd.agents()).toEqual([]);
    expect(herd.host.launches).toEqual([]);
  });

  it('refuses a label that a live agent of that definition has, and no other', async () => {
    const herd = await openHerd();
    await herd.hatch('one');

    await expect(herd.shepherd.spawn({ agent: 'scout', label: 'one' })).rejects.toMatchObject({
      code: 'duplicate_label',
    });
    await expect(herd.hatch('one', 'planner')).resolves.toBeDefined();
  });

  it('gives the label free when its agent is closed', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    await herd.shepherd.close(child.id);

    await expect(herd.hatch('one')).resolves.not.toMatchObject({ id: child.id });
  });

  it('passes the definition’s or the parent’s model and the working directory on', async () => {
    const herd = await openHerd({ model: () => 'grass/green' });
    await herd.hatch('one');

    expect(herd.host.launches[0]).toMatchObject({ cwd: herd.pasture.dir, label: 'scout: one' });
    expect(herd.shepherd.agents()).toMatchObject([{ model: 'grass/green' }]);
  });

  it('tells the Shepherd of a child without our tools', async () => {
    const herd = await openHerd();
    const { spawned, child } = herd.launch('scout', 'one');

    child.hello(['read', 'shepherd_message']);
    await spawned;

    expect(textsOf(herd, 'shepherd.notice')).toEqual([
      'scout: one runs without shepherd_done: it cannot settle a task itself.',
    ]);
  });
});
