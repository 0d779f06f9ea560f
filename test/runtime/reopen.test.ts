import { existsSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { createMemoryHost } from '../../src/hosts/memory.ts';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { defaultPolicy } from '../../src/runtime/policy.ts';
import type { Notice } from '../../src/runtime/shepherd.ts';
import type { TestChild } from '../support/child.ts';
import {
  eventually,
  openHerd,
  openWait,
  startMs,
  textsOf,
  type TestHerd,
} from '../support/herd.ts';

const { replyTimeoutMs, coalesceMs } = defaultPolicy;
const minuteMs = 60_000;

const launchOf = (child: TestChild): string => `${child.id}.1`;

/** Says that the task is done, without waiting for a verdict that nobody may give. */
function sendDone(child: TestChild, summary?: string): string {
  return child.send({ kind: 'task_done', targetId: SHEPHERD_ID, status: 'completed', summary });
}

/** A parent's session that takes no notice any more, or keeps what it takes. */
const deaf = {
  notify: () => Promise.reject(new ConfigError('session_closed', 'The session has ended.')),
};
function hearing() {
  const told: Notice[] = [];
  const notify = (notice: Notice) => {
    told.push(notice);
    return Promise.resolve();
  };
  return { told, notify };
}

/** Lets go of the session at the first change that this is true of. */
function dieAt(herd: TestHerd, isLast: (state: string) => boolean): void {
  herd.shepherd.on((change) => {
    if (change.type === 'task' && isLast(change.task.state)) herd.abandon();
  });
}

/** Two tasks whose deadline has passed, and whose owners said in time that they are done. */
async function openOverdue() {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const two = await herd.hatch('two');
  const tasks = [
    await herd.delegate(one, 'Count the flock.', minuteMs),
    await herd.delegate(two, 'Count the dogs.', minuteMs),
  ];
  herd.abandon();
  for (const child of [one, two]) sendDone(child);
  herd.pasture.nowMs = startMs + 60 * minuteMs;
  return { herd, one, two, tasks };
}

describe('a session that is opened again', () => {
  it('has its agents and tasks as they were, and goes on with them', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const before = { agents: herd.shepherd.agents(), tasks: herd.shepherd.tasks() };
    herd.abandon();

    const next = await herd.reopen();

    expect(next.shepherd.sessionId).toBe(herd.shepherd.sessionId);
    expect({ agents: next.shepherd.agents(), tasks: next.shepherd.tasks() }).toEqual(before);
    expect(next.notices).toEqual([]);
    expect(next.host.launches).toEqual([]);
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    expect(await one.receives('reply')).toMatchObject({ content: 'Left.' });
    expect(next.shepherd.task(taskId).state).toBe('running');
    expect(await one.done('completed')).toMatchObject({ ok: true });
    await next.shepherd.close(one.id);
    expect(next.pasture.world.places.get(launchOf(one))?.exit).toBeDefined();
  });

  it('has its settled results, and gives them to a watch', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    await one.done('completed', { summary: 'Seven.' });
    const result = await herd.shepherd.settled(taskId);
    herd.abandon();

    const next = await herd.reopen();

    expect(await next.shepherd.settled(taskId)).toEqual(result);
    expect(next.shepherd.watch(taskId)).toMatchObject({ pending: [], completed: [result] });
    expect(await one.done('completed', { taskId })).toMatchObject({ data: { repeat: true } });
    expect(await one.done('failed', { taskId })).toMatchObject({ code: 'task_settled' });
  });

  it('takes in what was sent while nobody was there, in its order', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.abandon();
    herd.pasture.nowMs += 1;
    const reply = two.say(one.id, 'Left.', { replyTo: question.messageId });
    herd.pasture.nowMs += 1;
    const done = one.done('completed', { summary: 'Seven.' });

    const next = await herd.reopen();

    expect(await Promise.all([reply, done])).toMatchObject([{ ok: true }, { ok: true }]);
    expect(await next.shepherd.settled(taskId)).toMatchObject({
      status: 'completed',
      settledAtMs: startMs + 2,
    });
  });

  it('still knows who waits for whom', async () => {
    const { herd, one, two } = await openWait();
    await two.say(SHEPHERD_ID, 'Which gate?', { expectsReply: true });
    herd.abandon();

    const next = await herd.reopen();

    expect(await two.say(one.id, 'Which flock?', { expectsReply: true })).toMatchObject({
      code: 'wait_cycle',
    });
    const question = { target: one.id, message: 'How many?', expectsReply: true };
    await expect(next.shepherd.message(question)).rejects.toMatchObject({ code: 'wait_cycle' });
  });

  it('can be opened many times', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    let next: TestHerd = herd;
    for (let turn = 0; turn < 3; turn += 1) {
      next.abandon();
      // oxlint-disable-next-line no-await-in-loop -- one parent after another
      next = await next.reopen();
    }

    await two.say(one.id, 'Left.', { replyTo: question.messageId });

    expect(next.shepherd.task(taskId).states.map(({ state }) => state)).toEqual([
      'created',
      'running',
      'waiting',
      'running',
    ]);
  });
});

describe('timers of a session that is opened again', () => {
  it.each([
    ['a task deadline', minuteMs, startMs + minuteMs, 'timed_out'],
    ['a reply deadline', undefined, startMs + replyTimeoutMs, 'blocked'],
  ] as const)('keep their instant: %s', async (_name, timeoutMs, atMs, status) => {
    const { herd, one, taskId } = await openWait({}, timeoutMs);
    herd.abandon();
    herd.pasture.nowMs = startMs + minuteMs / 2;

    const next = await herd.reopen();
    next.advanceTo(atMs - 1);
    await one.roster();
    expect(next.shepherd.task(taskId).state).toBe('waiting');
    next.advanceTo(atMs);

    expect(await next.shepherd.settled(taskId)).toMatchObject({ status, settledAtMs: atMs });
  });

  it('keep the instant of the Shepherd’s own question', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const said = { target: one.id, message: 'How many?', expectsReply: true };
    const { messageId } = await herd.shepherd.message(said);
    herd.abandon();

    const next = await herd.reopen();
    next.advanceTo(startMs + replyTimeoutMs - 1);
    await one.roster();
    expect(next.notices).toEqual([]);
    next.advance(1);
    await one.roster();

    expect(next.notices).toMatchObject([{ details: { requestId: messageId, code: 'expired' } }]);
  });

  it('keep the instant of a spawn deadline, and take a hello that came before it', async () => {
    const herd = await openHerd();
    const early = herd.launch('scout', 'early');
    const mute = herd.launch('scout', 'mute');
    early.spawned.catch(() => undefined);
    mute.spawned.catch(() => undefined);
    await eventually(() => expect(herd.host.launches).toHaveLength(2));
    herd.abandon();
    early.child.hello();
    herd.pasture.nowMs = startMs + defaultPolicy.spawnTimeoutMs + minuteMs;

    const next = await herd.reopen();

    expect(next.shepherd.status(early.child.id).state).toBe('idle');
    expect(next.shepherd.status(mute.child.id)).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('spawn_deadline') as string,
    });
    const place = next.pasture.world.places.get(launchOf(mute.child));
    await eventually(() => expect(place?.exit).toBeDefined());
  });

  it('end the process of an agent that failed when its parent died', async () => {
    const herd = await openHerd();
    const mute = herd.launch('scout', 'mute');
    mute.spawned.catch(() => undefined);
    await eventually(() => expect(herd.shepherd.agents()).toHaveLength(1));
    const place = herd.pasture.world.places.get(launchOf(mute.child));
    herd.shepherd.on((change) => {
      if (change.type === 'agent' && change.agent.state === 'failed') herd.abandon();
    });
    herd.advance(defaultPolicy.spawnTimeoutMs);
    await eventually(() => expect(() => herd.shepherd.agents()).toThrow('closed'));
    expect(place?.exit).toBeUndefined();

    const next = await herd.reopen();

    await eventually(() => expect(place?.exit).toBeDefined());
    expect(next.shepherd.status(mute.child.id)).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('spawn_deadline') as string,
    });
    expect(next.store.all('effect')).toEqual([]);
  });

  it('that are overdue fire in the order of their instants', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const three = await herd.hatch('three');
    const slow = await herd.delegate(one, 'Slowly.', 3 * minuteMs);
    const quick = await herd.delegate(two, 'Quickly.', minuteMs);
    const middle = await herd.delegate(three, 'As it comes.', 2 * minuteMs);
    herd.abandon();
    herd.pasture.nowMs = startMs + 60 * minuteMs;

    const next = await herd.reopen();

    await Promise.all([slow, quick, middle].map((id) => next.shepherd.settled(id)));
    expect(next.notices.map(({ details }) => details['taskId'])).toEqual([quick, middle, slow]);
    expect(next.shepherd.tasks().map(({ result }) => result?.settledAtMs)).toEqual([
      startMs + 3 * minuteMs,
      startMs + minuteMs,
      startMs + 2 * minuteMs,
    ]);
  });

  it('that are overdue have the outcome they would have had', async () => {
    const { herd, taskId } = await openWait({}, 2 * replyTimeoutMs);
    herd.abandon();
    herd.pasture.nowMs = startMs + 60 * minuteMs;

    const next = await herd.reopen();

    expect(await next.shepherd.settled(taskId)).toMatchObject({
      status: 'blocked',
      settledAtMs: startMs + replyTimeoutMs,
    });
    expect(next.notices.map(({ kind }) => kind)).toEqual([
      'shepherd.stale.wait',
      'shepherd.notice',
    ]);
  });

  it.each([true, false])('of equal instants keep their order: opened again %s', async (again) => {
    // The reply deadline is clipped to the task's.
    const { herd, taskId } = await openWait({}, minuteMs);
    if (again) herd.abandon();
    const next = again ? await herd.reopen() : herd;

    next.advance(minuteMs);

    expect(await next.shepherd.settled(taskId)).toMatchObject({ status: 'timed_out' });
  });

  it('repeat no reminder', async () => {
    const { herd, one, taskId } = await openWait();
    herd.advance(5 * minuteMs);
    await one.roster();
    expect(textsOf(herd, 'shepherd.stale.wait')).toHaveLength(1);
    herd.abandon();

    const next = await herd.reopen();
    next.advance(minuteMs);
    await one.roster();

    expect(next.notices).toEqual([]);
    expect(next.shepherd.task(taskId)).toMatchObject({ state: 'waiting', stale: true });
  });

  it('end a child that has not let go of its task', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    await herd.delegate(one, 'Count the flock.', minuteMs);
    one.turn('turn_started');
    await one.roster();
    herd.advance(minuteMs);
    await one.receives('task_closed');
    herd.abandon();

    const next = await herd.reopen();
    await expect(next.shepherd.delegate({ target: one.id, task: 'x' })).rejects.toMatchObject({
      code: 'active_task',
    });
    next.advance(defaultPolicy.drainAfterMs);

    await eventually(() => expect(next.shepherd.status(one.id).state).toBe('closed'));
  });

  it.each([
    ['at', 'completed', 0],
    ['after', 'timed_out', 1],
  ])(
    'are overdue for mail sent %s their instant only if it is later: %s',
    async (_n, status, byMs) => {
      const herd = await openHerd();
      const one = await herd.hatch('one');
      const taskId = await herd.delegate(one, 'Count the flock.', minuteMs);
      herd.abandon();
      herd.pasture.nowMs = startMs + minuteMs + byMs;
      sendDone(one);
      herd.pasture.nowMs = startMs + 60 * minuteMs;

      const next = await herd.reopen();

      expect(await next.shepherd.settled(taskId)).toMatchObject({ status });
    },
  );

  it('wait until every outbox has been read, also when children have ended', async () => {
    const { herd, one, two, tasks } = await openOverdue();
    for (const child of [one, two]) herd.host.exit(launchOf(child), { code: 0 });

    const next = await herd.reopen();

    const results = await Promise.all(tasks.map((id) => next.shepherd.settled(id)));
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  it('wait until every outbox has been read, also when places are found slowly', async () => {
    const { herd, tasks } = await openOverdue();
    const { world } = herd.pasture;
    const host = createMemoryHost({ world, now: () => herd.pasture.nowMs });
    const slow: typeof host = {
      ...host,
      async adopt(ref) {
        await pass(20);
        return host.adopt(ref);
      },
    };

    const next = await herd.reopen({ host: slow });

    const results = await Promise.all(tasks.map((id) => next.shepherd.settled(id)));
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
  });
});

describe('a watch of a session that is opened again', () => {
  it('tells what settles later, once', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const { watcherId } = herd.shepherd.watch(taskId);
    herd.abandon();

    const next = await herd.reopen();
    await one.done('completed');
    next.advance(coalesceMs);
    await one.roster();

    expect(next.notices).toMatchObject([
      { kind: 'shepherd.task.completion', details: { watcherId, results: [{ taskId }] } },
    ]);
  });

  it('tells what had settled and was not told yet, with what settles in its moment', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const tasks = [await herd.delegate(one), await herd.delegate(two)];
    herd.shepherd.watch(tasks);
    await two.done('completed');
    herd.abandon();
    herd.pasture.nowMs += coalesceMs - 1;

    const next = await herd.reopen();
    await one.done('failed');
    expect(next.notices).toEqual([]);
    next.advance(1);
    await one.roster();

    expect(next.notices).toMatchObject([
      { details: { results: [{ taskId: tasks[0] }, { taskId: tasks[1] }] } },
    ]);
  });

  it('does not tell again what was told before', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const tasks = [await herd.delegate(one), await herd.delegate(two)];
    herd.shepherd.watch(tasks);
    await one.done('completed');
    herd.advance(coalesceMs);
    await two.roster();
    herd.abandon();

    const next = await herd.reopen();
    await two.done('completed');
    next.advance(coalesceMs);
    await two.roster();

    expect(herd.notices).toHaveLength(1);
    expect(next.notices).toMatchObject([{ details: { results: [{ taskId: tasks[1] }] } }]);
  });
});

describe('a notice that no parent has taken', () => {
  it.each([
    ['since its session had ended', deaf],
    ['since it died over it', { notify: () => new Promise<void>(() => undefined) }],
  ])('%s is told by the next one, once and in order', async (_name, first) => {
    const herd = await openHerd(first);
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    await one.say('shepherd', 'It rains.');
    await one.done('completed');
    await one.roster();
    herd.abandon();

    const { told, notify } = hearing();
    const next = await herd.reopen({ notify });
    await one.roster();
    expect(told).toMatchObject([
      { kind: 'shepherd.message.incoming', details: { senderId: one.id } },
      { kind: 'shepherd.notice', details: { taskId, status: 'completed' } },
    ]);
    next.abandon();
    const third = await next.reopen({ notify });
    await one.roster();

    expect(told).toHaveLength(2);
    expect(third.shepherd.task(taskId).state).toBe('completed');
  });

  it('is dropped when it reminds of a wait that has ended', async () => {
    const { herd, one, two, question } = await openWait(deaf);
    herd.advance(5 * minuteMs);
    await one.roster();
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    herd.abandon();

    const { told, notify } = hearing();
    await herd.reopen({ notify });
    await one.roster();

    expect(told.map(({ kind }) => kind)).not.toContain('shepherd.stale.wait');
  });
});

describe('a parent that dies between two steps', () => {
  it('after a task was kept and before it was published has it published once', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    dieAt(herd, (state) => state === 'created');
    await expect(
      herd.shepherd.delegate({ target: one.id, task: 'Count the flock.' }),
    ).rejects.toMatchObject({ code: 'session_closed' });

    const next = await herd.reopen();

    const { taskId } = await one.receives('task');
    await eventually(() => expect(next.shepherd.task(taskId).state).toBe('running'));
    next.abandon();
    await next.reopen();
    await one.roster();
    expect(one.received.filter(({ kind }) => kind === 'task')).toHaveLength(1);
  });

  it('after an envelope was handled and before it was acked handles it once', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    dieAt(herd, (state) => state === 'completed');
    const done = one.done('completed', { summary: 'Seven.' });
    await eventually(() => expect(() => herd.shepherd.tasks()).toThrow('closed'));

    const next = await herd.reopen();

    expect(await done).toMatchObject({ ok: true, data: { taskId, accepted: true } });
    expect(await next.shepherd.settled(taskId)).toMatchObject({
      summary: 'Seven.',
      lateEvents: [],
    });
    await one.roster();
    expect(textsOf(herd, 'shepherd.notice')).toEqual([]);
    expect(textsOf(next, 'shepherd.notice')).toHaveLength(1);
  });

  it('before an envelope could be kept handles it after', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.store.break();
    const reply = two.say(one.id, 'Left.', { replyTo: question.messageId });
    await eventually(() => expect(herd.store.refused()).toBeGreaterThan(0));
    herd.abandon();

    const next = await herd.reopen();

    expect(await reply).toMatchObject({ ok: true });
    expect(next.shepherd.task(taskId).state).toBe('running');
  });

  it('while it started a child goes on with that very child', async () => {
    const herd = await openHerd();
    const { spawned, child } = herd.launch('scout', 'one');
    spawned.catch(() => undefined);
    herd.abandon();

    const next = await herd.reopen();
    child.hello();

    await eventually(() => expect(next.shepherd.status(child.id).state).toBe('idle'));
    expect(next.pasture.world.places.size).toBe(1);
    await next.shepherd.close(child.id);
    expect(next.pasture.world.places.get(launchOf(child))?.exit).toBeDefined();
  });

  it('while it ended a child has it ended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    herd.host.setPresence(launchOf(one), 'unknown');
    await expect(herd.shepherd.close(one.id)).rejects.toMatchObject({ code: 'close_unconfirmed' });
    herd.abandon();
    herd.host.setPresence(launchOf(one), undefined);

    const next = await herd.reopen();
    expect(next.shepherd.status(one.id).state).toBe('closing');
    await next.shepherd.close(one.id);

    expect(next.shepherd.status(one.id).state).toBe('closed');
    expect(await next.shepherd.settled(taskId)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a child that ended while no parent was there', () => {
  it('fails its task with what it printed', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    herd.abandon();
    herd.host.exit(launchOf(one), { code: 3, output: 'out of grass' });

    const next = await herd.reopen();

    expect(await next.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^agent_lost: .*code 3.*out of grass/s) as string,
    });
    expect(next.shepherd.status(one.id).state).toBe('lost');
  });

  it('has its mail counted first', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    herd.abandon();
    sendDone(one, 'Seven.');
    herd.host.exit(launchOf(one), { code: 0 });

    const next = await herd.reopen();

    expect(next.shepherd.task(taskId)).toMatchObject({
      state: 'completed',
      result: { summary: 'Seven.', lateEvents: [] },
    });
  });

  it('has its mail counted after what another child had sent before', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.abandon();
    herd.pasture.nowMs += 1;
    two.send({
      kind: 'reply',
      targetId: one.id,
      content: 'Left.',
      delivery: 'followUp',
      replyTo: question.messageId,
    });
    herd.pasture.nowMs += 1;
    sendDone(one, 'Seven.');
    for (const child of [one, two]) herd.host.exit(launchOf(child), { code: 0 });

    const next = await herd.reopen();

    expect(next.shepherd.task(taskId)).toMatchObject({
      state: 'completed',
      requests: [{ state: 'answered' }],
    });
  });

  it('ends the waits for it', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    herd.abandon();
    herd.host.exit(launchOf(two), { code: 1 });

    const next = await herd.reopen();

    expect(await one.receives('notice')).toMatchObject({
      code: 'recipient_gone',
      requestId: question.messageId,
    });
    expect(next.shepherd.task(taskId).state).toBe('running');
  });

  it('vanished with its place, and its task fails all the same', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    herd.abandon();
    herd.pasture.world.places.delete(launchOf(one));

    const next = await herd.reopen();

    expect(await next.shepherd.settled(taskId)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('vanished') as string,
    });
  });

  it('cannot be told from one that cannot be inspected, which is left alone', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    herd.abandon();
    herd.host.setPresence(launchOf(one), 'unknown');

    const next = await herd.reopen();

    expect(next.shepherd.task(taskId).state).toBe('running');
    expect(await one.done('completed')).toMatchObject({ ok: true });
  });
});

describe('a session that was disposed', () => {
  it('is opened again with its results, and can be used', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    await herd.shepherd.dispose();

    const next = await herd.reopen();

    expect(await next.shepherd.settled(taskId)).toMatchObject({ status: 'cancelled' });
    expect(next.shepherd.status(one.id).state).toBe('closed');
    const again = await next.hatch('one');
    expect(again.id).not.toBe(one.id);
    const second = await next.delegate(again, 'Again.');
    expect(await again.done('completed')).toMatchObject({ ok: true });
    expect(await next.shepherd.settled(second)).toMatchObject({ status: 'completed' });
    await next.shepherd.dispose();
  });

  it('and had nothing in it, can be used as well', async () => {
    const herd = await openHerd();
    await herd.shepherd.dispose();

    const next = await herd.reopen();

    await expect(next.hatch('one')).resolves.toBeDefined();
  });

  it('is open again when its parent died before all had ended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    herd.host.setPresence(launchOf(one), 'unknown');
    void herd.shepherd.dispose().catch(() => undefined);

    herd.abandon();
    expect(() => herd.shepherd.agents()).toThrow(
      expect.objectContaining({ code: 'session_closed' }),
    );
    herd.host.setPresence(launchOf(one), undefined);
    const next = await herd.reopen();

    await next.shepherd.close(one.id);
    expect(next.shepherd.status(one.id).state).toBe('closed');
    await expect(next.hatch('two')).resolves.toBeDefined();
  });
});

describe('a session whose file has lost its content', () => {
  it.each([
    ['is empty', (path: string) => truncateSync(path)],
    ['is gone', (path: string) => rmSync(path)],
  ])(
    '%s is refused, with what helps, and nothing new is begun in its place',
    async (_how, lose) => {
      const herd = await openHerd();
      const child = await herd.hatch('one');
      herd.abandon();
      const path = join(herd.shepherd.sessionDir, 'session.db');
      for (const tail of ['-wal', '-shm']) rmSync(`${path}${tail}`, { force: true });
      lose(path);

      for (let tries = 0; tries < 2; tries += 1) {
        await expect(herd.reopen()).rejects.toMatchObject({
          code: 'session_damaged',
          message: expect.stringContaining('-wal'),
        });
      }
      expect(child.identity.boxesDir).toSatisfy(existsSync);
    },
  );
});
