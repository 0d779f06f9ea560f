import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { appendStallLine, readStallLines, type StallLine } from '../../src/stall/log.ts';

function makeFile(content?: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-stalls-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'stalls.jsonl');
  if (content !== undefined) writeFileSync(file, content);
  return file;
}

const line: StallLine = {
  v: 1,
  id: 'one',
  atMs: 1_700_000_000_000,
  agentId: 'shepherd-agent-1',
  agent: 'scout: survey',
  taskId: null,
  launch: 1,
  event: 'stalled',
  silentMs: 300_001,
};
const next: StallLine = { ...line, id: 'two', event: 'cleared', silentMs: null, detail: 'a\nturn' };

const textOf = (lines: readonly StallLine[]): string =>
  lines.map((one) => `${JSON.stringify(one)}\n`).join('');

describe('stalls.jsonl', () => {
  it('holds the lines in order, each on one line, for its user only', async () => {
    const file = makeFile();

    expect(await appendStallLine(file, line)).toBe(true);
    expect(await appendStallLine(file, next)).toBe(true);

    expect(readFileSync(file, 'utf8')).toBe(textOf([line, next]));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await readStallLines(file)).toEqual({ lines: [line, next], unreadable: 0 });
  });

  it('takes an id once', async () => {
    const file = makeFile(textOf([line, next]));

    expect(await appendStallLine(file, { ...line, silentMs: 7 })).toBe(false);

    expect(readFileSync(file, 'utf8')).toBe(textOf([line, next]));
  });

  it('begins a new line behind a torn one, and writes again what was torn', async () => {
    const torn = textOf([next]).slice(0, 40);
    const file = makeFile(textOf([line]) + torn);

    expect(await appendStallLine(file, next)).toBe(true);

    expect(readFileSync(file, 'utf8')).toBe(`${textOf([line])}${torn}\n${textOf([next])}`);
    expect(await readStallLines(file)).toEqual({ lines: [line, next], unreadable: 1 });
  });

  it('takes a last line that only lacks its line end for one', async () => {
    const file = makeFile(textOf([line]).trimEnd());

    expect(await appendStallLine(file, line)).toBe(false);
    expect(await appendStallLine(file, next)).toBe(true);

    expect(await readStallLines(file)).toEqual({ lines: [line, next], unreadable: 0 });
  });

  it.each([
    ['null', 'null'],
    ['a line of another version', JSON.stringify({ ...line, v: 2 })],
    ['an event that there is not', JSON.stringify({ ...line, event: 'slept' })],
    ['what is no JSON', '{'],
  ])('skips and counts %s', async (_what, bad) => {
    const file = makeFile(`${bad}\n\n${textOf([line])}`);

    expect(await readStallLines(file)).toEqual({ lines: [line], unreadable: 1 });
  });

  it('is empty where there is none', async () => {
    expect(await readStallLines(makeFile())).toEqual({ lines: [], unreadable: 0 });
  });

  it('that cannot be written or read is a disk error', async () => {
    const file = makeFile();
    mkdirSync(file);
    const isDiskError = expect.objectContaining({ code: 'disk_error', retryable: true });

    await expect(appendStallLine(file, line)).rejects.toEqual(isDiskError);
    await expect(readStallLines(file)).rejects.toEqual(isDiskError);
  });
});
