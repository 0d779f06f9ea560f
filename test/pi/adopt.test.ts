import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { describe, expect, it } from 'vitest';
import { writeStarted } from '../../src/hosts/launch.ts';
import { identify } from '../../src/hosts/processes.ts';
import { lookForHerds } from '../../src/pi/parent/adopt.ts';
import { openHerd, type TestHerd } from '../support/herd.ts';

/** What another Pi session of the herd's project is told when it looks for herds. */
async function toldOf(herd: TestHerd): Promise<readonly string[]> {
  const told: string[] = [];
  const ctx = {
    cwd: herd.pasture.dir,
    sessionManager: { getSessionId: () => 'another' },
    ui: { notify: (text: string) => told.push(text) },
  };
  await lookForHerds(ctx as unknown as ExtensionContext, false);
  return told;
}

describe('a herd that was left behind', () => {
  it('is told of while one of its agents may still run', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    const self = await identify(process.pid);
    const runner = { runnerPid: self.pid, runnerStartTime: self.startTime };
    const { launchDir } = herd.host.launches[0] ?? { launchDir: '' };
    await writeStarted(launchDir, { ...self, ...runner, pgid: self.pid, atMs: 0 });
    herd.abandon();

    const told = await toldOf(herd);

    expect(told).toEqual([expect.stringMatching(/^Left behind.*\/shepherd adopt/)]);
  });

  it('is not told of once they have all ended', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    herd.abandon();

    const told = await toldOf(herd);

    expect(told).toEqual([]);
  });
});
