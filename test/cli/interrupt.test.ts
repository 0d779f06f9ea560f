/** `sheepfold interrupt`: what it refuses; that it stops a real turn is in `interrupt.e2e.test.ts`. */
import { describe, expect, it } from 'vitest';
import { interrupt } from '../../src/cli/commands/interrupt.ts';
import { runCommand } from '../support/cli.ts';
import { openHerd, type TestHerd } from '../support/herd.ts';

const stop = (herd: TestHerd, ...words: readonly string[]) =>
  runCommand(interrupt, { values: { dir: herd.pasture.dir }, words });

describe('sheepfold interrupt', () => {
  it.each([[[]], [['one', 'two']]])('takes one agent, not %j', async (words) => {
    const herd = await openHerd();

    await expect(stop(herd, ...words)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('takes one agent'),
    });
  });

  it('refuses an agent that there is not, with the nearest', async () => {
    const herd = await openHerd();
    await expect(stop(herd, 'surwey')).rejects.toMatchObject({
      code: 'invalid_target',
      message: expect.stringContaining('is nobody here'),
    });
    await herd.hatch('survey');

    await expect(stop(herd, 'surwey')).rejects.toMatchObject({
      code: 'invalid_target',
      message: expect.stringContaining('"scout: survey"'),
    });
  });

  it('refuses a name that two living agents have, with both ids', async () => {
    const herd = await openHerd();
    const [one, two] = [await herd.hatch('one'), await herd.hatch('two')];

    await expect(stop(herd, 'scout')).rejects.toMatchObject({
      code: 'ambiguous_target',
      data: { candidates: [one.id, two.id] },
    });
  });

  it('refuses an agent that has ended', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    await herd.shepherd.close(one.id);

    await expect(stop(herd, one.id)).rejects.toMatchObject({
      code: 'agent_closed',
      message: expect.stringContaining('has ended (closed)'),
    });
  });

  it('refuses an agent that is at rest while its owner watches it', async () => {
    const herd = await openHerd();
    await herd.hatch('one');

    await expect(stop(herd, 'scout: one')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('scout: one is idle: no turn of it runs'),
    });
  });

  it('refuses an agent of a host that it cannot reach', async () => {
    const herd = await openHerd();
    await herd.hatch('one');
    herd.abandon();

    await expect(stop(herd, 'one')).rejects.toMatchObject({
      code: 'host_unavailable',
      message: expect.stringContaining('"memory"'),
    });
  });
});
