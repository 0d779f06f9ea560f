import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settingsFiles } from '../../src/settings/places.ts';
import { readSettings, type SettingsFiles } from '../../src/settings/read.ts';
import { defaultSettings, toDurations, userOnlyKeys } from '../../src/settings/settings.ts';

let root: string;
let files: SettingsFiles;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sheepfold-settings-'));
  files = settingsFiles({ agentDir: join(root, 'agent'), cwd: join(root, 'project') });
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

/** Settings with this user file and, when given, this project file. */
function read(user: unknown, project?: unknown) {
  if (user !== undefined) write(files.userFile, user);
  if (project !== undefined) write(files.projectFile, project);
  return readSettings(files);
}

describe('the files', () => {
  it('are the one of sheepfold in the directory of Pi and the one in .shepherd', () => {
    expect(settingsFiles({ agentDir: '/home/a/.pi/agent', cwd: '/project' })).toEqual({
      userFile: '/home/a/.pi/agent/sheepfold/config.json',
      projectFile: '/project/.shepherd/config.json',
    });
  });

  it('may be absent', () => {
    const { settings, problems, sources } = readSettings(files);

    expect(settings).toEqual(defaultSettings);
    expect(problems).toEqual([]);
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
    expect(Object.keys(sources)).toEqual(Object.keys(defaultSettings));
  });

  it('may begin with a byte order mark and name a schema', () => {
    const { settings, problems } = read('\uFEFF{"$schema": "x", "keepOpen": false}');

    expect(settings.keepOpen).toBe(false);
    expect(problems).toEqual([]);
  });
});

it('has the defaults of the documents', () => {
  expect(defaultSettings).toEqual({
    agentScope: 'user',
    includeBundledAgents: true,
    confirmProjectAgents: true,
    keepOpen: true,
    stayOpen: false,
    fieldnotes: true,
    emojiSheep: true,
    staleWaitThreshold: 5,
    replyTimeout: 10,
    taskTimeout: 0,
    stallRecovery: 'notify',
    stallThresholdMinutes: 5,
    maxFreshDispatches: 1,
    doneNudges: 1,
    orphanGraceMinutes: 10,
    retention: { finishedTasks: 1000, days: 30 },
    host: 'auto',
    transport: 'filesystem',
    stateDir: '.shepherd/sessions',
  });
});

describe('the user file', () => {
  it('sets every key', () => {
    const all = {
      agentScope: 'both',
      includeBundledAgents: false,
      confirmProjectAgents: false,
      keepOpen: false,
      stayOpen: true,
      fieldnotes: false,
      emojiSheep: false,
      staleWaitThreshold: 2,
      replyTimeout: 20,
      taskTimeout: 60,
      stallRecovery: 'auto',
      stallThresholdMinutes: 7,
      maxFreshDispatches: 0,
      doneNudges: 0,
      orphanGraceMinutes: 1,
      retention: { finishedTasks: 5, days: 1 },
      host: 'process',
      transport: 'filesystem',
      stateDir: 'state',
    };

    const { settings, problems, sources } = read(all);

    expect(settings).toEqual(all);
    expect(problems).toEqual([]);
    expect(new Set(Object.values(sources))).toEqual(new Set(['user']));
  });

  it('leaves the default of what it does not say', () => {
    const { settings, sources } = read({ host: 'process' });

    expect(settings).toEqual({ ...defaultSettings, host: 'process' });
    expect(sources).toMatchObject({ host: 'user', keepOpen: 'default' });
  });

  it('sets one number of retention without the other', () => {
    const { settings, sources } = read({ retention: { days: 90 } });

    expect(settings.retention).toEqual({ finishedTasks: 1000, days: 90 });
    expect(sources.retention).toBe('user');
  });
});

describe('the project file', () => {
  it('counts with projectScope: true, and is then self-contained', () => {
    const { settings, problems, sources } = read(
      { keepOpen: false, doneNudges: 3 },
      { projectScope: true, doneNudges: 2 },
    );

    expect(settings).toEqual({ ...defaultSettings, doneNudges: 2 });
    expect(problems).toEqual([]);
    expect(sources).toMatchObject({ doneNudges: 'project', keepOpen: 'default' });
  });

  it("counts with the seeds' settingsScope as well", () => {
    expect(read({}, { settingsScope: 'project', doneNudges: 2 }).settings.doneNudges).toBe(2);
  });

  it.each([
    [{ doneNudges: 2, host: 'nowhere' }, '"projectScope" is missing'],
    [{ projectScope: false, doneNudges: 2 }, '"projectScope" is false'],
    [{ projectScope: 'true', doneNudges: 2 }, '"projectScope" is "true"'],
    [{ projectScope: false, settingsScope: 'project' }, '"projectScope" is false'],
  ])('has no effect as %j, which is reported once with the key that activates it', (json, text) => {
    const { settings, problems } = read({ doneNudges: 3 }, json);

    expect(settings.doneNudges).toBe(3);
    expect(problems).toEqual([
      {
        path: files.projectFile,
        key: 'projectScope',
        accepted: 'true',
        message: `${files.projectFile}: ${text}, so this file has no effect; write true to activate it`,
      },
    ]);
  });

  it.each([
    ['confirmProjectAgents', false],
    ['stallRecovery', 'auto'],
    ['host', 'tmux'],
    ['transport', 'filesystem'],
    ['stateDir', '/elsewhere'],
  ])('cannot set %s, which is reported', (key, value) => {
    const { settings, problems, sources } = read({}, { projectScope: true, [key]: value });

    expect(settings).toEqual(defaultSettings);
    expect(sources).toMatchObject({ [key]: 'default' });
    expect(problems).toMatchObject([{ path: files.projectFile, key }]);
    expect(problems[0]?.message).toContain(`"${key}" has no effect in a project file; write it in`);
    expect(problems[0]?.message).toContain(files.userFile);
  });

  it('leaves the keys of the user alone with the values of the user', () => {
    const own = {
      confirmProjectAgents: false,
      stallRecovery: 'off',
      host: 'herdr',
      transport: 'filesystem',
      stateDir: 'state',
    };

    const { settings, sources } = read(own, { projectScope: true });

    expect(settings).toMatchObject(own);
    for (const key of userOnlyKeys) expect(sources[key]).toBe('user');
    expect(Object.keys(own)).toEqual([...userOnlyKeys]);
  });
});

describe('a value that is not accepted', () => {
  it.each([
    ['agentScope', 'everyone', '"user" or "project" or "both"'],
    ['includeBundledAgents', 'yes', 'true or false'],
    ['confirmProjectAgents', 0, 'true or false'],
    ['keepOpen', null, 'true or false'],
    ['stayOpen', 'false', 'true or false'],
    ['fieldnotes', 1, 'true or false'],
    ['emojiSheep', '🐑', 'true or false'],
    ['staleWaitThreshold', '5', 'minutes up to 525600, below 1 for off'],
    ['replyTimeout', 0, 'minutes from 1 to 999'],
    ['replyTimeout', '10', 'minutes from 1 to 999'],
    ['taskTimeout', -1, 'minutes from 0 to 525600, 0 for no limit'],
    ['taskTimeout', 1e9, 'minutes from 0 to 525600, 0 for no limit'],
    ['stallRecovery', true, '"off" or "notify" or "auto"'],
    ['stallThresholdMinutes', 0, 'minutes from 1 to 525600'],
    ['maxFreshDispatches', 1.5, 'a whole number from 0'],
    ['doneNudges', -1, 'a whole number from 0'],
    ['orphanGraceMinutes', 0, 'minutes from 1 to 525600'],
    ['retention', 30, 'an object with finishedTasks and days'],
    ['retention', null, 'an object with finishedTasks and days'],
    ['host', 'screen', '"auto" or "process" or "tmux" or "herdr"'],
    ['transport', 'nats', '"filesystem"'],
    ['stateDir', ' ', 'a path that is not empty'],
  ] as const)('of %s: %j is reported, and the default used', (key, value, accepted) => {
    const { settings, problems, sources } = read({ [key]: value });

    const byDefault = JSON.stringify(defaultSettings[key]);
    expect(settings).toEqual(defaultSettings);
    expect(sources[key]).toBe('default');
    expect(problems).toEqual([
      {
        path: files.userFile,
        key,
        accepted,
        message:
          `${files.userFile}: "${key}" does not accept ${JSON.stringify(value)}; ` +
          `write ${accepted}; the default ${byDefault} is used`,
      },
    ]);
  });

  it('of the project falls back to the default, not to the value of the user', () => {
    const { settings, problems } = read({ doneNudges: 3 }, { projectScope: true, doneNudges: 'x' });

    expect(settings.doneNudges).toBe(1);
    expect(problems).toMatchObject([{ path: files.projectFile, key: 'doneNudges' }]);
  });

  it('in retention leaves the other number in force', () => {
    const { settings, problems } = read({ retention: { finishedTasks: 5000, days: 0 } });

    expect(settings.retention).toEqual({ finishedTasks: 5000, days: 30 });
    expect(problems).toMatchObject([{ key: 'retention.days' }]);
  });

  it('does not hide the other keys', () => {
    expect(read({ host: 'screen', keepOpen: false }).settings.keepOpen).toBe(false);
  });
});

describe('an unknown key', () => {
  it.each([
    [{ taskTimout: 5 }, 'taskTimout'],
    [{ constructor: 5 }, 'constructor'],
    [{ retention: { weeks: 5 } }, 'retention.weeks'],
  ])('as in %j is reported with those there are', (json, key) => {
    const { settings, problems } = read(json);

    expect(settings).toEqual(defaultSettings);
    expect(problems).toMatchObject([{ path: files.userFile, key }]);
    expect(problems[0]?.message).toContain('is not a setting and has no effect; there are');
  });
});

describe('a file of no use', () => {
  it.each([
    ['{"keepOpen": false,}', /is not JSON: .*; the file has no effect/],
    ['', /is not JSON/],
    ['[]', /is \[\]; write an object of settings; the file has no effect/],
    ['null', /is null; write an object/],
  ])('%j is reported, and the defaults used', (content, message) => {
    const { settings, problems } = read(content);

    expect(settings).toEqual(defaultSettings);
    expect(problems).toMatchObject([{ path: files.userFile, key: undefined }]);
    expect(problems[0]?.message).toMatch(message);
  });

  it('of a project leaves the settings of the user in force', () => {
    const { settings, problems } = read({ keepOpen: false }, '{');

    expect(settings.keepOpen).toBe(false);
    expect(problems).toMatchObject([{ path: files.projectFile, key: undefined }]);
  });

  it('is one that is a directory', () => {
    mkdirSync(files.userFile, { recursive: true });

    expect(readSettings(files).problems[0]?.message).toContain('cannot be read: EISDIR');
  });

  // Root may read everything, so that nothing is unreadable for it.
  it('is one that cannot be read, here for being a directory', () => {
    mkdirSync(files.userFile, { recursive: true });

    expect(readSettings(files).problems[0]?.message).toContain('cannot be read: EISDIR');
  });
});

describe('replyTimeout', () => {
  it.each([
    [{ timeout: 20 }, 20],
    [{ timeout: 1_200_000 }, 20],
    [{ timeout: 1000 }, 1],
    [{ timeout: 20, replyTimeout: 30 }, 30],
    [{ replyTimeout: 999 }, 999],
    [{ replyTimeout: 1.5 }, 1.5],
  ])('reads %j as %d minutes', (json, expected) => {
    const { settings, problems, sources } = read(json);

    expect(settings.replyTimeout).toBe(expected);
    expect(sources.replyTimeout).toBe('user');
    expect(problems).toEqual([]);
  });

  it('says so when a number under its own key is taken as milliseconds', () => {
    const { settings, problems } = read({ replyTimeout: 120_000 });

    expect(settings.replyTimeout).toBe(2);
    expect(problems).toMatchObject([{ key: 'replyTimeout' }]);
    expect(problems[0]?.message).toContain('120000 is taken as milliseconds, so 2 minutes; write');
  });

  it('reports a bad legacy value under the key that the file has', () => {
    expect(read({ timeout: 'long' }).problems).toMatchObject([{ key: 'timeout' }]);
  });
});

describe('durations', () => {
  it('of the defaults', () => {
    expect(toDurations(defaultSettings)).toEqual({
      staleAfterMs: 300_000,
      replyTimeoutMs: 600_000,
      taskTimeoutMs: null,
      stallAfterMs: 300_000,
      orphanGraceMs: 600_000,
      retentionMs: 30 * 86_400_000,
    });
  });

  it.each([
    [1, 60_000],
    [0.99, null],
    [0, null],
    [-1, null],
  ])('of a stale wait threshold of %d minutes', (staleWaitThreshold, expected) => {
    expect(toDurations({ ...defaultSettings, staleWaitThreshold }).staleAfterMs).toBe(expected);
  });

  it('are whole milliseconds', () => {
    expect(toDurations({ ...defaultSettings, taskTimeout: 0.1234567 }).taskTimeoutMs).toBe(7407);
  });
});
