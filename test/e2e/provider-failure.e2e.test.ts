import { afterEach, describe, expect, it } from 'vitest';
import { call, lastId, startPiShepherd, type PiShepherd } from '../support/pi-shepherd.ts';

describe('a provider that gives up', () => {
  let shepherd: PiShepherd | undefined;
  afterEach(() => shepherd?.close());

  it('fails the task with the provider’s message, and the agent takes the next one', async () => {
    shepherd = await startPiShepherd({
      shepherd: [
        { toolCalls: [call('shepherd_spawn', { agent: 'scout', label: 's' })] },
        { toolCalls: [call('shepherd_delegate', { target: 'scout', task: 'first' })] },
        (request) => ({ toolCalls: [call('shepherd_watch', { id: lastId(request, 'task') })] }),
        { text: 'I wait.' },
        { toolCalls: [call('shepherd_delegate', { target: 'scout', task: 'second' })] },
        (request) => ({ toolCalls: [call('shepherd_watch', { id: lastId(request, 'task') })] }),
        { text: 'I wait again.' },
        { text: 'Noted.' },
      ],
      scout: [
        { status: 500, error: 'the model is on fire' },
        { toolCalls: [call('shepherd_done', { status: 'completed', summary: 'second done' })] },
      ],
    });

    await shepherd.prompt('go');
    const notices = await shepherd.notices('shepherd.task.completion', 2);

    expect(notices).toMatchObject([
      {
        details: {
          results: [
            {
              status: 'failed',
              returnCode: 1,
              error: expect.stringMatching(/^provider_error: .*the model is on fire/s),
            },
          ],
        },
      },
      { details: { results: [{ status: 'completed', summary: 'second done' }] } },
    ]);
  }, 120_000);
});
