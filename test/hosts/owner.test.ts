import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  describeSelf,
  judgeOwner,
  type OwnerIdentity,
  ownerIdentitySchema,
  type OwnerRecord,
  readOwner,
  writeOwner,
} from '../../src/hosts/owner.ts';
import { expectCode } from './host-contract.ts';
import { startOwner } from './owner-process.ts';

const onLinux = process.platform === 'linux';

describe.runIf(onLinux)('an owner', () => {
  it('is this process, by all that the platform tells', async () => {
    const self = await describeSelf();

    expect(ownerIdentitySchema.parse(self)).toEqual(self);
    expect(self).toEqual({
      pid: process.pid,
      startTime: expect.any(Number),
      bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      pidNamespace: expect.stringMatching(/^pid:\[\d+\]$/),
      hostName: expect.any(String),
    });
    expect(ownerIdentitySchema.safeParse({ ...self, more: 1 }).success).toBe(false);
  });

  it('that runs is alive, and dead once it was killed', async () => {
    const owner = await startOwner();

    expect(await judgeOwner(owner.identity)).toBe('alive');
    await owner.kill();

    expect(await judgeOwner(owner.identity)).toBe('dead');
  });

  const table: readonly [string, Partial<OwnerIdentity>, 'alive' | 'dead' | 'unknown'][] = [
    ['of this process', {}, 'alive'],
    ['whose pid has another start time', { startTime: 1 }, 'dead'],
    // 2^22 is the largest pid that Linux can be told to give.
    ['whose pid is gone', { pid: 4_194_305 }, 'dead'],
    ['of an earlier boot', { bootId: 'another' }, 'dead'],
    ['of another host', { hostName: 'another' }, 'unknown'],
    ['of another pid namespace', { pidNamespace: 'pid:[1]' }, 'unknown'],
    ['of another host, gone', { hostName: 'another', pid: 4_194_305 }, 'unknown'],
    ['of another host, other boot', { hostName: 'another', bootId: 'another' }, 'unknown'],
    ['of another namespace, gone', { pidNamespace: 'pid:[1]', pid: 4_194_305 }, 'unknown'],
    ['of another namespace and boot', { pidNamespace: 'pid:[1]', bootId: 'another' }, 'unknown'],
    ['without a host name', { hostName: null }, 'unknown'],
    ['without a pid namespace', { pidNamespace: null }, 'unknown'],
    ['without a boot', { bootId: null }, 'unknown'],
    ['without a start time', { startTime: null }, 'unknown'],
    ['without a start time, gone', { startTime: null, pid: 4_194_305 }, 'unknown'],
    ['without a start time, earlier boot', { startTime: null, bootId: 'another' }, 'unknown'],
  ];
  it.each(table)('%s', async (_who, difference, verdict) => {
    const self = await describeSelf();

    expect(await judgeOwner({ ...self, ...difference })).toBe(verdict);
    expect(await judgeOwner({ ...self, ...difference }, self)).toBe(verdict);
  });

  it.each(['hostName', 'pidNamespace', 'bootId', 'startTime'] as const)(
    'is unknown to a judge without its own %s',
    async (field) => {
      const self = await describeSelf();

      expect(await judgeOwner(self, { ...self, [field]: null })).toBe('unknown');
      expect(await judgeOwner({ ...self, [field]: null }, { ...self, [field]: null })).toBe(
        'unknown',
      );
    },
  );

  it.runIf(canUnshare())('in a container is unknown from outside', async () => {
    const inner = describeWithin(['--mount-proc']);

    expect(inner).toMatchObject({ pid: 1, startTime: expect.any(Number) });
    expect(await judgeOwner(inner)).toBe('unknown');
  });

  it.runIf(canUnshare())('does not take the /proc of another namespace for its own', () => {
    expect(describeWithin([])).toMatchObject({ pid: 1, startTime: null });
  });
});

/** Runs a program in a pid namespace of its own; by `env`, as it is no package's binary. */
function runWithin(options: readonly string[], command: readonly string[]) {
  return spawnSync('env', ['unshare', '-Urpf', ...options, ...command], { encoding: 'utf8' });
}

function canUnshare(): boolean {
  return runWithin(['--mount-proc'], ['true']).status === 0;
}

function describeWithin(options: readonly string[]): OwnerIdentity {
  const module = pathToFileURL(join(import.meta.dirname, '../../src/hosts/owner.ts')).href;
  const script = `console.log(JSON.stringify(await (await import('${module}')).describeSelf()))`;
  const node = [process.execPath, '--no-warnings', '--input-type=module', '-e', script];
  return ownerIdentitySchema.parse(JSON.parse(runWithin(options, node).stdout));
}

async function recordOf(difference: Partial<OwnerRecord> = {}): Promise<OwnerRecord> {
  return { v: 1, owner: await describeSelf(), takenAtMs: 42, ...difference };
}

describe('owner.json', () => {
  let root: string;
  let file: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'sheepfold-owner-'));
    file = join(root, 'owner.json');
  });
  afterEach(() => rm(root, { recursive: true }));

  it('is read as it was written, closed to others, and replaced by a later owner', async () => {
    const first = await recordOf();
    const second = await recordOf({ takenAtMs: 43, stayOpen: true });

    expect(await readOwner(file)).toBeUndefined();
    await writeOwner(file, first);
    expect(await readOwner(file)).toEqual(first);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await writeOwner(file, second);
    expect(await readOwner(file)).toEqual(second);
    expect(await readdir(root)).toEqual(['owner.json']);
  });

  it('is whole at any time, also with several writes at once', async () => {
    const records = await Promise.all([1, 2, 3, 4].map((takenAtMs) => recordOf({ takenAtMs })));

    await Promise.all(records.map((record) => writeOwner(file, record)));

    expect(records).toContainEqual(await readOwner(file));
    expect(await readdir(root)).toEqual(['owner.json']);
  });

  it.each([
    ['empty', ''],
    ['torn', '{"v":1,"owner":{"pid":'],
    ['of another version', '{"v":2,"owner":null,"takenAtMs":1}'],
    ['without an owner', '{"v":1,"takenAtMs":1}'],
    ['with more in it', JSON.stringify({ v: 1, owner: {}, takenAtMs: 1, more: 1 })],
  ])('%s is refused as uncertain', async (_kind, text) => {
    await writeFile(file, text);

    await expect(readOwner(file)).rejects.toEqual(expectCode('uncertain'));
  });

  it('that is a directory or a loop of links is uncertain, to be retried', async () => {
    const loop = join(root, 'loop.json');
    await symlink(loop, loop);
    await mkdir(file);

    await expect(readOwner(loop)).rejects.toMatchObject({ code: 'uncertain', retryable: true });
    await expect(readOwner(file)).rejects.toMatchObject({ code: 'uncertain', retryable: true });
  });

  it('that cannot be written is a disk error and leaves nothing', async () => {
    await mkdir(file);

    await expect(writeOwner(file, await recordOf())).rejects.toMatchObject({
      code: 'disk_error',
      retryable: true,
    });
    await expect(writeOwner(join(root, 'no', 'owner.json'), await recordOf())).rejects.toEqual(
      expectCode('disk_error'),
    );
    expect(await readdir(root)).toEqual(['owner.json']);
  });

  it('holds no more than one line', async () => {
    await writeOwner(file, await recordOf());

    expect(await readFile(file, 'utf8')).toMatch(/^[^\n]+\n$/);
  });
});
