import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { HostError } from '../../src/errors.ts';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import type { Change } from '../../src/runtime/shepherd.ts';
import type { TestChild } from '../support/child.ts';
import {
  eventually,
  openHerd,
  openWait,
  startMs,
  textsOf,
  type TestHerd,
} from '../support/herd.ts';

const minuteMs = 60_000;

const launchOf = (child: TestChild): string => `${child.id}.1`;

/** Waits for what has to come by itself, at the next try of whatever had failed. */
const soon = (assertion: () => void): Promise<void> =>
  vi.waitFor(assertion, { interval: 5, timeout: 2_000 });

/** Gives the parent many chances to look, and to do too much. */
async function turns(herd: TestHerd, count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    herd.nudge();
    // oxlint-disable-next-line no-await-in-loop -- one turn of the loop after another
    await setImmediate();
  }
}

/** A task that has timed out while its child is in a turn. */
async function timeOut() {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
  one.turn('turn_started');
  await one.roster();
  herd.advance(minuteMs);
  const closed = await one.receives('task_closed');
  return { herd, one, taskId, closed };
}

describe('a provider that gave up', () => {
  it('fails a task that waits, and withdraws its question', async () => {
    const { herd, one, taskId } = await openWait();
    one.turn('turn_started');

    one.turn('provider_gave_up', { taskId, error: '529 overloaded' });

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      returnCode: 1,
      error: 'provider_error: 529 overloaded',
    });
    expect(herd.shepherd.task(taskId).requests).toMatchObject([{ state: 'cancelled' }]);
    expect(await one.receives('task_closed')).toMatchObject({
      taskId,
      status: 'failed',
      error: 'provider_error: 529 overloaded',
    });
    await expect(herd.delegate(one, 'Again.')).resolves.toBeDefined();
  });

  it('is one notice when the agent has no task', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');

    one.turn('provider_gave_up', { error: '529 overloaded' });
    await one.roster();

    expect(textsOf(herd, 'shepherd.notice')).toEqual([
      'scout: one: provider_error: 529 overloaded',
    ]);
    expect(herd.shepherd.status(one.id).state).toBe('idle');
  });
});

describe('a child that ends', () => {
  it.each([
    [{ code: 3, output: 'out of grass' }, /^agent_lost: .*code 3.*out of grass/s],
    [{ signal: 'SIGKILL' as const }, /^agent_lost: .*SIGKILL.*printed nothing/s],
    [{}, /^agent_lost: the process vanished/],
  ])('fails its task with what it printed: %o', async (exit, error) => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    herd.host.exit(launchOf(one), exit);

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      returnCode: 1,
      error: expect.stringMatching(error) as string,
      settledAtMs: startMs,
    });
    expect(herd.shepherd.status(one.id)).toMatchObject({
      state: 'lost',
      error: expect.stringMatching(error) as string,
    });
    expect(herd.shepherd.status(one.id)).not.toHaveProperty('task');
    await expect(herd.hatch('one')).resolves.toBeDefined();
  });

  it('has settled its task with a done that lay unread in its outbox', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    one.send({
      kind: 'task_done',
      targetId: SHEPHERD_ID,
      status: 'completed',
      summary: 'Seven sheep.',
    });
    herd.host.exit(launchOf(one), { code: 0 });

    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'completed',
      summary: 'Seven sheep.',
    });
    expect(herd.shepherd.status(one.id).state).toBe('lost');
  });

  it('has its last word kept as late', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    herd.host.exit(launchOf(one), { code: 0 });
    one.send({ kind: 'task_done', targetId: SHEPHERD_ID, status: 'completed', summary: 'Seven.' });

    await eventually(() =>
      expect(herd.shepherd.task(taskId).result).toMatchObject({
        status: 'failed',
        lateEvents: [{ kind: 'task_done', fromId: one.id, text: 'completed: Seven.' }],
      }),
    );
  });

  it('without a task is lost, and the others live on', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(two);

    herd.host.exit(launchOf(one), { code: 1 });

    expect(herd.shepherd.status(one.id).state).toBe('lost');
    expect(await two.done('completed')).toMatchObject({ ok: true });
    expect(herd.shepherd.task(taskId).state).toBe('completed');
  });

  it('has nothing more settled by a second end', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    await one.done('completed');
    const settled = await herd.shepherd.settled(taskId);

    herd.host.exit(launchOf(one), { code: 1 });
    await herd.shepherd.close(one.id);

    expect(await herd.shepherd.settled(taskId)).toEqual(settled);
    expect(herd.shepherd.status(one.id).state).toBe('lost');
  });
});

describe('a task that is settled from outside', () => {
  it('tells its child, which keeps its slot until its turn has ended', async () => {
    const { herd, one, taskId, closed } = await timeOut();

    expect(closed).toMatchObject({ taskId, status: 'timed_out', senderId: SHEPHERD_ID });
    await expect(herd.shepherd.delegate({ target: one.id, task: 'Again.' })).rejects.toMatchObject({
      code: 'active_task',
      retryable: true,
      message: expect.stringContaining('letting go') as string,
    });
    one.turn('turn_settled');
    await one.roster();
    await expect(herd.delegate(one, 'Again.')).resolves.toBeDefined();
  });

  it('has its child ended when that does not let go in time', async () => {
    const { herd, one } = await timeOut();
    herd.advance(defaultPolicy.drainAfterMs - 1);
    await one.roster();
    expect(herd.shepherd.status(one.id).state).toBe('working');

    herd.advance(1);

    await eventually(() => expect(herd.shepherd.status(one.id).state).toBe('closed'));
    expect(herd.pasture.world.places.get(launchOf(one))?.exit).toBeDefined();
  });

  it('has its child left alone when that has let go', async () => {
    const { herd, one } = await timeOut();
    one.turn('turn_settled');
    await one.roster();

    herd.advance(60 * minuteMs);
    await one.roster();

    expect(herd.shepherd.status(one.id).state).toBe('idle');
  });

  it('frees the slot at once when no turn runs', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);

    herd.advance(minuteMs);
    await herd.shepherd.settled(taskId);

    expect(await one.receives('task_closed')).toMatchObject({ taskId });
    await expect(herd.delegate(one, 'Again.')).resolves.toBeDefined();
  });
});

describe('a store that keeps nothing', () => {
  it('refuses whoever asks, changes nothing, and works again when it is mended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    const before = [herd.shepherd.agents(), herd.shepherd.tasks()];
    const diskError = { code: 'disk_error', retryable: true };
    herd.store.break();

    const { shepherd } = herd;
    await expect(shepherd.delegate({ target: two.id, task: 'x' })).rejects.toMatchObject(diskError);
    await expect(shepherd.message({ target: one.id, message: 'x' })).rejects.toMatchObject(
      diskError,
    );
    await expect(shepherd.spawn({ agent: 'scout', label: 'three' })).rejects.toMatchObject(
      diskError,
    );
    await expect(shepherd.close(two.id)).rejects.toMatchObject(diskError);
    await expect(shepherd.interrupt(two.id)).rejects.toMatchObject(diskError);
    expect(() => shepherd.watch(taskId)).toThrow(expect.objectContaining(diskError));

    expect([shepherd.agents(), shepherd.tasks()]).toEqual(before);
    expect(herd.notices).toEqual([]);
    expect(herd.host.launches).toHaveLength(2);
    herd.store.mend();
    expect(shepherd.watch(taskId)).toMatchObject({ pending: [taskId] });
    await expect(herd.delegate(two)).resolves.toBeDefined();
    await expect(herd.hatch('three')).resolves.toBeDefined();
    expect(await one.done('completed')).toMatchObject({ ok: true });
    await expect(shepherd.close(two.id)).resolves.toEqual({ id: two.id });
  });

  it('and cannot be read loses no actor: all are there when it is mended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    herd.store.blind();

    await expect(
      herd.shepherd.message({ target: one.id, message: 'How many?', expectsReply: true, taskId }),
    ).rejects.toMatchObject({ code: 'disk_error' });
    const done = one.done('completed');
    herd.store.mend();
    herd.nudge();

    expect(await done).toMatchObject({ ok: true });
    expect(herd.shepherd.status(one.id).state).toBe('idle');
    expect(herd.shepherd.task(taskId).result).toMatchObject({ status: 'completed' });
  });

  it('keeps mail until it is mended, in its order', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.store.break();
    const answers = [
      two.say(one.id, 'Left.', { replyTo: question.messageId }),
      two.say('shepherd', 'I have answered.'),
    ];
    await eventually(() => expect(herd.store.refused()).toBeGreaterThan(0));
    expect(herd.shepherd.task(taskId).state).toBe('waiting');

    herd.store.mend();
    herd.nudge();

    expect(await Promise.all(answers)).toMatchObject([{ ok: true }, { ok: true }]);
    expect(herd.shepherd.task(taskId).state).toBe('running');
    expect(await one.done('completed')).toMatchObject({ ok: true });
  });

  it('with a due timer makes no endless loop, and the timer fires when it is mended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
    herd.store.break();

    herd.advance(2 * minuteMs);
    await eventually(() => expect(herd.store.refused()).toBeGreaterThan(0));
    await turns(herd);

    expect(herd.store.refused()).toBeLessThan(100);
    expect(herd.shepherd.task(taskId).state).toBe('running');
    herd.store.mend();
    herd.nudge();
    expect(await herd.shepherd.settled(taskId)).toMatchObject({
      status: 'timed_out',
      settledAtMs: startMs + minuteMs,
    });
  });

  it('lets mail that was sent in time win over a timer, whenever it is mended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
    herd.store.break();
    const done = one.done('completed');
    herd.advance(2 * minuteMs);
    await eventually(() => expect(herd.store.refused()).toBeGreaterThan(0));

    herd.store.mend();
    herd.nudge();

    expect(await done).toMatchObject({ ok: true });
    expect(herd.shepherd.task(taskId).state).toBe('completed');
  });

  it('for one moment leaves no task created that lies in its agent’s inbox', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    // The task itself is kept; that it was published is what cannot be.
    const stop = herd.shepherd.on((change) => {
      if (change.type === 'task') herd.store.break(1);
    });

    const { taskId } = await herd.shepherd.delegate({ target: one.id, task: 'Count.' });
    stop();
    await one.receives('task');

    await soon(() => expect(herd.shepherd.task(taskId).state).toBe('running'));
    expect(herd.store.refused()).toBe(1);
  });

  it('for one moment forgets no child that was started, and ends it', async () => {
    const herd = await openHerd();
    const { spawned, child } = herd.launch('scout', 'one');
    herd.store.break(1);
    await eventually(() => expect(herd.store.refused()).toBe(1));
    child.hello();
    await spawned;

    await herd.shepherd.close(child.id);

    const place = herd.pasture.world.places.get(launchOf(child));
    await soon(() => expect(place?.exit).toBeDefined());
  });

  it('for one moment overlooks no child that ends', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    herd.store.break(1);

    herd.host.exit(launchOf(one), { code: 1 });
    expect(herd.store.refused()).toBe(1);

    await soon(() => expect(herd.shepherd.task(taskId).state).toBe('failed'));
  });
});

describe('a listener', () => {
  it('that throws is cut off, and nobody else notices', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    let calls = 0;
    const heard: Change[] = [];
    herd.shepherd.on(() => {
      calls += 1;
      throw new Error('baa');
    });
    herd.shepherd.on((change) => heard.push(change));

    const taskId = await herd.delegate(one);
    expect(await one.done('completed')).toMatchObject({ ok: true });

    expect(calls).toBe(1);
    expect(herd.shepherd.task(taskId).state).toBe('completed');
    const states = heard.flatMap((change) => (change.type === 'task' ? change.task.state : []));
    expect([...new Set(states)]).toEqual(['created', 'running', 'completed']);
  });

  it('that calls the Shepherd does not overtake what it was told of', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const said: Promise<unknown>[] = [];
    const stop = herd.shepherd.on((change) => {
      if (change.type !== 'task' || change.task.state !== 'created') return;
      said.push(herd.shepherd.message({ target: child.id, message: 'Mind the gate.' }));
    });

    await herd.delegate(child);
    stop();
    await Promise.all(said);
    await child.receives('message');

    expect(child.received.map(({ kind }) => kind)).toEqual(['task', 'message']);
  });

  it('that calls the Shepherd has what it says follow what it was told of, in the inbox too', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const said: Promise<unknown>[] = [];
    herd.shepherd.on((change) => {
      if (change.type !== 'task' || change.task.state !== 'created' || said.length > 0) return;
      said.push(herd.shepherd.message({ target: one.id, message: 'Hurry.' }));
    });

    const taskId = await herd.delegate(one);
    await Promise.all(said);

    const task = await one.receives('task', (envelope) => envelope.taskId === taskId);
    const message = await one.receives('message');
    expect(message.seq).toBeGreaterThan(task.seq);
  });

  it('hears of every change in the order of the commits, also of those it causes', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const heard: string[] = [];
    herd.shepherd.on((change) => {
      if (change.type !== 'task') return;
      heard.push(`${change.task.id} ${change.task.state}`);
      if (change.task.state === 'running') void herd.shepherd.close(child.id);
    });

    const taskId = await herd.delegate(child);
    await herd.shepherd.settled(taskId);

    expect(heard).toEqual(['created', 'running', 'cancelled'].map((state) => `${taskId} ${state}`));
  });

  it('that has stopped hears no more', async () => {
    const herd = await openHerd();
    const heard: Change[] = [];
    const stop = herd.shepherd.on((change) => heard.push(change));

    stop();
    await herd.hatch('one');

    expect(heard).toEqual([]);
  });
});

describe('a notice that the parent will not take', () => {
  it('is told of once, and is not tried for ever', async () => {
    const refused: string[] = [];
    const herd = await openHerd({
      notify: (notice) => {
        refused.push(notice.kind);
        return Promise.reject(new HostError('host_unavailable', 'no ears'));
      },
    });
    const one = await herd.hatch('one');

    await one.say('shepherd', 'It rains.');
    await one.roster();
    await turns(herd);

    expect(refused).toEqual(['shepherd.message.incoming', 'shepherd.notice']);
  });
});

describe('a session that is disposed', () => {
  it('has ended its agents and takes no call any more', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);

    await herd.shepherd.dispose();

    expect(herd.pasture.world.places.get(launchOf(one))?.exit).toBeDefined();
    const { shepherd } = herd;
    const closed = { code: 'session_closed' };
    await expect(shepherd.spawn({ agent: 'scout', label: 'two' })).rejects.toMatchObject(closed);
    await expect(shepherd.delegate({ target: one.id, task: 'x' })).rejects.toMatchObject(closed);
    await expect(shepherd.message({ target: one.id, message: 'x' })).rejects.toMatchObject(closed);
    await expect(shepherd.settled(taskId)).rejects.toMatchObject(closed);
    await expect(shepherd.close(one.id)).rejects.toMatchObject(closed);
    await expect(shepherd.interrupt(one.id)).rejects.toMatchObject(closed);
    await expect(shepherd.read(one.id)).rejects.toMatchObject(closed);
    const thrown = expect.objectContaining(closed);
    expect(() => shepherd.watch(taskId)).toThrow(thrown);
    expect(() => shepherd.status(one.id)).toThrow(thrown);
    expect(() => shepherd.task(taskId)).toThrow(thrown);
    expect(() => shepherd.agents()).toThrow(thrown);
    expect(() => shepherd.tasks()).toThrow(thrown);
    await expect(shepherd.dispose()).resolves.toBeUndefined();
  });

  it('ends calls that wait: tasks are cancelled, spawns fail', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const settled = herd.shepherd.settled(taskId);
    const { spawned } = herd.launch('scout', 'two');
    const failure = spawned.catch((error: unknown) => error);

    await herd.shepherd.dispose();

    expect(await settled).toMatchObject({ status: 'cancelled', returnCode: 130 });
    expect(await failure).toMatchObject({
      code: expect.stringMatching(/^(agent_not_ready|launch_failed|session_closed)$/) as string,
    });
  });

  it('takes nothing new while its agents are ending', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const ended = herd.shepherd.dispose();

    const closed = { code: 'session_closed' };
    await expect(herd.shepherd.spawn({ agent: 'scout', label: 'two' })).rejects.toMatchObject(
      closed,
    );
    await expect(
      herd.shepherd.message({ target: one.id, message: 'Hello?' }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/_closed$/) as string });

    await ended;
    expect(herd.host.launches).toHaveLength(1);
  });

  it('ends the stream of its changes after the last one', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const changes = herd.shepherd.changes();

    await herd.shepherd.dispose();

    const states: string[] = [];
    for await (const change of changes) {
      if (change.type === 'agent' && change.agent.id === one.id) states.push(change.agent.state);
    }
    expect(states.at(-1)).toBe('closed');
  });
});

describe('a session that is let go of', () => {
  it('ends calls that wait, and leaves children and tasks as they are', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const settled = herd.shepherd.settled(taskId).catch((error: unknown) => error);
    const { spawned } = herd.launch('scout', 'two');
    const failure = spawned.catch((error: unknown) => error);

    herd.abandon();

    const closed = { code: 'session_closed' };
    expect(await Promise.all([settled, failure])).toMatchObject([closed, closed]);
    expect(herd.pasture.world.places.get(launchOf(one))?.exit).toBeUndefined();
    await expect(herd.shepherd.dispose()).resolves.toBeUndefined();
  });
});
