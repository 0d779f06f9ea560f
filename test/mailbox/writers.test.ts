import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Incarnation } from '../../src/mailbox/layout.ts';
import type { Claimed } from '../../src/mailbox/mailbox.ts';
import { openHerd, secret, type Herd } from '../support/mailbox.ts';

const writerPath = fileURLToPath(new URL('writer.ts', import.meta.url));

interface Writer {
  readonly from: Incarnation;
  readonly child: ChildProcess;
  /** Ids that the writer was told are accepted. */
  readonly accepted: () => string[];
}

function startWriter({ mailbox }: Herd, index: number, count: number): Writer {
  const from = { agentId: `shepherd-agent-writer00000${String(index)}`, launch: 1 };
  const identityPath = mailbox.open(from, { secret, label: 'one', agent: 'collie' });
  const child = spawn(process.execPath, [writerPath, identityPath, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // A killed writer may have printed half of a line.
  return { from, child, accepted: () => output.split('\n').slice(0, -1) };
}

const contentsFrom = (taken: readonly Claimed[], { from }: Writer): string[] =>
  taken
    .filter((claimed) => claimed.from.agentId === from.agentId)
    .map(({ envelope }) => ('content' in envelope ? envelope.content! : ''));

it('takes 1,000 messages of 4 processes, each once and in the order of its sender (M1, M2)', async () => {
  const herd = openHerd();
  const taken: Claimed[] = [];
  herd.mailbox.onMail(() => {
    for (const claimed of herd.mailbox.take()) {
      taken.push(claimed);
      herd.mailbox.ack(claimed);
    }
  });

  const writers = [0, 1, 2, 3].map((index) => startWriter(herd, index, 250));
  await Promise.all(writers.map(({ child }) => once(child, 'close')));

  await vi.waitFor(() => expect(taken).toHaveLength(1_000), { timeout: 5_000 });
  const expected = Array.from({ length: 250 }, (_, n) => String(n));
  for (const writer of writers) expect(contentsFrom(taken, writer)).toEqual(expected);
  expect(herd.mailbox.take({ all: true })).toEqual([]);
  expect(herd.bad).toEqual([]);
});

it('loses nothing that a killed writer was told is accepted, and shows no half of a file', async () => {
  const herd = openHerd();
  const writers = [0, 1].map((index) => startWriter(herd, index, 100_000));
  await Promise.all(
    writers.map(async (writer) => {
      await vi.waitFor(() => expect(writer.accepted().length).toBeGreaterThan(50), {
        timeout: 20_000,
        interval: 2,
      });
      writer.child.kill('SIGKILL');
      await once(writer.child, 'close');
    }),
  );

  const taken = herd.mailbox.take({ all: true });

  for (const writer of writers) {
    const contents = contentsFrom(taken, writer);
    expect(contents).toEqual(contents.map((_, n) => String(n)));
    const arrived = new Set(taken.map(({ envelope }) => envelope.messageId));
    expect(writer.accepted().filter((id) => !arrived.has(id))).toEqual([]);
  }
  await Promise.resolve();
  expect(herd.bad).toEqual([]);
});
