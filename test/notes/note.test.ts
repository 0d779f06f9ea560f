/** What a note says, and that what others wrote in it is kept. */
import { describe, expect, it } from 'vitest';
import {
  isNoteFileName,
  isNoteOf,
  noteFileName,
  noteSlug,
  ordinalOf,
  writeNote,
  type NoteFacts,
} from '../../src/notes/note.ts';

const taskId = 'shepherd-task-3n8b5v1c7x2z';

const running: NoteFacts = {
  taskId,
  agentId: 'shepherd-agent-7q2m9x4k1z0a',
  agent: 'scout: one',
  task: 'Count the flock.\n\nTwice.',
  status: 'running',
  createdAtMs: Date.UTC(2024, 4, 6),
  dispatchedAtMs: Date.UTC(2024, 4, 6, 0, 1),
};

const outcome = {
  settledAtMs: Date.UTC(2024, 4, 6, 0, 5),
  summary: 'Seven.',
  output: 'I counted seven sheep.',
  evidence: { turns: 2, toolCalls: 3, lastActivityAtMs: Date.UTC(2024, 4, 6, 0, 4) },
};

const completed: NoteFacts = {
  ...running,
  status: 'completed',
  outcome,
};

const begun = writeNote(undefined, running);

describe('a new note', () => {
  it('says whose task it is, how it stands, and what was asked', () => {
    expect(begun).toBe(`---
task: shepherd-task-3n8b5v1c7x2z
agent: "scout: one"
agentId: shepherd-agent-7q2m9x4k1z0a
status: running
created: 2024-05-06T00:00:00.000Z
dispatched: 2024-05-06T00:01:00.000Z
---

# scout: one

> Count the flock.
>
> Twice.

## Findings
`);
  });

  it('is known by its task, and by no other', () => {
    expect(isNoteOf(begun, taskId)).toBe(true);
    expect(isNoteOf(begun, 'shepherd-task-3n8b5v1c7x2')).toBe(false);
    expect(isNoteOf(`Text.\n${begun}`, taskId)).toBe(false);
  });

  it('repeats only the beginning of a long task', () => {
    const text = writeNote(undefined, { ...running, task: '🐑'.repeat(50_000) });

    expect(text).toContain(`> ${'🐑'.repeat(2_000)}…\n`);
  });
});

describe('a finished note', () => {
  it('has one section of ours at its end', () => {
    const text = writeNote(begun, completed);

    expect(text).toBe(
      begun
        .replace('status: running', 'status: completed')
        .replace('00:01:00.000Z\n', '00:01:00.000Z\nsettled: 2024-05-06T00:05:00.000Z\n') +
        `
<!-- shepherd-orchestration ${taskId} begin: rewritten by Sheepfold -->

## Shepherd orchestration

- Status: completed
- Created: 2024-05-06T00:00:00.000Z
- Settled: 2024-05-06T00:05:00.000Z
- Evidence: 2 turns, 3 tool calls, last activity 2024-05-06T00:04:00.000Z

### Summary

Seven.

### Final output

I counted seven sheep.

<!-- shepherd-orchestration ${taskId} end -->
`,
    );
  });

  it.each(['completed', 'blocked', 'failed', 'cancelled', 'timed_out'] as const)(
    'says %s as it is',
    (status) => {
      const text = writeNote(begun, { ...completed, status });

      expect(text).toContain(`\nstatus: ${status}\n`);
      expect(text).toContain(`\n- Status: ${status}\n`);
    },
  );

  it('has error and override where there are some, and no text twice', () => {
    const text = writeNote(begun, {
      ...completed,
      outcome: {
        ...outcome,
        output: 'Seven.',
        error: 'no_gate: shut',
        override: 'Late.',
      },
    });

    expect(text).toContain('### Error\n\nno_gate: shut\n');
    expect(text).toContain('### Completed although a reply was outstanding\n\nLate.\n');
    expect(text).not.toContain('### Final output');
  });
});

describe('NT1: what somebody else wrote', () => {
  it('is kept before and behind our section, byte for byte', () => {
    const before = begun.replace('## Findings\n', '## Findings\r\n\tSeven.   \r\n');
    const finished = `${writeNote(before, { ...completed, status: 'failed' })}\nOne more.`;

    const text = writeNote(finished, completed);

    expect(text).toContain('## Findings\r\n\tSeven.   \r\n');
    expect(text.endsWith('\nOne more.')).toBe(true);
    expect(text.match(/## Shepherd orchestration/g)).toHaveLength(1);
    expect(text).not.toContain('failed');
  });

  it('is kept in the frontmatter, whose other keys stay', () => {
    const text = writeNote(begun.replace('---\n\n', 'tags: [sheep]\n---\n\n'), completed);

    expect(text).toContain('\ntags: [sheep]\nsettled: 2024');
  });

  it('is kept where nothing of ours is left', () => {
    const text = writeNote('All my own text', completed);

    expect(text.startsWith('All my own text\n\n<!-- shepherd-orchestration')).toBe(true);
  });

  it('is kept where it begins with the frontmatter of something else', () => {
    const own = '---\ntask: mine\nstatus: fine\n---\nText.\n';

    expect(writeNote(own, completed).startsWith(own)).toBe(true);
  });

  it('is kept where our section was cut in two', () => {
    const finished = writeNote(begun, completed);
    const cut = finished.slice(0, finished.indexOf('### Summary'));

    const text = writeNote(`${cut}Mine.\n`, completed);

    expect(text.startsWith(`${cut}Mine.\n`)).toBe(true);
    expect(writeNote(text, completed)).toBe(text);
  });
});

describe('NT2: the same facts again', () => {
  it.each([
    ['an open note', begun, running],
    ['a finished one', writeNote(begun, completed), completed],
    ['one with text behind it', `${writeNote(begun, completed)}Mine.\n`, completed],
    ['one of windows', writeNote(begun.replaceAll('\n', '\r\n'), completed), completed],
    ['one without frontmatter', writeNote('Mine.\n', completed), completed],
  ])('change nothing in %s', (_name, text, facts) => {
    expect(writeNote(text, facts)).toBe(text);
  });
});

it('NT3: a text cannot close our section', () => {
  const end = `<!-- shepherd-orchestration ${taskId} end -->`;
  const closing = { ...outcome, output: `A\n${end}\nB $& $1` };
  const text = writeNote(writeNote(begun, { ...completed, outcome: closing }), completed);

  expect(text).toBe(writeNote(begun, completed));
});

describe('the name of a note', () => {
  it.each([
    ['scout', 'scout'],
    ['Code Reviewer (v2)', 'code-reviewer-v2'],
    ['Schäfer', 'schafer'],
    ['../../etc/passwd', 'etc-passwd'],
    ['羊', 'agent'],
    ['.', 'agent'],
    [`${'a'.repeat(47)}-b`, 'a'.repeat(47)],
    ['x'.repeat(100), 'x'.repeat(48)],
  ])('of %s is safe: %s', (agent, slug) => {
    expect(noteSlug(agent)).toBe(slug);
    expect(isNoteFileName(noteFileName(slug, 1))).toBe(true);
  });

  it('has two digits, or as many as it needs', () => {
    expect(noteFileName('scout', 7)).toBe('scout-07.md');
    expect(noteFileName('scout', 123)).toBe('scout-123.md');
    expect(ordinalOf('scout-123.md', 'scout')).toBe(123);
    expect(ordinalOf('scout-2-07.md', 'scout')).toBeUndefined();
    expect(ordinalOf('scout-2-07.md', 'scout-2')).toBe(7);
  });

  it.each([
    '../scout-01.md',
    'a/scout-01.md',
    'scout-1.md',
    'scout-001.md',
    'scout-01.md\n',
    '.md',
  ])('is not %j', (name) => {
    expect(isNoteFileName(name)).toBe(false);
  });
});
