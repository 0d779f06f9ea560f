import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  renameSync,
  watch as watchReally,
  writeFileSync,
  type FSWatcher,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { realFs } from '../../src/mailbox/mail-fs.ts';
import { watchBoxes, type BoxWatch, type WatchOptions } from '../../src/mailbox/watch.ts';
import { failOn, makeTempDir, muteFs } from '../support/mailbox.ts';

interface Watching {
  readonly watch: BoxWatch;
  /** One list of directories for each call. */
  readonly hints: (readonly string[])[];
}

function startWatch(options: Partial<WatchOptions> = {}): Watching {
  const hints: (readonly string[])[] = [];
  const watch = watchBoxes({ onMail: (dirs) => hints.push(dirs), ...options });
  onTestFinished(() => {
    watch.close();
  });
  return { watch, hints };
}

/** Waits for the hint that follows `add`, then forgets all. */
async function settle({ hints }: Watching): Promise<void> {
  await vi.waitFor(() => expect(hints.length).toBeGreaterThan(0));
  hints.length = 0;
}

const soon = { timeout: 900, interval: 5 };

describe('watch', () => {
  it('hints a directory once when it is added: mail may lie there already', async () => {
    const { watch, hints } = startWatch();
    const dir = makeTempDir();

    watch.add(dir);
    watch.add(dir);

    await vi.waitFor(() => expect(hints).toEqual([[dir]]));
  });

  it('hints the directory in which a file appears, long before the sweep', async () => {
    const watching = startWatch();
    const [one, two] = [makeTempDir(), makeTempDir()];
    watching.watch.add(one);
    watching.watch.add(two);
    await settle(watching);

    writeFileSync(join(two, 'mail'), '');

    await vi.waitFor(() => expect(watching.hints).toEqual([[two]]), soon);
  });

  it('says the hints of one tick in one call (W2)', async () => {
    const { watch, hints } = startWatch();
    const dirs = [makeTempDir(), makeTempDir(), makeTempDir()];

    for (const dir of dirs) watch.add(dir);

    await vi.waitFor(() => expect(hints).toEqual([dirs]));
  });

  it('hints every directory at each sweep when fs.watch is mute (W1)', async () => {
    const watching = startWatch({ fs: muteFs(), sweepMs: 20 });
    const dirs = [makeTempDir(), makeTempDir()];
    for (const dir of dirs) watching.watch.add(dir);
    await settle(watching);

    await vi.waitFor(() => expect(watching.hints).toEqual([dirs, dirs, dirs]), {
      timeout: 2_000,
      interval: 1,
    });
  });

  it('sweeps at least each second, whatever was asked for (W1)', async () => {
    const watching = startWatch({ fs: muteFs(), sweepMs: 3_600_000 });
    watching.watch.add(makeTempDir());
    await settle(watching);

    await vi.waitFor(() => expect(watching.hints).toHaveLength(1), { timeout: 1_500 });
  });

  it.each(['ENOSPC', 'EMFILE'])(
    'sweeps a directory faster while fs.watch says %s (W3)',
    async (errno) => {
      const watching = startWatch({ fs: failOn('watch', errno).fs });
      const dir = makeTempDir();
      watching.watch.add(dir);
      await settle(watching);

      await vi.waitFor(() => expect(watching.hints.length).toBeGreaterThan(2), soon);
      expect(watching.hints[0]).toEqual([dir]);
    },
  );

  it('watches again once that is possible (W3)', async () => {
    const disk = failOn('watch', 'EMFILE');
    const watchers: FSWatcher[] = [];
    const fs = {
      ...realFs,
      watch: ((...args: Parameters<typeof watchReally>) => {
        const watcher = (disk.fs.watch as typeof watchReally)(...args);
        watchers.push(watcher);
        return watcher;
      }) as typeof watchReally,
    };
    const { watch } = startWatch({ fs, sweepMs: 20 });
    watch.add(makeTempDir());
    await vi.waitFor(() => expect(disk.refused()).toBeGreaterThan(1));
    expect(watchers).toEqual([]);

    disk.heal();

    await vi.waitFor(() => expect(watchers).toHaveLength(1));
  });

  it('goes on when a watch ends with an error', async () => {
    const watchers: FSWatcher[] = [];
    const fs = {
      ...realFs,
      watch: ((...args: Parameters<typeof watchReally>) => {
        watchers.push(watchReally(...args));
        return watchers.at(-1)!;
      }) as typeof watchReally,
    };
    const watching = startWatch({ fs, sweepMs: 20 });
    watching.watch.add(makeTempDir());
    await settle(watching);

    watchers[0]!.emit('error', new Error('the watch broke'));

    await vi.waitFor(() => expect(watchers).toHaveLength(2));
  });

  it('watches the new directory when one was replaced (W4)', async () => {
    let armed = 0;
    const fs = {
      ...realFs,
      watch: ((...args: Parameters<typeof watchReally>) => {
        armed += 1;
        return watchReally(...args);
      }) as typeof watchReally,
    };
    const dir = join(makeTempDir(), 'new');
    mkdirSync(dir);
    const watching = startWatch({ fs, sweepMs: 100 });
    watching.watch.add(dir);
    await settle(watching);

    renameSync(dir, `${dir}.old`);
    mkdirSync(dir);

    await vi.waitFor(() => expect(armed).toBe(2));
  });

  it('says nothing of a removed directory', async () => {
    const watching = startWatch({ sweepMs: 20 });
    const [one, two] = [makeTempDir(), makeTempDir()];
    watching.watch.add(one);
    watching.watch.add(two);

    watching.watch.remove(one);
    writeFileSync(join(one, 'mail'), '');

    await vi.waitFor(() => expect(watching.hints.length).toBeGreaterThan(3));
    expect(watching.hints.flat()).not.toContain(one);
  });

  it('says nothing after it is closed, twice if asked', async () => {
    const { watch, hints } = startWatch({ sweepMs: 5 });
    const other = startWatch({ sweepMs: 5 });
    const dir = makeTempDir();
    watch.add(dir);
    other.watch.add(dir);

    watch.close();
    watch.close();
    writeFileSync(join(dir, 'mail'), '');

    await vi.waitFor(() => expect(other.hints.length).toBeGreaterThan(5));
    expect(hints).toEqual([]);
  });

  it.each([
    [false, 'exit'],
    [true, 'mail'],
  ])(
    'with keepAlive %s a process with nothing else to do sees first: %s',
    async (keepAlive, first) => {
      const source = new URL('../../src/mailbox/watch.ts', import.meta.url).href;
      const script = `
      import { watchBoxes } from ${JSON.stringify(source)};
      let calls = 0;
      const onMail = () => { if (++calls === 3) { console.log('mail'); process.exit(); } };
      const watch = watchBoxes({ onMail, sweepMs: 20, keepAlive: ${String(keepAlive)} });
      watch.add(${JSON.stringify(makeTempDir())});
      process.on('exit', () => console.log('exit'));
    `;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));

      await once(child, 'close');

      expect(output.split('\n')[0]).toBe(first);
    },
  );
});
