/**
 * What happens while the parent is dead: the harness has it happen, and waits until it has.
 *
 * What a later parent makes of it is decided by instants, however long all this takes.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { isChild } from './order.ts';
import { readChild } from './record.ts';
import { putPast, readCue, tell, type Mode } from './scene.ts';

/** Resolves when the next parent may be started; rejects when `signal` is aborted. */
export async function passGap(dir: string, mode: Mode, signal: AbortSignal): Promise<void> {
  async function until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await wait(10, undefined, { signal });
  }
  const cue = readCue(dir);
  switch (mode) {
    case 'child_death':
      tell(dir, 'die');
      await until(() => readChild(dir, 'three').every(({ pid }) => !isChild(pid, dir)));
      return;
    case 'instants': {
      const [earlyAtMs, lateAtMs] = [cue['early'] ?? 0, (cue['late'] ?? 0) + 1];
      // One after the other, as a child whose clock does not step back says it.
      for (const [question, atMs] of [
        ['early', earlyAtMs],
        ['late', lateAtMs],
      ] as const) {
        tell(dir, question, { atMs });
        await until(() => readChild(dir, 'two').some(({ what }) => what === `said ${question}`));
      }
      putPast(dir, lateAtMs);
      return;
    }
    case 'stale_wait':
      await until(() => Date.now() > (cue['stale'] ?? 0));
      return;
    case 'task_deadline':
    case 'reply_deadline':
    case 'closed_agent':
      return;
  }
}
