import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readWorkflowConfig, resolveWorkflowConfig } from '../../src/stall/index.ts';

function rootWith(name: string, source: string): string {
  const root = mkdtempSync(join(tmpdir(), 'sheepfold-devloops-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, name), source);
  return root;
}

const ten = (name: string) => `[${Array.from({ length: 10 }, () => `*${name}`).join()}]`;

describe('resolveWorkflowConfig', () => {
  it.each([
    [undefined, { enabled: true, thresholdMinutes: 5 }],
    [{}, { enabled: true, thresholdMinutes: 5 }],
    [{ workflow: { stallDetection: { enabled: false } } }, { enabled: false, thresholdMinutes: 5 }],
    [
      { workflow: { stallDetection: { thresholdMinutes: 7 } } },
      { enabled: true, thresholdMinutes: 7 },
    ],
  ])('%j', (config, expected) => {
    expect(resolveWorkflowConfig(config, 'stallDetection')).toEqual(expected);
  });

  it.each([
    [{}, 'stalledDetection'],
    [{ workflow: { stallDetection: { thresholdMinutes: 0 } } }, 'stallDetection'],
    [{ workflow: { stallDetection: { wolf: true } } }, 'stallDetection'],
  ])('refuses %j, %s', (config, family) => {
    expect(() => resolveWorkflowConfig(config, family)).toThrow(
      expect.objectContaining({ code: 'invalid_setting' }),
    );
  });
});

describe('.devloops', () => {
  const yaml = 'version: 1\nworkflow:\n  stallDetection:\n    enabled: false\n';

  it.each([
    ['.devloops', yaml],
    ['.devloops.yaml', yaml],
    ['.devloops.yml', yaml],
    ['.devloops.json', '{"workflow":{"stallDetection":{"enabled":false}}}'],
    ['.devloops', '{"workflow":{"stallDetection":{"enabled":false}}}'],
  ])('is read as %s', (name, source) => {
    const root = rootWith(name, source);

    expect(readWorkflowConfig(root)).toEqual({
      path: join(root, name),
      stallDetection: { enabled: false },
      problems: [],
    });
  });

  it('is nothing when there is none, or nothing of ours in it', () => {
    expect(readWorkflowConfig(rootWith('other', yaml))).toEqual({
      path: undefined,
      stallDetection: {},
      problems: [],
    });
    expect(readWorkflowConfig(rootWith('.devloops', 'version: 1\n'))).toMatchObject({
      stallDetection: {},
      problems: [],
    });
  });

  it.each([
    ['thresholdMinutes: 0', 'workflow.stallDetection.thresholdMinutes', 'a whole number'],
    ['thresholdMinutes: five', 'workflow.stallDetection.thresholdMinutes', 'a whole number'],
    ['wolf: true', 'workflow.stallDetection.wolf', 'only enabled and thresholdMinutes'],
    ['enabled: "no"', 'workflow.stallDetection.enabled', 'true or false'],
  ])('with “%s” is reported with line and key; the rest of it counts', (line, key, accepted) => {
    const root = rootWith('.devloops', `workflow:\n  stallDetection:\n    ${line}\n`);
    const both = rootWith(
      '.devloops',
      `workflow:\n  stallDetection:\n    thresholdMinutes: 9\n    wolf: 1\n`,
    );

    const { problems } = readWorkflowConfig(root);

    expect(problems).toMatchObject([{ line: 3, key }]);
    expect(problems[0]?.message).toContain(accepted);
    expect(readWorkflowConfig(both)).toMatchObject({
      stallDetection: { thresholdMinutes: 9 },
      problems: [{ line: 4 }],
    });
  });

  it('that is broken is reported with its line', () => {
    const root = rootWith('.devloops', 'version: 1\nworkflow: {stallDetection: [\n');

    expect(readWorkflowConfig(root).problems).toMatchObject([{ path: join(root, '.devloops') }]);
  });

  it('that cannot be read is reported', () => {
    const root = rootWith('other', '');
    mkdirSync(join(root, '.devloops'));

    expect(readWorkflowConfig(root).problems).toHaveLength(1);
  });

  it.each([
    ['a: 1\n---\nb: 2\n', 'multiple documents'],
    ['workflow: *sheep\n', 'Unresolved alias'],
    ['- workflow\n', 'this is no mapping'],
    ['all of it\n', 'this is no mapping'],
  ])('that says %j is reported as a whole', (source, message) => {
    const { stallDetection, problems } = readWorkflowConfig(rootWith('.devloops', source));

    expect(stallDetection).toEqual({});
    expect(problems).toEqual([
      expect.objectContaining({ message: expect.stringContaining(message) }),
    ]);
  });

  it('whose aliases would fill the memory is reported', () => {
    const source = `a: &a [x]\nb: &b ${ten('a')}\nc: &c ${ten('b')}\nd: ${ten('c')}\n`;

    const { problems } = readWorkflowConfig(rootWith('.devloops', source));

    expect(problems).toMatchObject([{ message: expect.stringContaining('alias') }]);
  });

  it.each([
    ['workflow: 5\n', 1, 'workflow'],
    ['version: 1\nworkflow:\n  stallDetection: 5\n', 3, 'workflow.stallDetection'],
  ])('with %j is reported with line and key', (source, line, key) => {
    expect(readWorkflowConfig(rootWith('.devloops', source))).toMatchObject({
      stallDetection: {},
      problems: [{ line, key }],
    });
  });

  it('with several keys that there are not names each of them', () => {
    const source = 'workflow:\n  stallDetection:\n    wolf: 1\n    constructor:\n      - 2\n';

    expect(readWorkflowConfig(rootWith('.devloops', source))).toMatchObject({
      stallDetection: {},
      problems: [{ line: 3 }, { line: 4, key: 'workflow.stallDetection.constructor' }],
    });
  });

  it('may begin with a byte order mark', () => {
    expect(readWorkflowConfig(rootWith('.devloops', `\uFEFF${yaml}`))).toMatchObject({
      stallDetection: { enabled: false },
    });
  });

  it('that is a pipe is reported, and nobody waits for it', async () => {
    const root = rootWith('other', '');
    await promisify(execFile)('mkfifo', [join(root, '.devloops')]);

    expect(readWorkflowConfig(root).problems).toMatchObject([
      { message: expect.stringContaining('is no plain file') },
    ]);
  });

  it('that is larger than 1 MiB is reported, not read', () => {
    const root = rootWith('.devloops', `${yaml}# ${'baa '.repeat(300_000)}\n`);

    expect(readWorkflowConfig(root)).toMatchObject({
      stallDetection: {},
      problems: [{ message: expect.stringContaining('at most 1048576 are read') }],
    });
  });
});
