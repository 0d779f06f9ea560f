import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { mailbox, mailboxReportSchema } from '../../src/cli/commands/mailbox.ts';
import { sessions, sessionsReportSchema } from '../../src/cli/commands/sessions.ts';
import { status, statusReportSchema } from '../../src/cli/commands/status.ts';
import { writeExit, writeStarted } from '../../src/hosts/launch.ts';
import { identify } from '../../src/hosts/processes.ts';
import { listSessions } from '../../src/runtime/sessions.ts';
import type { TestChild } from '../support/child.ts';
import { runCommand, type Ran } from '../support/cli.ts';
import { eventually, openHerd, type TestHerd } from '../support/herd.ts';

/** Runs a command over the herd's project. */
const run = (
  command: Command,
  herd: TestHerd,
  options: { readonly words?: readonly string[]; readonly values?: Record<string, unknown> } = {},
): Promise<Ran> =>
  runCommand(command, {
    values: { dir: herd.pasture.dir, ...options.values },
    words: options.words ?? [],
    now: () => herd.pasture.nowMs,
  });

const asJson = { json: true };

describe('sheepfold sessions', () => {
  it('lists a session beside its living owner', async () => {
    const herd = await openHerd();
    await herd.delegate(await herd.hatch('one'));

    const report = sessionsReportSchema.parse(
      (await run(sessions, herd, { values: asJson })).json(),
    );

    expect(report.sessions).toMatchObject([
      { owner: { state: 'held', verdict: 'alive', key: 'the test' }, liveAgents: 1, openTasks: 1 },
    ]);
  });

  it('counts as live, once nobody has the session, what may still run', async () => {
    const herd = await openHerd();
    for (const label of ['running', 'ended as an orphan', 'gone']) await herd.hatch(label);
    const [running = '', orphaned = ''] = herd.host.launches.map(({ launchDir }) => launchDir);
    const self = await identify(process.pid);
    const runner = { runnerPid: self.pid, runnerStartTime: self.startTime };
    await writeStarted(running, { ...self, ...runner, pgid: self.pid, atMs: 0 });
    await writeExit(orphaned, { code: 143, signal: null, atMs: 0, reason: 'orphaned' });
    const counted = async () => {
      const listed = await run(sessions, herd, { values: asJson });
      const [summary] = await listSessions(join(herd.shepherd.sessionDir, '..'));
      return [sessionsReportSchema.parse(listed.json()).sessions, summary];
    };
    expect(await counted()).toMatchObject([[{ liveAgents: 3 }], { runningAgents: 3 }]);

    herd.abandon();

    expect(await counted()).toMatchObject([
      [{ liveAgents: 1 }],
      { runningAgents: 1, liveAgents: 3 },
    ]);
  });

  it('lists one that cannot be read with the reason', async () => {
    const herd = await openHerd();
    const broken = join(herd.shepherd.sessionDir, '..', '0009-broken-00000000');
    mkdirSync(broken);
    writeFileSync(join(broken, 'session.db'), 'no database');

    const { lines } = await run(sessions, herd);

    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^0009-broken-00000000 +disk_error/);
  });
});

describe('sheepfold status', () => {
  it('shows process state and task state side by side, and who is waited for', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
    await herd.delegate(one);
    await one.say(two.id, 'Which way?', { expectsReply: true });
    herd.advance(4 * 60_000);

    const { lines } = await run(status, herd);

    expect(lines.join('\n')).toMatch(/scout: one +idle +waiting +⏳4m ←scout: two/);
  });

  it('prints one document that reuses the fields of the runtime', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    await child.done('completed', { summary: 'Counted.' });

    const report = statusReportSchema.parse((await run(status, herd, { values: asJson })).json());

    expect(report.settled).toMatchObject([
      {
        id: taskId,
        state: 'completed',
        result: { returnCode: 0, summary: 'Counted.' },
        messages: [{ kind: 'task', taskId, toId: child.id }],
      },
    ]);
    expect(report.agents).toMatchObject([{ id: child.id, state: 'idle' }]);
  });

  it('shows what is held in the queue, and how far the latest messages came', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
    await herd.delegate(one);
    const long = 'Shear. '.repeat(10_000);
    const held = await herd.shepherd.delegate({ target: one.id, task: long, queue: true });
    const { messageId } = await two.say(one.id, 'Mind the gate.');
    one.send({ kind: 'receipt', targetId: 'shepherd', forMessageId: messageId, receipt: 'seen' });
    await eventually(() =>
      expect(herd.shepherd.messages(messageId)).toMatchObject([{ receipt: 'seen' }]),
    );
    herd.advance(4 * 60_000);

    const text = (await run(status, herd)).lines.join('\n');
    const report = statusReportSchema.parse((await run(status, herd, { values: asJson })).json());

    expect(text).toMatch(/held, number 1 in the queue +Shear\. Shear\./);
    expect(text).toMatch(/← scout: two +message +seen +4m ago/);
    expect(text).toMatch(/→ scout: one +message +seen +4m ago/);
    expect(text).toMatch(/← the Shepherd +task +queued/);
    expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(120);
    expect(report.agents[0]).toMatchObject({
      id: one.id,
      queue: [held.taskId],
      held: [{ id: held.taskId, queuePosition: 1, description: long }],
      messages: [{ messageId, fromId: two.id, toId: one.id, receipt: 'seen' }, { kind: 'task' }],
    });
  });

  it('names the sessions there are when another one is asked for', async () => {
    const herd = await openHerd();

    await expect(run(status, herd, { values: { session: 'nowhere' } })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('0001-'),
    });
  });
});

/** Has a child give up a letter that it has acked, as one that its Pi would not take. */
async function bury(child: TestChild, herd: TestHerd, messageId: string): Promise<void> {
  const pathIn = (folder: string) =>
    join(child.identity.boxesDir, 'inbox', folder, `${messageId}.json`);
  await eventually(() => renameSync(pathIn('done'), pathIn('dead')));
  const draft = { kind: 'receipt', targetId: 'shepherd', forMessageId: messageId } as const;
  child.send({ ...draft, receipt: 'dead' });
  await eventually(() =>
    expect(herd.shepherd.messages(messageId)).toMatchObject([{ receipt: 'dead' }]),
  );
}

describe('sheepfold mailbox retry', () => {
  it('puts a dead letter back in line, and its receipt with it', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
    const { messageId } = await one.say(two.id, 'Baa.');
    await bury(two, herd, messageId);
    herd.abandon();

    await run(mailbox, herd, { words: ['retry', messageId] });

    const again = await herd.reopen();
    const [message] = again.shepherd.messages(messageId);
    expect(message).toMatchObject({ receipt: 'queued' });
    expect(message).not.toHaveProperty('error');
    const report = { kind: 'receipt', targetId: 'shepherd', forMessageId: messageId } as const;
    two.send({ ...report, receipt: 'seen' });
    await eventually(() =>
      expect(again.shepherd.messages(messageId)).toMatchObject([{ receipt: 'seen' }]),
    );
  });

  it('refuses the letter of a task that has ended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const { messageId } = await one.receives('task');
    await bury(one, herd, messageId);
    herd.abandon();

    await expect(run(mailbox, herd, { words: ['retry', messageId] })).rejects.toMatchObject({
      code: 'task_settled',
      message: expect.stringMatching(new RegExp(`${taskId}, which is failed already.*delegate`)),
    });

    const listed = await run(mailbox, herd, { words: ['dead'], values: asJson });
    expect(mailboxReportSchema.parse(listed.json()).mail).toMatchObject([{ messageId }]);
    const again = await herd.reopen();
    expect(again.shepherd.messages(messageId)).toMatchObject([{ receipt: 'dead' }]);
  });
});

describe('sheepfold mailbox', () => {
  it('lists what was put aside, with the reason, and clears it once nobody has the session', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const outbox = join(child.identity.boxesDir, 'outbox');
    writeFileSync(
      join(outbox, 'new', 'shepherd-message-000000000000000000000000.json'),
      '{"no": 1}',
    );
    herd.nudge();
    await eventually(() => expect(herd.notices.length).toBeGreaterThan(0));

    const listed = await run(mailbox, herd, { words: ['quarantine'], values: asJson });
    const { mail } = mailboxReportSchema.parse(listed.json());
    expect(mail).toMatchObject([{ state: 'quarantined', agentName: 'scout: one' }]);
    const file = mail[0]?.file ?? '';
    const clear = () => run(mailbox, herd, { words: ['clear', file] });
    await expect(clear()).rejects.toMatchObject({ code: 'session_owned' });

    herd.abandon();
    await clear();

    const left = await run(mailbox, herd, { words: ['quarantine'], values: asJson });
    expect(mailboxReportSchema.parse(left.json()).mail).toEqual([]);
  });

  it.each([[['nonsense']], [['clear']], [['ls', 'more']]])('refuses %j', async (words) => {
    const herd = await openHerd();

    await expect(run(mailbox, herd, { words })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});
