import { describe, expect, it } from 'vitest';
import { eventually, openHerd, openWait, requestOf, textsOf } from '../support/herd.ts';

const strange = [
  ['emoji', '🐑👩‍🌾🏴󠁧󠁢󠁳󠁣󠁴󠁿', '🐑👩‍🌾🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
  ['half a character', 'left \ud83d right', 'left \ufffd right'],
  ['halves the wrong way round', '\udc11\ud83d', '\ufffd\ufffd'],
  ['NUL', 'a\u0000b', 'a\u0000b'],
  ['letters from right to left', 'كبش \u202eabc', 'كبش \u202eabc'],
  ['letters of four bytes', '𠀋𐍈', '𠀋𐍈'],
  ['what JSON and HTML escape', '"\\ud83d"\u2028<b>', '"\\ud83d"\u2028<b>'],
] as const;

describe.each(strange)('a text with %s', (_what, text, wellFormed) => {
  it('comes out well-formed on every way', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];

    const taskId = await herd.delegate(one, text);
    await one.say(two.id, text);
    await one.say('shepherd', text);
    await herd.shepherd.message({ target: two.id, message: text });
    await one.done('failed', { summary: text, content: text });

    const task = await one.receives('task');
    const fromOne = await two.receives('message', ({ senderId }) => senderId === one.id);
    const fromShepherd = await two.receives('message', ({ senderId }) => senderId !== one.id);
    const result = await herd.shepherd.settled(taskId);
    expect([
      task.content,
      fromOne.content,
      fromShepherd.content,
      herd.shepherd.task(taskId).description,
      result.summary,
      result.text,
    ]).toEqual(Array<string>(6).fill(wellFormed));
    await eventually(() =>
      expect(textsOf(herd, 'shepherd.message.incoming').join()).toContain(wellFormed),
    );
  });
});

it('names of a task and of a thread are counted in characters', async () => {
  const herd = await openHerd();
  const one = await herd.hatch('one');
  const sheep = '🐑'.repeat(200);

  expect(await one.say('shepherd', 'Baa.', { threadId: sheep })).toMatchObject({ ok: true });
  const options = { target: one.id, message: 'Baa.', threadId: `${sheep}🐑` };
  await expect(herd.shepherd.message(options)).rejects.toMatchObject({ code: 'invalid_argument' });
  const task = { target: one.id, task: 'Count.', idempotencyKey: sheep };
  expect((await herd.shepherd.delegate(task)).state).toBe('running');
  await expect(
    herd.shepherd.delegate({ ...task, idempotencyKey: `${sheep}🐑` }),
  ).rejects.toMatchObject({ code: 'invalid_task' });
});

it('a blank message is refused, whoever writes it', async () => {
  const herd = await openHerd();
  const one = await herd.hatch('one');

  expect(await one.say('shepherd', ' \n')).toMatchObject({ code: 'invalid_argument' });
  await expect(herd.shepherd.message({ target: one.id, message: '\t' })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
  expect(herd.notices).toEqual([]);
});

it('a label may have letters of four bytes, and is found by them', async () => {
  const herd = await openHerd();
  const child = await herd.hatch('𠀋 𐍈');

  expect(herd.shepherd.status('𠀋 𐍈').id).toBe(child.id);
});

it('a text is cut between characters, never within one', async () => {
  const { herd, one, two } = await openWait();
  const sheep = '🐑'.repeat(200);
  const { messageId } = await one.say(two.id, sheep, { expectsReply: true });
  await herd.shepherd.close(two.id);

  const notice = await one.receives('notice', ({ requestId }) => requestId === messageId);

  expect(requestOf(herd, messageId)).toMatchObject({ question: sheep, state: 'recipient_gone' });
  expect(notice.content.isWellFormed()).toBe(true);
  expect(notice.content).toMatch(/🐑{120}…$/u);
});
