import type { AnyActorRef, InspectionEvent } from 'xstate';
import { describe, expect, it } from 'vitest';
import { eventually, openHerd, textsOf, type HerdOptions } from '../support/herd.ts';

/** A session whose live actors are at hand, by id: those that were rebuilt replace the old ones. */
async function openWatched(options: HerdOptions = {}) {
  const actors = new Map<string, AnyActorRef>();
  const herd = await openHerd({
    ...options,
    inspect: (event) => {
      if (event.type !== '@xstate.actor') return;
      const actor = event.actorRef as AnyActorRef;
      actors.set(actor.id, actor);
    },
  });
  /** Has the chart of an actor throw when it reads this; what is kept of it stays sound. */
  const spoil = async (actorId: string, field: string): Promise<void> => {
    await eventually(() => expect(actors.has(actorId)).toBe(true));
    const snapshot = actors.get(actorId)?.getSnapshot() as { context: object };
    Object.defineProperty(snapshot.context, field, {
      get: () => {
        throw new Error('bad grass');
      },
    });
  };
  const one = await herd.hatch('one');
  const two = await herd.hatch('two');
  const taskId = await herd.delegate(one);
  const other = await herd.delegate(two);
  return { herd, one, two, taskId, other, spoil };
}

describe('a chart that throws', () => {
  it('fails what its actor owned, and everybody else lives on', async () => {
    const { herd, one, two, taskId, other, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');

    const answer = await one.say('shepherd', 'Which gate?', { expectsReply: true });

    expect(answer).toMatchObject({ ok: false, code: 'internal_error' });
    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      returnCode: 1,
      error: expect.stringMatching(/^internal_error: .*bad grass/),
    });
    expect(await one.receives('task_closed')).toMatchObject({ taskId, status: 'failed' });
    expect(textsOf(herd, 'shepherd.notice')[0]).toMatch(/bad grass/);
    expect(herd.shepherd.task(other).state).toBe('running');
    expect(await two.done('completed')).toMatchObject({ ok: true });
  });

  it('is in the journal, with what went wrong', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');

    await one.say('shepherd', 'Which gate?', { expectsReply: true });

    const rows = herd.store.journal({ after: 0, limit: 999 });
    expect(rows.filter(({ error }) => error !== undefined)).toMatchObject([
      { input: 'crash', error: expect.stringMatching(/^internal_error: .*bad grass/) },
    ]);
  });

  it('leaves its agent alive, which can be given another task', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');
    await one.say('shepherd', 'Which gate?', { expectsReply: true });

    const next = await herd.delegate(one, 'Again.');

    expect(await one.done('completed')).toMatchObject({ ok: true, data: { taskId: next } });
  });

  it('leaves nothing of the step in which it threw', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');

    await one.say('shepherd', 'Which gate?', { expectsReply: true });

    expect(herd.shepherd.task(taskId).requests).toEqual([]);
    expect(textsOf(herd, 'shepherd.message.incoming')).toEqual([]);
    expect(herd.shepherd.task(taskId).states.map(({ state }) => state)).toEqual([
      'created',
      'running',
      'failed',
    ]);
  });

  it('is not given the same envelope again, and lets later mail pass', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');
    await one.say('shepherd', 'Which gate?', { expectsReply: true });
    const before = herd.notices.length;

    await one.say('shepherd', 'All is well.');
    herd.nudge();
    await one.roster();

    expect(textsOf(herd, 'shepherd.message.incoming')).toHaveLength(1);
    expect(herd.notices).toHaveLength(before + 1);
  });

  it('in the middle of a burst costs nobody else’s place in it', async () => {
    const { herd, one, two, taskId, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');
    const say = (content: string, expectsReply = false) =>
      one.send({ kind: 'message', targetId: two.id, content, delivery: 'followUp', expectsReply });

    say('before');
    say('Which gate?', true);
    say('after');

    await eventually(() => expect(two.received).toHaveLength(3));
    expect(two.received).toMatchObject([
      { kind: 'task' },
      { content: 'before' },
      { content: 'after' },
    ]);
    expect(herd.shepherd.task(taskId).state).toBe('failed');
  });

  it('refuses a call of the Shepherd, and is contained as well', async () => {
    const { herd, one, two, taskId, other, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');

    await expect(
      herd.shepherd.message({ target: one.id, message: 'How far?', taskId, expectsReply: true }),
    ).rejects.toMatchObject({ code: 'internal_error' });

    expect(await herd.shepherd.settled(taskId)).toMatchObject({ status: 'failed' });
    expect(herd.shepherd.task(other).state).toBe('running');
    expect(two.received.map(({ kind }) => kind)).toEqual(['task']);
  });

  it('on a timer is contained, and the timers of others fire', async () => {
    const herd = await openWatched({ policy: { replyTimeoutMs: 1_000, staleAfterMs: 500 } });
    const { one, two, taskId, other, spoil } = herd;
    await one.say('shepherd', 'Which gate?', { expectsReply: true });
    await two.say('shepherd', 'How many?', { expectsReply: true });
    await spoil(taskId, 'taskId');

    herd.herd.advance(1_000);

    expect(await herd.herd.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('bad grass'),
    });
    expect(await herd.herd.shepherd.settled(other)).toMatchObject({ status: 'blocked' });
    expect(textsOf(herd.herd, 'shepherd.stale.wait')).toHaveLength(1);
  });

  it('above an agent has everything rebuilt from what was kept, timers too', async () => {
    const { herd, one, two, taskId, other, spoil } = await openWatched({
      policy: { replyTimeoutMs: 1_000 },
    });
    await one.say('shepherd', 'Which gate?', { expectsReply: true });
    await spoil('session', 'liveAgents');

    await expect(herd.shepherd.spawn({ agent: 'scout', label: 'three' })).rejects.toMatchObject({
      code: 'internal_error',
    });

    expect(herd.shepherd.agents()).toHaveLength(2);
    await expect(herd.hatch('three')).resolves.toBeDefined();
    expect(await two.done('completed')).toMatchObject({ ok: true, data: { taskId: other } });
    herd.advance(1_000);
    expect(await herd.shepherd.settled(taskId)).toMatchObject({ status: 'blocked' });
  });

  it('of a watcher costs the call, not the task: the same word again settles and is told', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    const { watcherId } = herd.shepherd.watch(taskId);
    await spoil(watcherId, 'settled');

    expect(await one.done('completed')).toMatchObject({ ok: false, code: 'internal_error' });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(await one.done('completed')).toMatchObject({ ok: true });
    herd.advance(25);

    await eventually(() =>
      expect(textsOf(herd, 'shepherd.task.completion')).toEqual([
        expect.stringContaining('scout: one completed'),
      ]),
    );
  });

  it('of a watcher on its timer costs nothing: it fires once more on what was kept', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    const { watcherId } = herd.shepherd.watch(taskId);
    await one.done('completed');
    await spoil(watcherId, 'settled');

    herd.advance(25);

    await eventually(() =>
      expect(textsOf(herd, 'shepherd.task.completion')).toEqual([
        expect.stringContaining('scout: one completed'),
      ]),
    );
    expect(textsOf(herd, 'shepherd.notice')).toEqual([expect.stringContaining('bad grass')]);
  });

  it('is forgotten by the next process: nothing of it was kept', async () => {
    const { herd, one, two, taskId, other, spoil } = await openWatched();
    await spoil(taskId, 'staleAfterMs');
    await one.say('shepherd', 'Which gate?', { expectsReply: true });
    herd.abandon();

    const again = await herd.reopen();

    expect(again.shepherd.task(taskId).state).toBe('failed');
    expect(await two.done('completed')).toMatchObject({ ok: true, data: { taskId: other } });
    await expect(again.delegate(one, 'Again.')).resolves.toBeDefined();
  });
});

describe('a handler that throws', () => {
  it('refuses a call of the Shepherd with internal_error, and nothing has changed', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    await spoil(taskId, 'requests');

    await expect(
      herd.shepherd.message({ target: one.id, message: 'How far?', taskId, expectsReply: true }),
    ).rejects.toMatchObject({
      code: 'internal_error',
      message: expect.stringMatching('bad grass'),
    });

    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'running' });
    expect(one.received.map(({ kind }) => kind)).toEqual(['task']);
    expect(textsOf(herd, 'shepherd.notice')).toEqual([expect.stringContaining('bad grass')]);
  });

  it('refuses a child’s envelope, which is not repeated', async () => {
    const { herd, one, taskId, spoil } = await openWatched();
    await spoil(taskId, 'requests');

    const answer = await one.say('shepherd', 'Which gate?', { expectsReply: true });

    expect(answer).toMatchObject({ ok: false, code: 'internal_error' });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'running' });
    expect(textsOf(herd, 'shepherd.message.incoming')).toEqual([]);
  });
});

describe('an inspector', () => {
  it('sees one tree of session, agents, tasks and requests', async () => {
    const parents = new Map<string, string | undefined>();
    const herd = await openHerd({
      inspect: (event) => {
        if (event.type !== '@xstate.actor') return;
        const actor = event.actorRef as AnyActorRef;
        // oxlint-disable-next-line no-underscore-dangle -- XState names an actor's parent nowhere else
        parents.set(actor.id, actor._parent?.id);
      },
    });
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const question = await one.say('shepherd', 'Which gate?', { expectsReply: true });

    await eventually(() => expect(parents.get(question.messageId)).toBe(taskId));
    expect(parents.get(taskId)).toBe(one.id);
    expect(parents.get(one.id)).toBe('session');
    expect(parents.get('session')).toBeUndefined();
  });

  it('sees one session, and only what was rolled back anew', async () => {
    const born: string[] = [];
    const herd = await openHerd({
      inspect: (event) => {
        if (event.type === '@xstate.actor') born.push((event.actorRef as AnyActorRef).id);
      },
    });
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    await eventually(() => expect(born).toContain(two.id));
    const before = born.length;

    herd.store.break(1);
    one.turn('turn_started');
    await eventually(() => expect(herd.store.refused()).toBe(1));
    await one.roster();

    expect(born.slice(before)).toEqual([one.id]);
    expect(herd.shepherd.status(one.id).state).toBe('working');
  });

  it.each(['@xstate.actor', '@xstate.event', '@xstate.microstep', '@xstate.snapshot'] as const)(
    'that throws on %s is cut off, and nobody else notices',
    async (type) => {
      let calls = 0;
      const herd = await openHerd({
        inspect: (event: InspectionEvent) => {
          if (event.type !== type) return;
          calls += 1;
          throw new Error('bad glasses');
        },
      });

      const child = await herd.hatch('one');
      const taskId = await herd.delegate(child);
      await child.done('completed');

      expect(await herd.shepherd.settled(taskId)).toMatchObject({ status: 'completed' });
      await eventually(() =>
        expect(textsOf(herd, 'shepherd.notice')).toContainEqual(
          expect.stringContaining('bad glasses'),
        ),
      );
      expect(calls).toBe(1);
    },
  );
});
