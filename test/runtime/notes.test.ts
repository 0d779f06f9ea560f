/** Fieldnotes of a real session: one for each task, as its task is, and never in its way. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Commit } from '../../src/runtime/store.ts';
import type { TestChild } from '../support/child.ts';
import { eventually, openHerd, openWait, textsOf, type TestHerd } from '../support/herd.ts';

const dirOf = (herd: TestHerd): string => join(herd.shepherd.sessionDir, 'notes');

const namesIn = (herd: TestHerd): readonly string[] =>
  existsSync(dirOf(herd)) ? readdirSync(dirOf(herd)).toSorted() : [];

/** Path of the note that the task's status names. */
function noteOf(herd: TestHerd, taskId: string): string {
  const { note } = herd.shepherd.task(taskId);
  if (note === undefined) throw new Error(`${taskId} has no note`);
  return join(herd.shepherd.sessionDir, note);
}

const textOf = (herd: TestHerd, taskId: string): string =>
  readFileSync(noteOf(herd, taskId), 'utf8');

/** What the frontmatter says. */
const statusOf = (herd: TestHerd, taskId: string): string | undefined =>
  /^status: (\w+)$/m.exec(textOf(herd, taskId))?.[1];

const pathTold = async (child: TestChild, taskId: string): Promise<string | undefined> =>
  (await child.receives('task', (task) => task.taskId === taskId)).notePath;

const sections = (text: string): number => text.split('## Shepherd orchestration').length - 1;

const troubles = (herd: TestHerd): readonly string[] =>
  textsOf(herd, 'shepherd.notice').filter((text) => text.includes('fieldnote'));

describe('FN1: a delegated task', () => {
  it('has a note, whose path its child is told', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');

    const taskId = await herd.delegate(child);
    const path = await pathTold(child, taskId);

    expect(herd.shepherd.task(taskId).note).toBe('notes/scout-01.md');
    expect(path).toBe(noteOf(herd, taskId));
    expect(statusOf(herd, taskId)).toBe('running');
    expect(textOf(herd, taskId)).toContain(`task: ${taskId}\nagent: "scout: one"\n`);
    expect(sections(textOf(herd, taskId))).toBe(0);
  });

  it('has none while it is held, and one from its dispatch on', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const first = await herd.delegate(child);
    const { taskId } = await herd.shepherd.delegate({ target: child.id, task: 'b', queue: true });
    expect(herd.shepherd.task(taskId)).not.toHaveProperty('note');
    expect(namesIn(herd)).toEqual(['scout-01.md']);

    await child.done('completed', { taskId: first });

    expect(await pathTold(child, taskId)).toBe(join(dirOf(herd), 'scout-02.md'));
  });

  it('has none if it is withdrawn before', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    await herd.delegate(child);
    const { taskId } = await herd.shepherd.delegate({ target: child.id, task: 'b', queue: true });

    herd.shepherd.cancel(taskId);

    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'cancelled' });
    expect(herd.shepherd.task(taskId)).not.toHaveProperty('note');
    expect(namesIn(herd)).toEqual(['scout-01.md']);
  });

  it('has none, nor its child a path, when the option says no', async () => {
    const herd = await openHerd({ fieldnotes: false });
    const child = await herd.hatch('one');

    const taskId = await herd.delegate(child);
    await child.done('completed');

    expect(await pathTold(child, taskId)).toBeUndefined();
    expect(herd.shepherd.task(taskId)).not.toHaveProperty('note');
    expect(existsSync(dirOf(herd))).toBe(false);
  });

  it('has it, messages have none', async () => {
    const { herd, one, two, question } = await openWait();
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    await herd.shepherd.message({ target: two.id, message: 'Hello.' });

    expect(namesIn(herd)).toEqual(['scout-01.md']);
  });

  it('goes on with the note that it had when the option changes', async () => {
    const first = await openHerd();
    const child = await first.hatch('one');
    const taskId = await first.delegate(child);
    first.abandon();

    const herd = await first.reopen({ fieldnotes: false });
    await child.done('completed');

    expect(statusOf(herd, taskId)).toBe('completed');
  });
});

describe('a note', () => {
  it('says that its task waits, and that it goes on', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    expect(statusOf(herd, taskId)).toBe('waiting');

    await two.say(one.id, 'Left.', { replyTo: question.messageId });

    expect(statusOf(herd, taskId)).toBe('running');
    expect(sections(textOf(herd, taskId))).toBe(0);
  });

  it.each(['completed', 'blocked', 'failed'] as const)(
    'is finalised as %s by its owner',
    async (status) => {
      const herd = await openHerd();
      const child = await herd.hatch('one');
      const taskId = await herd.delegate(child);
      herd.advance(60_000);

      await child.done(status, { summary: 'Seven.', content: 'I counted seven.' });

      const text = textOf(herd, taskId);
      expect(text).toContain(`\nstatus: ${status}\n`);
      expect(text).toContain('\nsettled: 2024-05-06T00:01:00.000Z\n');
      expect(text).toContain(`\n- Status: ${status}\n`);
      expect(text).toContain('### Summary\n\nSeven.\n');
      expect(text).toContain('### Final output\n\nI counted seven.\n');
      expect(text.includes('### Error\n')).toBe(status !== 'completed');
    },
  );

  it('is finalised as cancelled when its task is withdrawn', async () => {
    const { herd, taskId } = await openWait();

    herd.shepherd.cancel(taskId, 'No more sheep.');

    expect(statusOf(herd, taskId)).toBe('cancelled');
    expect(textOf(herd, taskId)).toContain('### Error\n\ncancelled: ');
  });

  it('is finalised as cancelled when its agent is closed', async () => {
    const { herd, one, taskId } = await openWait();

    await herd.shepherd.close(one.id);

    expect(statusOf(herd, taskId)).toBe('cancelled');
  });

  it('is finalised as timed_out by the task’s deadline', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child, 'Hurry.', 60_000);

    herd.advance(60_001);

    await eventually(() => expect(statusOf(herd, taskId)).toBe('timed_out'));
    expect(textOf(herd, taskId)).toContain('### Error\n\ntask_deadline: ');
  });

  it('is finalised as blocked by a reply that did not come', async () => {
    const { herd, taskId } = await openWait({ policy: { replyTimeoutMs: 60_000 } });

    herd.advance(60_001);

    await eventually(() => expect(statusOf(herd, taskId)).toBe('blocked'));
    expect(textOf(herd, taskId)).toContain('### Error\n\nreply_deadline: ');
  });

  it('is finalised as failed when its agent is lost', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);

    herd.host.exit(`${child.id}.1`, { code: 1 });

    await eventually(() => expect(statusOf(herd, taskId)).toBe('failed'));
    expect(textOf(herd, taskId)).toContain('agent_lost: ');
  });

  it('is finalised with its session', async () => {
    const { herd, taskId } = await openWait();
    const path = noteOf(herd, taskId);

    await herd.shepherd.dispose();

    expect(readFileSync(path, 'utf8')).toContain('\nstatus: cancelled\n');
  });

  it('keeps what its agent wrote, before and after', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const path = (await pathTold(one, taskId)) ?? '';
    appendFileSync(path, 'Six at the gate.\n');
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    writeFileSync(path, `${readFileSync(path, 'utf8')}One behind it.\n`);
    await one.done('completed', { summary: 'Seven.' });
    appendFileSync(path, 'And a dog.\n');

    const text = textOf(herd, taskId);
    expect(text).toContain('## Findings\nSix at the gate.\nOne behind it.\n');
    expect(text.endsWith('And a dog.\n')).toBe(true);
    expect(sections(text)).toBe(1);
    expect(statusOf(herd, taskId)).toBe('completed');
  });

  it('that its agent has replaced gets its section all the same', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    writeFileSync(noteOf(herd, taskId), '# My flock\n');

    await child.done('blocked', { summary: 'No gate.' });

    const text = textOf(herd, taskId);
    expect(text.startsWith('# My flock\n\n')).toBe(true);
    expect(text).toContain('- Status: blocked\n');
  });

  it('stays when everything else about its task is forgotten', async () => {
    const first = await openHerd({ retention: { keep: 0, keepMs: 0 } });
    const child = await first.hatch('one');
    await first.delegate(child);
    await child.done('completed');
    first.pasture.nowMs += 1;
    first.abandon();

    const herd = await first.reopen();
    herd.advance(1_000);

    await eventually(() => expect(herd.shepherd.tasks()).toEqual([]));
    expect(herd.store.all('note')).toEqual([]);
    expect(namesIn(herd)).toEqual(['scout-01.md']);
    const next = await herd.delegate(child);
    expect(herd.shepherd.task(next).note).toBe('notes/scout-02.md');
  });
});

it('agents that work at the same time have notes of their own', async () => {
  const herd = await openHerd();
  const children = [
    await herd.hatch('one'),
    await herd.hatch('two'),
    await herd.hatch('three', 'worker'),
  ];

  const tasks = await Promise.all(children.map((child) => herd.delegate(child)));

  expect(tasks.map((taskId) => herd.shepherd.task(taskId).note)).toEqual([
    'notes/scout-01.md',
    'notes/scout-02.md',
    'notes/worker-01.md',
  ]);
  for (const taskId of tasks) expect(textOf(herd, taskId)).toContain(`task: ${taskId}\n`);
});

it('sessions of one project have directories of their own', async () => {
  const one = await openHerd();
  const two = await openHerd({ pasture: one.pasture, sessionKey: 'another' });
  const tasks = [
    await one.delegate(await one.hatch('one')),
    await two.delegate(await two.hatch('one')),
  ] as const;

  expect(noteOf(one, tasks[0])).not.toBe(noteOf(two, tasks[1]));
  expect([namesIn(one), namesIn(two)]).toEqual([['scout-01.md'], ['scout-01.md']]);
});

/** Lets go of the session when a commit of this kind is about to be kept, and opens it again. */
async function crashAt(input: string, first: TestHerd, act: () => Promise<unknown>) {
  const commit = first.store.commit.bind(first.store);
  let isDead = false;
  Object.assign(first.store, {
    commit(step: Commit) {
      if (!isDead && step.journal.input === input) {
        isDead = true;
        first.store.break();
        queueMicrotask(() => first.abandon());
      }
      commit(step);
    },
  });
  await Promise.race([act().catch(() => undefined), eventually(() => expect(isDead).toBe(true))]);
  await Promise.resolve();
  return first.reopen();
}

describe('FN3: a crash', () => {
  it('between a note and what is known of it leaves one note', async () => {
    const first = await openHerd();
    const child = await first.hatch('one');

    const herd = await crashAt('effect note', first, () =>
      first.shepherd.delegate({ target: child.id, task: 'Count the flock.' }),
    );

    const { taskId } = await child.receives('task');
    await eventually(() => expect(herd.shepherd.task(taskId).state).toBe('running'));
    expect(herd.shepherd.task(taskId).note).toBe('notes/scout-01.md');
    expect(namesIn(herd)).toEqual(['scout-01.md']);
    expect(herd.store.all('effect')).toEqual([]);
    await child.done('completed');
    expect(sections(textOf(herd, taskId))).toBe(1);
  });

  it('between the envelope and what is known of it changes neither', async () => {
    const first = await openHerd();
    const child = await first.hatch('one');

    const herd = await crashAt('effect publish', first, () =>
      first.shepherd.delegate({ target: child.id, task: 'Count the flock.' }),
    );

    const { taskId, notePath } = await child.receives('task');
    await eventually(() => expect(herd.shepherd.task(taskId).state).toBe('running'));
    expect(notePath).toBe(noteOf(herd, taskId));
    expect(child.received.filter(({ kind }) => kind === 'task')).toHaveLength(1);
  });

  it('after an envelope that was sent without a note lets the task run, with a note', async () => {
    const first = await openHerd();
    const child = await first.hatch('one');
    writeFileSync(dirOf(first), 'in the way');

    const herd = await crashAt('effect publish', first, async () => {
      const delegated = first.shepherd.delegate({ target: child.id, task: 'Count the flock.' });
      rmSync(dirOf(first));
      await delegated;
    });

    const { taskId, notePath } = await child.receives('task');
    expect(notePath).toBeUndefined();
    await eventually(() => expect(herd.shepherd.task(taskId).state).toBe('running'));
    expect(statusOf(herd, taskId)).toBe('running');
  });

  it('while a note is finalised doubles no section', async () => {
    const first = await openHerd();
    const child = await first.hatch('one');
    const taskId = await first.delegate(child);

    const herd = await crashAt('effect note', first, () => child.done('completed'));

    await eventually(() => expect(herd.store.all('effect')).toEqual([]));
    expect(statusOf(herd, taskId)).toBe('completed');
    expect(sections(textOf(herd, taskId))).toBe(1);
  });
});

describe('FN2: a note that cannot be written', () => {
  it('fails no task; the Shepherd is told once, and it is written when it can be', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
    writeFileSync(dirOf(herd), 'in the way');

    const taskId = await herd.delegate(one);
    const other = await herd.delegate(two);
    expect(await pathTold(one, taskId)).toBeUndefined();
    await eventually(() => expect(troubles(herd)).toHaveLength(1));
    await one.done('completed', { summary: 'Seven.' });
    expect(herd.shepherd.task(taskId)).toMatchObject({ state: 'completed' });
    rmSync(dirOf(herd));

    await eventually(() => expect(statusOf(herd, taskId)).toBe('completed'));
    await eventually(() => expect(statusOf(herd, other)).toBe('running'));
    expect(sections(textOf(herd, taskId))).toBe(1);
    await eventually(() => expect(herd.store.all('effect')).toEqual([]));
    expect(troubles(herd)).toHaveLength(1);
    expect(herd.notices.find(({ text }) => text.includes('fieldnote'))).toMatchObject({
      wake: false,
      details: { code: 'note_failed' },
    });
  });

  it('is written by the next parent if need be', async () => {
    const first = await openHerd();
    const child = await first.hatch('one');
    writeFileSync(dirOf(first), 'in the way');
    const taskId = await first.delegate(child);
    await child.done('failed', { summary: 'No gate.' });
    first.abandon();
    rmSync(dirOf(first));

    const herd = await first.reopen();

    expect(statusOf(herd, taskId)).toBe('failed');
    expect(sections(textOf(herd, taskId))).toBe(1);
  });

  it('since a link is in its place stays unwritten, and that is told once', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const precious = join(herd.pasture.dir, 'precious.md');
    writeFileSync(precious, 'mine');
    rmSync(noteOf(herd, taskId));
    symlinkSync(precious, noteOf(herd, taskId));

    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    await one.done('completed');

    expect(herd.shepherd.task(taskId).state).toBe('completed');
    expect(readFileSync(precious, 'utf8')).toBe('mine');
    await eventually(() => expect(herd.store.all('effect')).toEqual([]));
    expect(troubles(herd)).toEqual([expect.stringContaining('is no plain file')]);
  });
});

const hasGit = spawnSync('git', ['--version']).status === 0;

it.runIf(hasGit)('lies where the documentation says, and is all that git sees', async () => {
  const { herd, one, taskId } = await openWait();
  await one.done('blocked', { summary: 'No gate.' });
  const { dir } = herd.pasture;
  const tree = join(dir, '.shepherd', 'sessions');
  const [session = ''] = readdirSync(tree).filter((name) => name !== '.gitignore');
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', dir, '-c', 'core.excludesFile=', ...args], { encoding: 'utf8' });
  git('init', '--quiet');
  writeFileSync(join(dirOf(herd), '.0123456789ab.tmp'), 'half');

  const seen = git('ls-files', '--others', '--exclude-standard', '.shepherd').trim().split('\n');

  expect(session).toMatch(/^0001-shepherd-[0-9a-f]{8}$/);
  expect(noteOf(herd, taskId)).toBe(join(tree, session, 'notes', 'scout-01.md'));
  expect(seen).toEqual([
    '.shepherd/sessions/.gitignore',
    `.shepherd/sessions/${session}/notes/scout-01.md`,
  ]);
  expect(statSync(dirOf(herd)).mode & 0o777).toBe(0o700);
  expect(statSync(noteOf(herd, taskId)).mode & 0o777).toBe(0o600);
});
