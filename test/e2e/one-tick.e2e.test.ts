import { afterEach, expect, it } from 'vitest';
import { call, startPiShepherd, type PiShepherd } from '../support/pi-shepherd.ts';

let shepherd: PiShepherd | undefined;
afterEach(() => shepherd?.close());

it('brings several messages of one tick to the child, each once', async () => {
  const words = ['alpha', 'beta', 'gamma'];
  shepherd = await startPiShepherd({
    shepherd: [
      { toolCalls: [call('shepherd_spawn', { agent: 'scout', label: 's' })] },
      {
        toolCalls: words.map((word) =>
          call('shepherd_message', { target: 'scout', message: `say ${word}`, delivery: 'steer' }),
        ),
      },
      {
        toolCalls: [
          call('shepherd_message', { target: 'scout', message: 'which?', expectsReply: true }),
        ],
      },
      { text: 'I wait.' },
      { text: 'Noted.' },
    ],
    scout: [
      ({ messages }) => {
        const [, replyTo] = /replyTo "([^"]+)"/.exec(messages.map(({ text }) => text).join()) ?? [];
        const message = words
          .map((word) => messages.filter(({ text }) => text.includes(`say ${word}`)).length)
          .join();
        return { toolCalls: [call('shepherd_message', { target: 'shepherd', replyTo, message })] };
      },
      { text: 'Answered.' },
    ],
  });

  await shepherd.prompt('go');
  const [reply] = await shepherd.notices('shepherd.message.reply');

  expect(String(reply?.['content'])).toContain('1,1,1');
}, 120_000);
