/** Many writers, one recipient: each message is handled once, in the order of its writer. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createShepherd } from '../../src/runtime/create-shepherd.ts';
import { fastDisk, makeCommand, type Order } from './order.ts';
import { readChild, type ChildLine } from './record.ts';

export interface StormResult {
  readonly handled: number;
  readonly lost: number;
  readonly doubled: number;
  readonly outOfOrder: number;
}

/** So many processes start at a time: two cores start no more of them sooner. */
const groupSize = 5;

/** Counts what the recipient wrote down; `writers` are their agent ids. */
export function judgeStorm(
  lines: readonly ChildLine[],
  { writers, messages }: { readonly writers: readonly string[]; readonly messages: number },
): StormResult {
  const handled = lines.filter(({ kind }) => kind === 'message');
  const numbersOf = (id: string) =>
    handled.filter(({ from }) => from === id).map(({ what }) => Number(what?.split(' ')[1]));
  const counts = writers.map((id) => {
    const numbers = numbersOf(id);
    const once = new Set(numbers);
    const first = [...once];
    return {
      once: once.size,
      all: numbers.length,
      outOfOrder: first.filter((number, index) => number < Math.max(-1, ...first.slice(0, index)))
        .length,
    };
  });
  const once = counts.reduce((sum, count) => sum + count.once, 0);
  return {
    handled: once,
    lost: writers.length * messages - once,
    doubled: counts.reduce((sum, count) => sum + count.all - count.once, 0),
    outOfOrder: counts.reduce((sum, count) => sum + count.outOfOrder, 0),
  };
}

/** Starts the herd, lets every writer write at once, and ends it again. */
export async function runStorm(options: {
  readonly writers: number;
  readonly messages: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((text: string) => void) | undefined;
}): Promise<StormResult> {
  const { writers: count, messages, signal, onProgress } = options;
  const dir = mkdtempSync(join(fastDisk, 'sheepfold-storm-'));
  const plenty = 10 * count * messages + 1_000;
  const shepherd = await createShepherd({
    cwd: dir,
    agentDir: join(dir, 'pi'),
    makeCommand,
    policy: { maxUnread: plenty, messagesPerMinute: plenty, spawnTimeoutMs: 120_000 },
  });
  const spawn = async (label: string) =>
    (await shepherd.spawn({ agent: 'scout', label }, signal)).id;
  const handled = () => readChild(dir, 'recipient');
  try {
    const to = await spawn('recipient');
    const writers: string[] = [];
    while (writers.length < count) {
      const group = Math.min(groupSize, count - writers.length);
      const labels = Array.from({ length: group }, (_, n) => `writer-${writers.length + n}`);
      writers.push(...(await Promise.all(labels.map(spawn))));
      onProgress?.(`${writers.length} of ${count} writers`);
    }
    const task = JSON.stringify({ do: 'write', to, count: messages } satisfies Order);
    const tasks = await Promise.all(writers.map((target) => shepherd.delegate({ target, task })));
    await Promise.all(tasks.map(({ taskId }) => shepherd.settled(taskId, signal)));
    onProgress?.('every writer is done');
    await quiet(() => handled().length, signal);
    return judgeStorm(handled(), { writers, messages });
  } finally {
    await shepherd.dispose();
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Resolves when the number has not changed for two sweeps of a mailbox. */
async function quiet(read: () => number, signal: AbortSignal | undefined): Promise<void> {
  for (let last = -1, now = read(); last !== now; now = read()) {
    last = now;
    await wait(2_500, undefined, { signal });
  }
}
