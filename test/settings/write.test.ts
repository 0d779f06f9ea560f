import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { followSettings } from '../../src/settings/live.ts';
import { agentDirOf, stateDirOf } from '../../src/settings/places.ts';
import { readSettings } from '../../src/settings/read.ts';
import { acceptedBy, settingKeys } from '../../src/settings/rules.ts';
import { activateProjectFile, writeSetting } from '../../src/settings/write.ts';

const json = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

function place() {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-write-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const files = {
    userFile: join(dir, 'own', 'config.json'),
    projectFile: join(dir, '.shepherd', 'config.json'),
  };
  return { dir, files, read: () => readSettings(files) };
}

describe('a setting that is written', () => {
  it('makes its file and counts; taken out, its default counts', () => {
    const { files, read } = place();
    writeSetting(files.userFile, 'staleWaitThreshold', 15);
    writeSetting(files.userFile, 'retention.days', 3);
    expect(read().settings).toMatchObject({
      staleWaitThreshold: 15,
      retention: { finishedTasks: 1_000, days: 3 },
    });
    writeSetting(files.userFile, 'staleWaitThreshold', undefined);
    writeSetting(files.userFile, 'retention.days', undefined);
    expect(json(files.userFile)).toEqual({});
    expect(read().settings.staleWaitThreshold).toBe(5);
  });

  it('leaves everything else as it was, also what it does not know, and the file’s mode', () => {
    const { dir } = place();
    const file = join(dir, 'config.json');
    writeFileSync(file, '\uFEFF{"$schema":"x","mine":[1],"timeout":90000,"keepOpen":false}');
    chmodSync(file, 0o600);
    writeSetting(file, 'replyTimeout', 7);
    expect(json(file)).toEqual({ $schema: 'x', mine: [1], keepOpen: false, replyTimeout: 7 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['config.json']);
  });

  it('goes to what a link means', () => {
    const { dir } = place();
    const real = join(dir, 'real.json');
    writeFileSync(real, '{}');
    const link = join(dir, 'link.json');
    symlinkSync(real, link);
    writeSetting(link, 'keepOpen', false);
    expect(json(real)).toEqual({ keepOpen: false });
  });

  it.each([
    ['keepOpen', 'yes', 'true or false'],
    ['retention.days', 0, 'a whole number from 1'],
    ['nosuch', 1, 'is not a setting'],
  ])('is refused with what is accepted: %s = %j', (key, value, accepted) => {
    const { files } = place();
    expect(() => writeSetting(files.userFile, key, value)).toThrow(ConfigError);
    expect(() => writeSetting(files.userFile, key, value)).toThrow(accepted);
    expect(existsSync(files.userFile)).toBe(false);
  });

  it.each(['{', '[1]', 'null'])('never overwrites a file that is %s', (text) => {
    const { dir } = place();
    const file = join(dir, 'config.json');
    writeFileSync(file, text);
    expect(() => writeSetting(file, 'keepOpen', false)).toThrow('no object in JSON');
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('says so when it cannot be written, and leaves nothing beside it', () => {
    const { dir } = place();
    const file = join(dir, 'config.json');
    mkdirSync(join(file, 'inside'), { recursive: true });
    expect(() => writeSetting(file, 'keepOpen', false)).toThrow(/invalid_setting|cannot be/);
    expect(readdirSync(dir)).toEqual(['config.json']);
  });
});

describe('the project’s file', () => {
  it('is switched on and off, and keeps its settings', () => {
    const { files, read } = place();
    mkdirSync(join(files.projectFile, '..'));
    writeFileSync(files.projectFile, '{"settingsScope":"project","keepOpen":false}');
    activateProjectFile(files.projectFile, false);
    expect(json(files.projectFile)).toEqual({ keepOpen: false, projectScope: false });
    expect(read().settings.keepOpen).toBe(true);
    activateProjectFile(files.projectFile, true);
    expect(read()).toMatchObject({ isProjectActive: true, settings: { keepOpen: false } });
  });
});

describe('settings that are followed', () => {
  it('are the same object until a file changes, and then what it says', () => {
    const { files } = place();
    const live = followSettings(files);
    const before = live.read();
    expect(live.read()).toBe(before);
    writeSetting(files.userFile, 'doneNudges', 4);
    expect(live.read().settings.doneNudges).toBe(4);
    rmSync(files.userFile);
    expect(live.read().settings.doneNudges).toBe(1);
  });

  it('tell of a change, and of none once they are let go of', async () => {
    const { files } = place();
    const live = followSettings(files);
    const told: number[] = [];
    const changed = new Promise<void>((resolve) => {
      const stop = live.onChange(({ settings }) => {
        told.push(settings.doneNudges);
        stop();
        resolve();
      });
    });
    writeSetting(files.userFile, 'doneNudges', 4);
    await changed;
    expect(told).toEqual([4]);
  });
});

describe('what a dialog offers', () => {
  it('is every setting, the parts of retention one by one, with its few values', () => {
    expect(settingKeys).toEqual(expect.arrayContaining(['retention.days', 'stateDir']));
    expect(settingKeys).not.toContain('retention');
    expect(acceptedBy('keepOpen').choices).toEqual([true, false]);
    expect(acceptedBy('stallRecovery').choices).toEqual(['off', 'notify', 'auto']);
    expect(acceptedBy('staleWaitThreshold')).toEqual({
      accepted: 'minutes up to 525600, below 1 for off',
      choices: [],
    });
  });
});

describe('places', () => {
  it('Pi’s directory is where PI_CODING_AGENT_DIR says, else below the home directory', () => {
    expect(agentDirOf({ HOME: '/h' })).toBe('/h/.pi/agent');
    expect(agentDirOf({ HOME: '/h', PI_CODING_AGENT_DIR: '~/x' })).toBe('/h/x');
    expect(agentDirOf({ HOME: '/h', PI_CODING_AGENT_DIR: '/y' })).toBe('/y');
  });

  it('sessions lie in the project, or where the user’s setting says, apart for each project', () => {
    const { dir } = place();
    const agentDir = join(dir, 'agent');
    const [one, two] = [join(dir, 'one'), join(dir, 'two')];
    mkdirSync(one);
    mkdirSync(two);
    expect(stateDirOf(one, agentDir)).toBe(join(one, '.shepherd', 'sessions'));
    writeSetting(join(agentDir, 'sheepfold', 'config.json'), 'stateDir', 'state');
    expect(stateDirOf(one, agentDir)).toBe(join(one, 'state'));
    writeSetting(join(agentDir, 'sheepfold', 'config.json'), 'stateDir', join(dir, 'all'));
    const places = [stateDirOf(one, agentDir), stateDirOf(two, agentDir)];
    expect(places[0]).toMatch(/\/all\/one-[0-9a-f]{8}$/);
    expect(places[1]).toMatch(/\/all\/two-[0-9a-f]{8}$/);
    symlinkSync(one, join(dir, 'link'));
    expect(stateDirOf(join(dir, 'link'), agentDir).slice(-8)).toBe(places[0]?.slice(-8));
  });

  it('a project cannot move them', () => {
    const { dir } = place();
    const agentDir = join(dir, 'agent');
    writeSetting(join(dir, '.shepherd', 'config.json'), 'stateDir', '/elsewhere');
    activateProjectFile(join(dir, '.shepherd', 'config.json'), true);
    expect(stateDirOf(dir, agentDir)).toBe(join(dir, '.shepherd', 'sessions'));
  });
});
