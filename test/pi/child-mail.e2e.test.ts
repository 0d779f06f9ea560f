/** What a child makes of the finer points of its mail: names, causes, files, notices, receipts. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { registerChild } from '../../src/pi/child/session.ts';
import { createGate } from './support/gate.ts';
import { createHandParent, peerId, taskId, type HandParent } from './support/hand-parent.ts';
import { calls, says, startPi, type PiSession } from './support/pi-session.ts';
import { until } from './support/until.ts';

interface Setup {
  readonly parent: HandParent;
  readonly pi: PiSession;
}

async function setUp({ tools = [] }: { readonly tools?: readonly string[] } = {}): Promise<Setup> {
  const parent = createHandParent();
  const pi = await startPi({
    extensions: [
      (api) => {
        registerChild(api, parent.identity);
        for (const name of tools) {
          api.registerTool({
            name,
            label: name,
            description: 'A stand-in.',
            parameters: { type: 'object', properties: {} },
            execute: () => Promise.resolve({ content: [], details: undefined }),
          });
        }
      },
    ],
  });
  return { parent, pi };
}

const call = (name: string, parameters: Parameters<typeof calls>[1] = {}) =>
  says([calls(name, parameters)], { stopReason: 'toolUse' });
const tell = (text: string) => call('shepherd_message', { target: 'planner', message: text });
const textsShown = (pi: PiSession) => pi.customEntries().map(({ content }) => String(content));

const question = {
  kind: 'message',
  content: 'Which?',
  delivery: 'followUp',
  expectsReply: true,
} as const;

describe('the sender’s name', () => {
  it('is shown before the id', async () => {
    const { parent, pi } = await setUp();
    pi.script(says('ok'), says('ok'));

    parent.send({ ...question, senderName: 'planner: plan' }, peerId);
    parent.send({ ...question, senderName: 'the Shepherd' });

    await until(() => expect(pi.requests).toHaveLength(2));
    const [ofPeer, ofShepherd] = textsShown(pi);
    expect(ofPeer).toContain(`\nFrom: planner: plan (${peerId})\n`);
    expect(ofShepherd).toContain('\nFrom: the Shepherd (shepherd)\n');
  });
});

describe('the cause of a message', () => {
  it('is the envelope that started the turn: task, question, notice', async () => {
    const { parent, pi } = await setUp();
    pi.script(tell('1'), says('on'), tell('2'), says('on'), tell('3'), says('on'));

    const causes = [parent.send({ kind: 'task', taskId, content: 'Find it.' })];
    await until(() => expect(parent.events()).toHaveLength(2));
    causes.push(parent.send(question, peerId));
    await until(() => expect(parent.events()).toHaveLength(4));
    causes.push(parent.send({ kind: 'notice', content: 'planner is gone', taskId }));
    await until(() => expect(parent.events()).toHaveLength(6));

    expect(parent.ofKind('message').map(({ causeId }) => causeId)).toEqual(causes);
  });

  it('is the last one that came into a running turn, and no passive one', async () => {
    const { parent, pi } = await setUp();
    const answering = createGate();
    pi.script(
      async () => {
        await answering.passed;
        return tell('1');
      },
      tell('2'),
      says('on'),
    );
    const first = parent.send({ kind: 'task', taskId, content: 'Find it.' });
    await until(() => expect(pi.requests).toHaveLength(1));

    const steered = parent.send({ ...question, delivery: 'steer' }, peerId);
    const passive = parent.send({ kind: 'message', content: 'FYI', delivery: 'steer' }, peerId);
    await until(() => expect(isClaimed(parent, passive)).toBe(true));
    answering.open();

    await until(() => expect(parent.events()).toHaveLength(2));
    expect(parent.ofKind('message').map(({ causeId }) => causeId)).toEqual([first, steered]);
  });

  it('is none in a turn that a person started', async () => {
    const { parent, pi } = await setUp();
    pi.script(says('on'), tell('1'), says('on'));
    parent.send({ kind: 'task', taskId, content: 'Find it.' });
    await until(() => expect(parent.events()).toHaveLength(2));

    await pi.session.prompt('go');

    expect(parent.ofKind('message')[0]).not.toHaveProperty('causeId');
  });
});

describe('a task that was too long for its envelope', () => {
  const text = 'a line\n'.repeat(20_000);
  const content = text.slice(0, 2_000);

  it('is read from its file by a model that can read', async () => {
    const { parent, pi } = await setUp({ tools: ['read'] });
    pi.script(says('I read.'));
    const attachment = parent.attach(text);

    parent.send({ kind: 'task', taskId, content, attachment });

    await until(() => expect(pi.requests).toHaveLength(1));
    const shown = textsShown(pi)[0] ?? '';
    const [, path = ''] = /is in the file (\/\S+)\.\n/.exec(shown) ?? [];
    expect(shown).toContain(
      `${content}…\n\nThis is only the beginning. The whole task (140000 bytes)`,
    );
    expect(shown).toContain('How this task');
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('is shown whole to a model that cannot read', async () => {
    const { parent, pi } = await setUp();
    pi.script(says('I see.'));

    parent.send({ kind: 'task', taskId, content, attachment: parent.attach(text) });

    await until(() => expect(pi.requests).toHaveLength(1));
    expect(textsShown(pi)[0]).toContain(`\n\n${text}\n\nHow this task`);
  });

  it('is shown whole when it has a line that Pi’s read does not show', async () => {
    const { parent, pi } = await setUp({ tools: ['read'] });
    pi.script(says('I see.'));
    const line = '🐑'.repeat(20_000);

    parent.send({ kind: 'task', taskId, content: '🐑', attachment: parent.attach(line) });

    await until(() => expect(pi.requests).toHaveLength(1));
    expect(textsShown(pi)[0]).toContain(line);
  });

  it('is a dead letter when its file is gone, and the child goes on', async () => {
    const { parent, pi } = await setUp({ tools: ['read'] });
    pi.script(says('ok'));
    const attachment = parent.attach(text);
    rmSync(join(parent.identity.boxesDir, 'files', attachment.file));

    const dead = parent.send({ kind: 'task', taskId, content, attachment });
    const next = parent.send(question, peerId);

    await until(() => expect(parent.receiptsOf(next)).toEqual(['delivered', 'seen']));
    expect(parent.receiptsOf(dead)).toEqual(['dead']);
    expect(parent.ofKind('receipt')[0]?.error).toMatch(/^disk_error: /);
    expect(parent.unacked()).toEqual([]);
    expect(pi.errors).toEqual([]);
  });
});

describe('a notice', () => {
  it('of a withdrawn question wakes nobody', async () => {
    const { parent, pi } = await setUp();

    const notice = parent.send({
      kind: 'notice',
      code: 'request_withdrawn',
      content: 'Not needed.',
    });

    await until(() => expect(parent.receiptsOf(notice)).toEqual(['delivered']));
    expect(pi.requests).toEqual([]);
  });

  it('that reminds of a task wakes for it: closing the task ends that turn', async () => {
    const { parent, pi } = await setUp();
    const answering = createGate();
    pi.script(says('I rest.'), async () => {
      await answering.passed;
      return says('too late');
    });
    parent.send({ kind: 'task', taskId, content: 'Find it.' });
    await until(() => expect(parent.events()).toHaveLength(2));

    parent.send({ kind: 'notice', code: 'done_reminder', content: 'Still open.', taskId });
    await until(() => expect(pi.requests).toHaveLength(2));
    const closed = parent.send({ kind: 'task_closed', taskId, status: 'cancelled' });
    await until(() => expect(isClaimed(parent, closed)).toBe(true));
    answering.open();

    await until(() => expect(parent.events()).toHaveLength(4));
    expect(parent.ofKind('runtime').at(-1)).toMatchObject({ aborted: true });
    expect(parent.ofKind('runtime').at(-1)).not.toHaveProperty('taskId');
  });
});

describe('a hand-in that was refused late', () => {
  it('leaves the task open for the next report', async () => {
    const { parent, pi } = await setUp();
    parent.answer = () => undefined;
    pi.script(call('shepherd_done', { status: 'completed' }), says('ending'), says('oh'));
    parent.send({ kind: 'task', taskId, content: 'Find it.' });
    await until(() => expect(parent.events()).toHaveLength(2));
    expect(parent.ofKind('runtime').at(-1)).not.toHaveProperty('taskId');

    const { messageId } = parent.ofKind('task_done')[0]!;
    parent.send({
      kind: 'verdict',
      forMessageId: messageId,
      ok: false,
      code: 'completion_refused',
    });

    await until(() => expect(parent.events()).toHaveLength(4));
    expect(parent.ofKind('runtime').at(-1)).toMatchObject({ taskId });
  });
});

describe('seen', () => {
  it('is said of passive messages with the next answer, and not of a failed one', async () => {
    const { parent, pi } = await setUp();
    pi.script(says('', { stopReason: 'error', errorMessage: '500: down' }), says('I see.'));
    const passive = parent.send({ kind: 'message', content: 'FYI', delivery: 'followUp' }, peerId);
    await until(() => expect(parent.receiptsOf(passive)).toEqual(['delivered']));

    await pi.session.prompt('go');
    await until(() => expect(parent.events().at(-1)).toBe('turn_settled'));
    expect(parent.receiptsOf(passive)).toEqual(['delivered']);
    await pi.session.prompt('again');

    await until(() => expect(parent.receiptsOf(passive)).toEqual(['delivered', 'seen']));
  });
});

function isClaimed({ identity }: HandParent, messageId: string): boolean {
  return existsSync(join(identity.boxesDir, 'inbox', 'cur', `${messageId}.json`));
}
