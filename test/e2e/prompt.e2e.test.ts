/** The deprecated tool on real Pi: one turn, watched by an id of its own, and no task. */
import { afterEach, expect, it } from 'vitest';
import { call, startPiShepherd, type PiShepherd } from '../support/pi-shepherd.ts';

let shepherd: PiShepherd | undefined;
afterEach(() => shepherd?.close());

it('wakes its watcher when the turn is over, with what the child said', async () => {
  shepherd = await startPiShepherd({
    shepherd: [
      { toolCalls: [call('shepherd_spawn', { agent: 'scout', label: 's' })] },
      { toolCalls: [call('shepherd_prompt', { handle: 'scout', message: 'Say hello.' })] },
      ({ last }) => ({
        toolCalls: [
          call('shepherd_watch', { id: /shepherd-prompt-[0-9a-z]{12}/.exec(last)?.[0] ?? '' }),
        ],
      }),
      { text: 'I wait.' },
      { toolCalls: [call('shepherd', { action: 'herd' })] },
      { text: 'It said hello.' },
    ],
    scout: [{ text: 'Hello, flock.' }],
  });

  await shepherd.prompt('go');
  const [notice] = await shepherd.notices('shepherd.prompt.completion', 1);

  expect(notice).toMatchObject({
    details: { results: [{ status: 'completed', text: 'Hello, flock.' }] },
  });
}, 120_000);
