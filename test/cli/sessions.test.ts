import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { mailbox, mailboxReportSchema } from '../../src/cli/commands/mailbox.ts';
import { sessions, sessionsReportSchema } from '../../src/cli/commands/sessions.ts';
import { status, statusReportSchema } from '../../src/cli/commands/status.ts';
import { eventually, openHerd, type TestHerd } from '../support/herd.ts';

interface Ran {
  readonly lines: readonly string[];
  /** The one document of `--json`. */
  json(): unknown;
}

/** Runs a command over the herd's project, as `main.ts` does. */
async function run(
  command: Command,
  herd: TestHerd,
  options: { readonly words?: readonly string[]; readonly values?: Record<string, unknown> } = {},
): Promise<Ran> {
  const lines: string[] = [];
  await command.run({
    values: { dir: herd.pasture.dir, ...options.values },
    positionals: options.words ?? [],
    out: (line) => lines.push(line),
    err: (line) => lines.push(line),
    signal: new AbortController().signal,
    now: () => herd.pasture.nowMs,
    columns: 120,
  });
  return { lines, json: () => JSON.parse(lines.join('\n')) as unknown };
}

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
