/** The files of the notes: names, rights, what is not followed, and writers that meet. */
import { execFile } from 'node:child_process';
import * as nodeFs from 'node:fs';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createNoteFiles, type NoteFs } from '../../src/notes/note-files.ts';

function makeDir(): { readonly root: string; readonly dir: string } {
  const root = mkdtempSync(join(tmpdir(), 'sheepfold-notes-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return { root, dir: join(root, 'notes') };
}

const textOf = (taskId: string): string => `---\ntask: ${taskId}\n---\n`;

const want = (taskId: string, mayHave = false) => ({
  slug: 'scout',
  taskId,
  text: textOf(taskId),
  mayHave,
});

const refusal = expect.objectContaining({ code: 'disk_error', retryable: false }) as unknown;

function fsError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe('NF1: a name', () => {
  it('is the next one, and lies there with its text, 0600 in a 0700 directory', () => {
    const { dir } = makeDir();
    const files = createNoteFiles({ dir });

    const names = ['a', 'b'].map((taskId) => files.reserve(want(taskId)));

    expect(names).toEqual(['scout-01.md', 'scout-02.md']);
    expect(readdirSync(dir)).toEqual(names);
    expect(readFileSync(join(dir, 'scout-02.md'), 'utf8')).toBe(textOf('b'));
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, 'scout-01.md')).mode & 0o777).toBe(0o600);
  });

  it('goes on behind the highest, also of another process', () => {
    const { dir } = makeDir();
    const [one, two] = [createNoteFiles({ dir }), createNoteFiles({ dir })];
    one.reserve(want('a'));
    writeFileSync(join(dir, 'scout-99.md'), 'By hand.');

    expect([two.reserve(want('b')), one.reserve(want('c')), two.reserve(want('d'))]).toEqual([
      'scout-100.md',
      'scout-02.md',
      'scout-101.md',
    ]);
    expect(readFileSync(join(dir, 'scout-99.md'), 'utf8')).toBe('By hand.');
  });

  it('is nobody else’s, with eight processes at once', async () => {
    const { dir } = makeDir();
    const module = new URL('../../src/notes/note-files.ts', import.meta.url).href;
    const program = `
      import { createNoteFiles } from ${JSON.stringify(module)};
      const files = createNoteFiles({ dir: process.argv[1] });
      const task = (n) => process.argv[2] + n;
      const names = Array.from({ length: 20 }, (_, n) =>
        files.reserve({ slug: 'scout', taskId: task(n), text: task(n), mayHave: false }));
      console.log(JSON.stringify(names));`;

    const answers = await Promise.all(
      Array.from('abcdefgh', (name) =>
        promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, dir, name]),
      ),
    );

    const names = answers.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
    expect(new Set(names).size).toBe(160);
    expect(readdirSync(dir).toSorted()).toEqual(names.toSorted());
    const texts = names.map((name) => readFileSync(join(dir, name), 'utf8'));
    expect(new Set(texts).size).toBe(160);
  });

  it('that an ended process has taken is found again', () => {
    const { dir } = makeDir();
    const ended = createNoteFiles({ dir });
    for (const taskId of ['a', 'b', 'c']) ended.reserve(want(taskId));
    symlinkSync('scout-01.md', join(dir, 'scout-04.md'));

    const next = createNoteFiles({ dir });

    expect(next.reserve(want('b', true))).toBe('scout-02.md');
    expect(next.reserve(want('d', true))).toBe('scout-05.md');
  });

  it('is taken without hard links, too', () => {
    const { dir } = makeDir();
    const linkless: NoteFs = {
      ...nodeFs,
      linkSync() {
        throw fsError('EPERM');
      },
    };
    const files = createNoteFiles({ dir, fs: linkless });
    createNoteFiles({ dir }).reserve(want('a'));
    files.reserve(want('b'));

    expect(readdirSync(dir)).toEqual(['scout-01.md', 'scout-02.md']);
    expect(readFileSync(join(dir, 'scout-02.md'), 'utf8')).toBe(textOf('b'));
  });

  it('is not taken by a write that failed', () => {
    const { dir } = makeDir();
    let isFull = true;
    const files = createNoteFiles({
      dir,
      fs: {
        ...nodeFs,
        writeFileSync(...args: Parameters<typeof writeFileSync>) {
          writeFileSync(...args);
          if (isFull) throw fsError('ENOSPC');
        },
      },
    });

    expect(() => files.reserve(want('a'))).toThrow(
      expect.objectContaining({ code: 'disk_error', retryable: true }) as Error,
    );
    expect(readdirSync(dir)).toEqual([]);
    isFull = false;
    expect(files.reserve(want('a'))).toBe('scout-01.md');
  });
});

describe('NF2: a note', () => {
  it('is replaced by what is made of its text, and keeps its mode', () => {
    const { dir } = makeDir();
    const files = createNoteFiles({ dir });
    const path = join(dir, files.reserve(want('a')));
    nodeFs.chmodSync(path, 0o644);

    files.update('scout-01.md', (text) => `${text}More.\n`);

    expect(readFileSync(path, 'utf8')).toBe(`${textOf('a')}More.\n`);
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(readdirSync(dir)).toEqual(['scout-01.md']);
  });

  it('is not touched when nothing changes', () => {
    const { dir } = makeDir();
    const files = createNoteFiles({ dir });
    const path = join(dir, files.reserve(want('a')));
    const { ino } = statSync(path);

    files.update('scout-01.md', (text) => text ?? '');

    expect(statSync(path).ino).toBe(ino);
  });

  it('is made anew when somebody has removed it', () => {
    const { dir } = makeDir();
    const files = createNoteFiles({ dir });

    files.update('scout-01.md', (text) => text ?? 'New.');

    expect(readFileSync(join(dir, 'scout-01.md'), 'utf8')).toBe('New.');
  });

  it('has what its agent wrote while ours was being written', () => {
    const { dir } = makeDir();
    const path = join(dir, 'scout-01.md');
    let left = 2;
    const files = createNoteFiles({
      dir,
      fs: {
        ...nodeFs,
        writeFileSync(...args: Parameters<typeof writeFileSync>) {
          writeFileSync(...args);
          if (!String(args[0]).endsWith('.tmp') || left === 0) return;
          left -= 1;
          nodeFs.appendFileSync(path, `agent ${left}\n`);
        },
      },
    });
    mkdirSync(dir);
    writeFileSync(path, 'agent\n');

    files.update('scout-01.md', (text) => `${text}ours\n`);

    expect(readFileSync(path, 'utf8')).toBe('agent\nagent 1\nagent 0\nours\n');
    expect(readdirSync(dir)).toEqual(['scout-01.md']);
  });

  it('that never holds still is tried again later', () => {
    const { dir } = makeDir();
    const path = join(dir, 'scout-01.md');
    const files = createNoteFiles({ dir });
    mkdirSync(dir);

    expect(() =>
      files.update('scout-01.md', (text) => {
        nodeFs.appendFileSync(path, 'agent\n');
        return `${text}ours\n`;
      }),
    ).toThrow(expect.objectContaining({ retryable: true }) as Error);
    expect(readFileSync(path, 'utf8')).toBe('agent\n'.repeat(5));
    expect(readdirSync(dir)).toEqual(['scout-01.md']);
  });

  it('is not replaced by half a text', () => {
    const { dir } = makeDir();
    createNoteFiles({ dir }).reserve(want('a'));
    const files = createNoteFiles({
      dir,
      fs: {
        ...nodeFs,
        renameSync() {
          throw fsError('EIO');
        },
      },
    });

    expect(() => files.update('scout-01.md', () => 'New.')).toThrow(/EIO/);
    expect(readdirSync(dir)).toEqual(['scout-01.md']);
    expect(readFileSync(join(dir, 'scout-01.md'), 'utf8')).toBe(textOf('a'));
  });

  it('leaves no half-written files of a crash behind', () => {
    const { dir } = makeDir();
    mkdirSync(dir);
    const [old, fresh] = ['.0123456789ab.tmp', '.0123456789cd.tmp'];
    for (const name of [old, fresh]) writeFileSync(join(dir, name), 'half');
    utimesSync(join(dir, old), 1, 1);
    writeFileSync(join(dir, 'mine.txt'), 'whole');

    createNoteFiles({ dir }).reserve(want('a'));

    expect(readdirSync(dir)).toEqual([fresh, 'mine.txt', 'scout-01.md']);
  });
});

describe('NF3: nothing outside of the directory', () => {
  it.each(['../scout-01.md', '/tmp/scout-01.md', 'a/../scout-01.md', 'scout-01.md/..', ''])(
    'is reached by the name %j',
    (name) => {
      const { root, dir } = makeDir();

      expect(() => createNoteFiles({ dir }).update(name, () => 'New.')).toThrow(refusal as Error);
      expect(readdirSync(root)).toEqual([]);
    },
  );

  it('is written through a link in place of a note', () => {
    const { root, dir } = makeDir();
    mkdirSync(dir);
    const target = join(root, 'precious');
    writeFileSync(target, 'mine');
    symlinkSync(target, join(dir, 'scout-01.md'));
    const files = createNoteFiles({ dir });

    expect(() => files.update('scout-01.md', () => 'New.')).toThrow(refusal as Error);
    expect(files.reserve(want('a'))).toBe('scout-02.md');
    expect(readFileSync(target, 'utf8')).toBe('mine');
    expect(lstatSync(join(dir, 'scout-01.md')).isSymbolicLink()).toBe(true);
  });

  it('is written through a hard link either', () => {
    const { root, dir } = makeDir();
    mkdirSync(dir);
    const other = join(root, 'precious');
    writeFileSync(other, 'mine');
    linkSync(other, join(dir, 'scout-01.md'));

    createNoteFiles({ dir }).update('scout-01.md', (text) => `${text} and ours`);

    expect(readFileSync(other, 'utf8')).toBe('mine');
  });

  it('is written through a link in place of the directory', () => {
    const { root, dir } = makeDir();
    mkdirSync(join(root, 'elsewhere'));
    symlinkSync('elsewhere', dir);
    const files = createNoteFiles({ dir });

    expect(() => files.reserve(want('a'))).toThrow(refusal as Error);
    expect(() => files.update('scout-01.md', () => 'New.')).toThrow(refusal as Error);
    expect(readdirSync(join(root, 'elsewhere'))).toEqual([]);
  });

  it.each([
    ['a directory', (path: string) => mkdirSync(path)],
    ['bytes that are no text', (path: string) => writeFileSync(path, Buffer.from([0xff, 0xfe]))],
    ['far too much text', (path: string) => writeFileSync(path, 'a'.repeat(4 * 1024 * 1024 + 1))],
  ])('and %s is left as it is', (_name, make) => {
    const { dir } = makeDir();
    mkdirSync(dir);
    make(join(dir, 'scout-01.md'));

    expect(() => createNoteFiles({ dir }).update('scout-01.md', () => 'New.')).toThrow(
      refusal as Error,
    );
  });
});
