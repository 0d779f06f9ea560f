/** A task of one MiB, handed to a real child as a file that its model reads. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';
import type { ModelRequest } from '../support/scripted-model.ts';

const line = '🐑 nachzählen, שלום\n';
const count = Math.floor((1_048_576 - 100) / Buffer.byteLength(line));
const task = `Count these.\n${line.repeat(count)}The end.`;

let herd: PiChildren;
beforeAll(async () => {
  herd = await openPiChildren();
  await herd.shepherd.spawn({ agent: 'scout', label: 's' });
}, 120_000);
afterAll(() => herd.close());

const pathIn = ({ messages }: ModelRequest): string =>
  messages.flatMap(({ text }) => /in the file (\/\S+)\.$/m.exec(text)?.[1] ?? [])[0] ?? '';

it('names the file in place of the text, and the file is all of it', async () => {
  let whole = '';
  herd.script(
    'scout',
    (request) => {
      whole = readFileSync(pathIn(request), 'utf8');
      return { toolCalls: [call('read', { path: pathIn(request), offset: count + 2 })] };
    },
    { toolCalls: [call('shepherd_done', { status: 'completed' })] },
  );

  const { taskId } = await herd.shepherd.delegate({ target: 'scout', task });
  await herd.shepherd.settled(taskId);

  const [begin, read] = herd.requests('scout');
  expect(begin?.last).toContain(`The whole task (${Buffer.byteLength(task)} bytes) is in the file`);
  expect(begin?.last.length).toBeLessThan(5_000);
  expect(whole === task).toBe(true);
  expect(read?.last).toContain('The end.');
}, 60_000);
