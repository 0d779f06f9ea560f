import { describe, expect, it, onTestFinished } from 'vitest';
import { inspect, inspectReportSchema } from '../../src/cli/commands/inspect.ts';
import { runCommand } from '../support/cli.ts';
import { eventually, openHerd, openWait, type TestHerd } from '../support/herd.ts';

/** Runs the command until the test is over, or `end` is called. */
function begin(herd: TestHerd, values: Record<string, unknown> = {}) {
  const lines: string[] = [];
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const code = inspect.run({
    values: { dir: herd.pasture.dir, json: true, ...values },
    positionals: [],
    out: (line) => lines.push(line),
    err: (line) => lines.push(line),
    signal: ending.signal,
    now: () => herd.pasture.nowMs,
    columns: undefined,
  });
  const url = async () => {
    await eventually(() => expect(lines).toHaveLength(1));
    return inspectReportSchema.parse(JSON.parse(lines[0] ?? '')).url;
  };
  return { code, lines, url, end: () => ending.abort() };
}

describe('sheepfold inspect', () => {
  it('serves the newest session until it is ended', async () => {
    const { herd, taskId } = await openWait();
    const running = begin(herd);
    const url = await running.url();

    expect(await (await fetch(`${url}api/task?id=${taskId}`)).json()).toMatchObject({
      task: { id: taskId, state: 'waiting' },
    });
    running.end();

    expect(await running.code).toBe(0);
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it.each([
    [{ port: 'x' }, '--port x is no port'],
    [{ port: '80' }, '--port 80 is no port'],
    [{ port: '70000' }, '--port 70000 is no port'],
    [{ session: 'none' }, 'There is no session "none"'],
    [{ stately: 'http://localhost' }, 'http://localhost is no address'],
  ])('refuses %j', async (values, words) => {
    const herd = await openHerd();
    await expect(
      runCommand(inspect, { values: { dir: herd.pasture.dir, ...values } }),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(words),
    });
  });
});
