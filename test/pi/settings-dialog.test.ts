import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { describe, expect, it, onTestFinished } from 'vitest';
import { editSettings } from '../../src/pi/parent/settings-dialog.ts';
import { followSettings } from '../../src/settings/live.ts';

/** A user who chooses, in each dialog, the first line that begins so; `undefined` leaves it. */
function setUp(answers: readonly (string | undefined)[], hasUI = true) {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-dialog-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const left = [...answers];
  const errors: string[] = [];
  const shown: (readonly string[])[] = [];
  const ui = {
    select: (_title: string, lines: readonly string[]) => {
      shown.push(lines);
      const wanted = left.shift();
      if (wanted === undefined) return Promise.resolve(undefined);
      const line = lines.find((one) => one.startsWith(wanted));
      return line === undefined
        ? Promise.reject(new Error(`no "${wanted}"`))
        : Promise.resolve(line);
    },
    input: () => Promise.resolve(left.shift()),
    notify: (text: string) => errors.push(text),
  } as unknown as ExtensionContext['ui'];
  const live = followSettings({
    userFile: join(dir, 'user.json'),
    projectFile: join(dir, 'project.json'),
  });
  const json = (name: string): unknown => JSON.parse(readFileSync(join(dir, name), 'utf8'));
  return { dir, live, json, errors, shown, edit: () => editSettings({ hasUI, ui }, live) };
}

describe('the settings dialog', () => {
  it('shows each setting with its value and its source, and sets one of a few values', async () => {
    const { edit, json, shown } = setUp(['Yours', 'keepOpen', 'false', undefined, undefined]);
    expect(await edit()).toBe('1 settings changed; they count from now on.');
    expect(json('user.json')).toEqual({ keepOpen: false });
    expect(shown[1]).toContain('keepOpen = true (default)');
    expect(shown[3]).toContain('keepOpen = false (user)');
  });

  it('takes a number, a part of retention, and the default back', async () => {
    const { edit, json } = setUp([
      'Yours',
      'retention.days',
      'Another',
      '7',
      'staleWaitThreshold',
      'Another',
      ' 2.5 ',
      'stateDir',
      'Another',
      'state',
      'retention.days',
      'Take it out',
      undefined,
      undefined,
    ]);
    await edit();
    expect(json('user.json')).toEqual({ staleWaitThreshold: 2.5, stateDir: 'state' });
  });

  it('says what is accepted, changes nothing, and goes on', async () => {
    const { edit, live, errors } = setUp([
      'Yours',
      'staleWaitThreshold',
      'Another',
      'soon',
      undefined,
      undefined,
    ]);
    expect(await edit()).toBeUndefined();
    expect(errors).toEqual([expect.stringContaining('minutes up to')]);
    expect(live.read().settings.staleWaitThreshold).toBe(5);
  });

  it('switches the project’s file on, edits it, and offers there nothing that only the user may set', async () => {
    const { edit, json, shown, live } = setUp([
      'Switch the project’s file on',
      'This project’s',
      'emojiSheep',
      'false',
      undefined,
      undefined,
    ]);
    await edit();
    expect(json('project.json')).toEqual({ projectScope: true, emojiSheep: false });
    expect(live.read().isProjectActive).toBe(true);
    expect(shown[2]?.join()).not.toMatch(
      /stateDir|host|transport|stallRecovery|confirmProjectAgents/,
    );
  });

  it('never overwrites a file that it cannot understand', async () => {
    const { dir, edit, errors } = setUp(['Yours', 'keepOpen', 'false', undefined, undefined]);
    writeFileSync(join(dir, 'user.json'), '{ broken');
    await edit();
    expect(errors).toEqual([expect.stringContaining('repair it')]);
    expect(readFileSync(join(dir, 'user.json'), 'utf8')).toBe('{ broken');
  });

  it('only shows where there are no dialogs', async () => {
    const { edit } = setUp([], false);
    expect(await edit()).toMatch(/^Settings in force.*\n {2}agentScope = "user" \(default\)/);
  });
});
