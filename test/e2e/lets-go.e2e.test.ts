/** A program whose herd is over, or let go of, ends by itself: no timer and no watch is left behind. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { packageInfo } from '../../src/cli/package-dir.ts';
import { resolvePi } from '../../src/hosts/pi-command.ts';

/** Counts what runs, also what would keep no process alive, before and after its herd ends. */
const program = (ending: string): string => `
  const timers = new Set();
  for (const [begin, end] of [['setTimeout', 'clearTimeout'], ['setInterval', 'clearInterval']]) {
    const [really, stop] = [globalThis[begin], globalThis[end]];
    globalThis[begin] = (work, ...rest) => {
      const timer = really((...given) => {
        if (begin === 'setTimeout') timers.delete(timer);
        work(...given);
      }, ...rest);
      timers.add(timer);
      return timer;
    };
    globalThis[end] = (timer) => {
      timers.delete(timer);
      stop(timer);
    };
  }
  const running = () => ({
    timers: timers.size,
    watches: process.report.getReport().libuv.filter(
      (one) => one.is_active && one.type.startsWith('fs_'),
    ).length,
  });

  const { createMemoryHost, createShepherd } = await import('${join(packageInfo().dir, 'src/index.ts')}');
  const host = createMemoryHost();
  const shepherd = await createShepherd({ cwd: process.cwd(), sessionKey: 'program', host });
  // Its child never says hello: a deadline runs, and its box is watched.
  const launched = new Promise((resolve) => shepherd.on(resolve));
  void shepherd.spawn({ agent: 'scout', label: 'one' }).catch(() => undefined);
  await launched;
  const before = running();
  await shepherd.${ending};
  console.log(JSON.stringify({ before, after: running() }));
`;

it.each(['dispose()', 'release()', 'release({ stayOpen: true })'])(
  'after %s',
  async (ending) => {
    const cwd = mkdtempSync(join(tmpdir(), 'sheepfold-lets-go-'));
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));

    const { stdout } = await promisify(execFile)(
      resolvePi().node,
      ['--input-type=module', '--eval', program(ending)],
      // One that does not end by itself is killed then, and fails the test.
      { cwd, timeout: 30_000 },
    );

    const { before, after } = JSON.parse(stdout) as Record<string, Record<string, number>>;
    expect(before?.['timers']).toBeGreaterThan(0);
    expect(before?.['watches']).toBeGreaterThan(0);
    expect(after).toEqual({ timers: 0, watches: 0 });
  },
  60_000,
);
