import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mailbox, mailboxReportSchema } from '../../src/cli/commands/mailbox.ts';
import { runCommand } from '../support/cli.ts';
import { eventually, openHerd, type TestHerd } from '../support/herd.ts';

const run = (herd: TestHerd, words: readonly string[]) =>
  runCommand(mailbox, { values: { dir: herd.pasture.dir }, words });

async function listed(herd: TestHerd) {
  const values = { dir: herd.pasture.dir, json: true };
  const { json } = await runCommand(mailbox, { values, words: ['ls'] });
  return mailboxReportSchema.parse(json()).mail;
}

/** A herd in which `scout: two` does not read what `scout: one` has told it. */
async function openUnread() {
  const herd = await openHerd();
  const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];
  two.leave();
  const { messageId } = await one.say(two.id, 'Baa.');
  const inbox = join(two.identity.boxesDir, 'inbox');
  await eventually(() => expect(readdirSync(join(inbox, 'new'))).toContain(`${messageId}.json`));
  return { herd, two, inbox, messageId };
}

describe('sheepfold mailbox clear', () => {
  it.each(['unread', 'claimed'] as const)(
    'removes %s mail of an agent that has ended',
    async (state) => {
      const { herd, two, inbox, messageId } = await openUnread();
      await herd.shepherd.close(two.id);
      const file = `${messageId}.json`;
      if (state === 'claimed') renameSync(join(inbox, 'new', file), join(inbox, 'cur', file));
      herd.abandon();
      expect(await listed(herd)).toContainEqual(expect.objectContaining({ messageId, state }));

      const { lines } = await run(herd, ['clear', messageId]);

      expect(lines.join('\n')).toMatch(/scout: two +inbox +cleared/);
      expect(await listed(herd)).not.toContainEqual(expect.objectContaining({ messageId }));
    },
  );

  it('refuses the mail of an agent that lives, which will read it', async () => {
    const { herd, messageId } = await openUnread();
    herd.abandon();

    await expect(run(herd, ['clear', messageId])).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/is unread mail of scout: two, which has not ended and will/),
    });
    expect(await listed(herd)).toContainEqual(expect.objectContaining({ messageId }));
  });

  it('refuses what an agent that lives has sent, which the Shepherd will take', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    herd.abandon();
    const messageId = one.send({ kind: 'runtime', targetId: 'shepherd', event: 'turn_started' });

    await expect(run(herd, ['clear', messageId])).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/is unread mail from scout: one, which has not ended; the Sh/),
    });
  });
});

describe('sheepfold mailbox retry', () => {
  it('says that quarantined mail cannot be retried, why it lies there, and what can be done', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const name = 'shepherd-message-000000000000000000000000.json';
    const outbox = join(one.identity.boxesDir, 'outbox');
    writeFileSync(join(outbox, 'new', name), '{"no": 1}');
    herd.nudge();
    await eventually(() => expect(readdirSync(join(outbox, 'bad'))).toContain(name));
    await eventually(() => expect(herd.notices.length).toBeGreaterThan(0));
    herd.abandon();

    await expect(run(herd, ['retry', name])).rejects.toMatchObject({
      code: 'invalid_envelope',
      message: expect.stringMatching(/is quarantined \(.+\), which cannot be retried.*clear it/),
    });
  });

  it('says of mail in line that it is there already', async () => {
    const { herd, messageId } = await openUnread();
    herd.abandon();

    await expect(run(herd, ['retry', messageId])).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('is unread: it is in line already'),
    });
  });
});

describe('sheepfold mailbox', () => {
  it('counts ages in whole milliseconds', async () => {
    const { herd } = await openUnread();

    const ages = (await listed(herd)).map(({ ageMs }) => ageMs);

    expect(ages.length).toBeGreaterThan(0);
    expect(ages.every(Number.isInteger)).toBe(true);
  });

  it('refuses a --dir that is no directory', async () => {
    const herd = await openHerd();
    const file = join(herd.pasture.dir, 'file');
    writeFileSync(file, '');

    await expect(runCommand(mailbox, { values: { dir: file } })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: `--dir ${file} is no directory; it takes the directory of a project.`,
    });
  });
});
