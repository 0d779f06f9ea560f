import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readWorkflowConfig, resolveWorkflowConfig } from '../../src/stall/index.ts';

function rootWith(name: string, source: string): string {
  const root = mkdtempSync(join(tmpdir(), 'sheepfold-devloops-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, name), source);
  return root;
}

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
});
