import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/runtime/shepherd.ts';
import { stallLineSchema } from '../../src/stall/log.ts';
import { startChild, type TestChild } from '../support/child.ts';
import { eventually, openHerd, type HerdOptions, type TestHerd } from '../support/herd.ts';

const minute = 60_000;
const afterMs = 5 * minute;
/** Silence, and the second look at it. */
const noticedMs = afterMs + 5_001;

const auto: HerdOptions = { policy: { stallRecovery: 'auto' } };

const stalls = (herd: TestHerd): readonly Notice[] =>
  herd.notices.filter(({ kind }) => kind === 'shepherd.stall');

const lines = (herd: TestHerd) =>
  readFileSync(join(herd.shepherd.sessionDir, 'stalls.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => stallLineSchema.parse(JSON.parse(line)));

/** In a turn on its task, and silent from here. */
async function openTurn(options: HerdOptions = {}) {
  const herd = await openHerd(options);
  const child = await herd.hatch('one');
  const taskId = await herd.delegate(child, 'Count the flock.');
  child.turn('turn_started', { taskId });
  await eventually(() => expect(herd.shepherd.status(child.id).state).toBe('working'));
  return { herd, child, taskId };
}

/** Lets the child be silent until it has been looked at. */
async function wedge(herd: TestHerd): Promise<void> {
  herd.advance(afterMs + 1);
  await eventually(() => expect(herd.shepherd.agents()[0]?.stalledMs).toBeGreaterThan(0));
  herd.advance(5_001);
}

/** Has everything handled that has come in or fallen due by now; a watch changes nothing else. */
function settle(herd: TestHerd, taskId: string): void {
  herd.pasture.nowMs += 1;
  herd.shepherd.watch(taskId);
}

/** The child of the launch after `before`. */
async function nextChild(herd: TestHerd, before: number): Promise<TestChild> {
  await eventually(() => expect(herd.host.launches).toHaveLength(before + 1));
  const identity = herd.host.launches.at(-1)?.env['SHEEPFOLD_CHILD'] ?? '';
  return startChild(identity, () => herd.pasture.nowMs);
}

/** A child that stalled and was replaced, and the fresh one, which has said hello. */
async function replaced(options: HerdOptions = {}) {
  const { herd, child, taskId } = await openTurn({
    ...options,
    policy: { stallRecovery: 'auto', ...options.policy },
  });
  await wedge(herd);
  const fresh = await nextChild(herd, 1);
  fresh.hello();
  await eventually(() => expect(herd.shepherd.status(child.id).state).toBe('idle'));
  return { herd, child, fresh, taskId };
}

describe('a child that shows nothing', () => {
  it('is told of once, with what is known, and left to the Shepherd by default', async () => {
    const { herd, child, taskId } = await openTurn();
    herd.host.print(`${child.id}.1`, 'Reading the fence.');
    await wedge(herd);
    await eventually(() => expect(stalls(herd)).toHaveLength(1));
    const [notice] = stalls(herd);
    expect(notice).toMatchObject({
      wake: true,
      deliverAs: 'steer',
      details: { agentId: child.id, taskId, code: 'not_automatic', presence: 'present' },
    });
    expect(notice?.text).toContain('Reading the fence.');
    expect(notice?.text).toContain(taskId);
    herd.advance(60 * minute);
    settle(herd, taskId);
    expect(stalls(herd)).toHaveLength(1);
    expect(herd.shepherd.task(taskId).state).toBe('running');
    await eventually(() =>
      expect(lines(herd).map(({ event }) => event)).toEqual(['stalled', 'surfaced']),
    );
  });

  it('is not told of when its heartbeats go on, and those make no step', async () => {
    const { herd, child, taskId } = await openTurn();
    const steps = () => herd.store.journal({ after: 0, limit: 1_000 }).length;
    const before = steps();
    for (let beat = 0; beat < 25; beat += 1) {
      herd.pasture.nowMs += minute;
      const evidence = { turns: 0, toolCalls: 1, lastActivityAtMs: herd.pasture.nowMs };
      child.send({ kind: 'heartbeat', targetId: 'shepherd', evidence });
    }
    settle(herd, taskId);
    expect(stalls(herd)).toEqual([]);
    expect(herd.shepherd.status(child.id).stalledMs).toBeUndefined();
    // One each time that its patience would have ended.
    expect(steps() - before).toBeLessThanOrEqual(6);
  });

  it('counts as stalled no longer once it beats again, and is told of anew when it stalls anew', async () => {
    const { herd, child } = await openTurn();
    await wedge(herd);
    await eventually(() => expect(stalls(herd)).toHaveLength(1));
    const evidence = { turns: 0, toolCalls: 1, lastActivityAtMs: herd.pasture.nowMs };
    child.send({ kind: 'heartbeat', targetId: 'shepherd', evidence });
    herd.nudge();
    await eventually(() => expect(herd.shepherd.status(child.id).stalledMs).toBeUndefined());
    await wedge(herd);
    await eventually(() => expect(stalls(herd)).toHaveLength(2));
  });

  it('is not watched when the setting is off', async () => {
    const { herd, taskId } = await openTurn({ policy: { stallAfterMs: null } });
    herd.advance(600 * minute);
    settle(herd, taskId);
    expect(herd.shepherd.agents()[0]?.stalledMs).toBeUndefined();
    expect(stalls(herd)).toEqual([]);
  });

  it('is let be when the host itself was away for 8 hours, and one note says so', async () => {
    // A clock that stands still while the host sleeps; nothing else passes time here.
    const { herd, taskId } = await openTurn({ monotonic: () => 0 });
    herd.advance(480 * minute);
    settle(herd, taskId);
    const away = herd.notices.filter(({ details }) => details['code'] === 'host_away');
    expect(away).toHaveLength(1);
    expect(stalls(herd)).toEqual([]);
  });
});

describe('a stalled child that is replaced', () => {
  it('is bailed, and a fresh one gets its task with a brief; the Shepherd is told, and not woken', async () => {
    const { herd, child, fresh, taskId } = await replaced();
    expect(herd.host.interrupts).toEqual([`${child.id}.1`]);
    expect(fresh.identity).toMatchObject({ agentId: child.id, launch: 2 });
    expect(fresh.identity.secret).not.toBe(child.identity.secret);
    const task = await fresh.receives('task');
    expect(task.taskId).toBe(taskId);
    expect(task.content).toContain('Attempt 2 of 2');
    expect(task.content).toContain(`${child.id}.1`);
    expect(task.content.endsWith('Count the flock.')).toBe(true);
    expect(stalls(herd)).toMatchObject([{ wake: false, details: { code: 'recovered' } }]);

    expect(await fresh.done('completed', { summary: '42' })).toMatchObject({ ok: true });
    const { result } = herd.shepherd.task(taskId);
    expect(result).toMatchObject({
      status: 'completed',
      summary: '42',
      attempts: [{ launch: 1 }, { launch: 2 }],
    });
    expect(lines(herd).map(({ event, launch }) => `${event} ${launch}`)).toEqual([
      'stalled 1',
      'bailed 1',
      'dispatched 2',
      'recovered 2',
    ]);
  });

  it('is refused as superseded whatever it says, and reads nothing more', async () => {
    const { herd, child, fresh, taskId } = await replaced();
    await fresh.receives('task');
    const before = child.received.length;
    expect(await child.done('completed', { summary: 'It was me.' })).toMatchObject({
      ok: false,
      code: 'superseded',
    });
    expect(await child.say('shepherd', 'I live!')).toMatchObject({ ok: false, code: 'superseded' });
    expect(await child.roster()).toMatchObject({ ok: false, code: 'superseded' });
    child.turn('turn_settled', { taskId });
    expect(herd.shepherd.task(taskId).state).toBe('running');
    await herd.shepherd.message({ target: child.id, message: 'Go on.' });
    await fresh.receives('message');
    expect(child.received).toHaveLength(before);
    await eventually(() =>
      expect(lines(herd).filter(({ event }) => event === 'superseded')).toHaveLength(4),
    );
    expect(herd.notices.filter(({ text }) => text.includes('I live!'))).toEqual([]);
  });

  it('hands on the mail that it had not read, and the question that it had not answered', async () => {
    const herd = await openHerd(auto);
    const one = await herd.hatch('one');
    const two = await herd.hatch('two');
    const taskId = await herd.delegate(one);
    one.turn('turn_started', { taskId });
    const read = await two.say(one.id, 'Which gate?', { expectsReply: true });
    await one.receives('message');
    one.leave();
    await two.say(one.id, 'It rains.');
    await wedge(herd);
    await eventually(() => expect(herd.host.launches).toHaveLength(3));
    const fresh = startChild(
      herd.host.launches.at(-1)?.env['SHEEPFOLD_CHILD'] ?? '',
      () => herd.pasture.nowMs,
    );
    fresh.hello();
    await fresh.receives('message', ({ content }) => content === 'It rains.');
    const asked = await fresh.receives('message', ({ content }) => content === 'Which gate?');
    expect(asked).toMatchObject({ messageId: read.messageId, expectsReply: true });
    expect(await fresh.say(two.id, 'The north one.', { replyTo: read.messageId })).toMatchObject({
      ok: true,
    });
    await two.receives('reply');
    // A revived predecessor finds nothing.
    const revived = startChild(
      herd.host.launches[0]?.env['SHEEPFOLD_CHILD'] ?? '',
      () => herd.pasture.nowMs,
    );
    expect(await revived.roster()).toMatchObject({ code: 'superseded' });
    expect(revived.received).toEqual([]);
    revived.leave();
    fresh.leave();
  });

  it('is followed by no third one: a second stall is told of, once', async () => {
    const { herd, child, fresh, taskId } = await replaced();
    await fresh.receives('task');
    fresh.turn('turn_started', { taskId });
    await eventually(() => expect(herd.shepherd.status(child.id).state).toBe('working'));
    await wedge(herd);
    await eventually(() => expect(stalls(herd)).toHaveLength(2));
    expect(stalls(herd)[1]).toMatchObject({ wake: true, details: { code: 'cap_reached' } });
    herd.advance(60 * minute);
    settle(herd, taskId);
    expect(stalls(herd)).toHaveLength(2);
    expect(herd.host.launches).toHaveLength(2);
  });

  it('whose end cannot be proven is not replaced', async () => {
    const { herd, child } = await openTurn(auto);
    herd.advance(afterMs + 1);
    const close = herd.host.close.bind(herd.host);
    Object.assign(herd.host, { close: () => Promise.resolve('unconfirmed') });
    herd.advance(5_001);
    await eventually(() => expect(stalls(herd)).toHaveLength(1));
    Object.assign(herd.host, { close });
    expect(stalls(herd)).toMatchObject([{ wake: true, details: { code: 'bail_failed' } }]);
    expect(herd.host.launches).toHaveLength(1);
    expect(herd.shepherd.status(child.id).state).toBe('working');
  });

  it('whose place cannot be seen is not replaced', async () => {
    const { herd, child } = await openTurn(auto);
    herd.host.setPresence(`${child.id}.1`, 'unknown');
    await wedge(herd);
    await eventually(() => expect(stalls(herd)).toHaveLength(1));
    expect(stalls(herd)).toMatchObject([{ details: { code: 'no_evidence', presence: 'unknown' } }]);
    expect(herd.host.launches).toHaveLength(1);
  });

  it('is counted on: the evidence of both children is in the result', async () => {
    const { herd, child, taskId } = await openTurn(auto);
    const evidence = { turns: 3, toolCalls: 7, lastActivityAtMs: herd.pasture.nowMs };
    child.send({ kind: 'runtime', targetId: 'shepherd', event: 'turn_started', taskId, evidence });
    await eventually(() => expect(herd.store.get('agent', child.id)?.evidence.toolCalls).toBe(7));
    await wedge(herd);
    const fresh = await nextChild(herd, 1);
    fresh.hello();
    await fresh.receives('task');
    const more = { turns: 2, toolCalls: 5, lastActivityAtMs: herd.pasture.nowMs };
    fresh.send({
      kind: 'runtime',
      targetId: 'shepherd',
      event: 'turn_started',
      taskId,
      evidence: more,
    });
    await fresh.done('completed', { summary: 'Done.' });
    expect(herd.shepherd.task(taskId).result?.evidence).toMatchObject({ turns: 5, toolCalls: 12 });
    fresh.leave();
  });
});

describe('over a restart', () => {
  it('a replacement that was begun goes on, and the replaced one stays refused', async () => {
    const { herd, child, fresh, taskId } = await replaced();
    await fresh.receives('task');
    herd.abandon();
    const again = await herd.reopen();
    expect(await child.say('shepherd', 'I live!')).toMatchObject({ ok: false, code: 'superseded' });
    expect(await fresh.done('completed', { summary: '42' })).toMatchObject({ ok: true });
    expect(again.shepherd.task(taskId).result?.status).toBe('completed');
  });

  it('silence while nobody looked is not held against a child whose heartbeats lie there', async () => {
    const { herd, child, taskId } = await openTurn();
    herd.abandon();
    herd.pasture.nowMs += 20 * minute;
    const evidence = { turns: 0, toolCalls: 1, lastActivityAtMs: herd.pasture.nowMs };
    child.send({ kind: 'heartbeat', targetId: 'shepherd', evidence });
    const again = await herd.reopen();
    again.advance(noticedMs - minute);
    settle(again, taskId);
    expect(stalls(again)).toEqual([]);
    expect(again.shepherd.status(child.id).stalledMs).toBeUndefined();
  });
});
