import { describe, expect, it } from 'vitest';
import type { MessageRenderer } from '@earendil-works/pi-coding-agent';
import { visibleWidth } from '@earendil-works/pi-tui';
import { registerNoticeRenderers } from '../../src/pi/render/notice.ts';
import type { Notice } from '../../src/runtime/shepherd.ts';

const plain = {
  fg: (_color: string, text: string) => text,
  bold: (text: string) => text,
} as unknown as Parameters<MessageRenderer>[2];

interface Drawing {
  readonly kind?: Notice['kind'];
  readonly details?: unknown;
  readonly expanded?: boolean;
  readonly width?: number;
}

function render(content: string, drawing: Drawing = {}): readonly string[] {
  const { kind = 'shepherd.notice', details, expanded = false, width = 60 } = drawing;
  const renderers = new Map<string, MessageRenderer>();
  registerNoticeRenderers({
    registerMessageRenderer: (type, renderer) => {
      renderers.set(type, renderer as MessageRenderer);
    },
  });
  const component = renderers.get(kind)!(
    { role: 'custom', customType: kind, content, details, display: true, timestamp: 0 },
    { expanded, outputPad: 1, keyText: () => 'ctrl+o', keyHint: (_key, text) => `ctrl+o ${text}` },
    plain,
  );
  return component!.render(width);
}

const completion = {
  kind: 'shepherd.task.completion',
  details: {
    id: 'notice-1',
    watcherId: 'w',
    results: [
      {
        taskId: 'shepherd-task-1',
        agentId: 'shepherd-agent-1',
        agent: 'scout: survey',
        status: 'completed',
        ok: true,
        returnCode: 0,
        summary: 'North gate first.\nThe lock is fine.',
        text: 'I wait.',
        override: 'planner is asleep',
        evidence: { turns: 1, toolCalls: 4, lastActivityAtMs: 5 },
        lateEvents: [{ kind: 'reply', atMs: 9, fromId: 'shepherd-agent-2', text: 'South gate.' }],
        attempts: [
          { launch: 1, startedAtMs: 1 },
          { launch: 2, startedAtMs: 2 },
        ],
        settledAtMs: 4,
      },
    ],
  },
} as const;
const completionText =
  'Watched task settled: scout: survey completed\n\nshepherd-task-1: North gate first.\nThe lock is fine.';

describe('a notice in the transcript', () => {
  it('of a settled task says in two lines whose it was, how it ended, and how its result begins', () => {
    expect(render(completionText, completion)).toEqual([
      ' Task settled: scout: survey completed',
      ' North gate first. … ctrl+o for all',
    ]);
  });

  it('of a settled task has, expanded, what the model reads, the evidence, and what came late', () => {
    expect(render(completionText, { ...completion, expanded: true })).toEqual([
      ' Task settled',
      ' Watched task settled: scout: survey completed',
      ' ',
      ' shepherd-task-1: North gate first.',
      ' The lock is fine.',
      ' ',
      ' scout: survey: 1 turn, 4 tool calls, 2 children, one after',
      ' the other',
      ' Completed with a question open: planner is asleep',
      ' Late, without effect: a reply of shepherd-agent-2: South',
      ' gate.',
    ]);
  });

  const question =
    'Question from scout: survey (a-1)\nMessage id: m-1\nA reply is expected.\n\nWhich gate?\nNorth?';

  it.each<[Notice['kind'], boolean, string]>([
    ['shepherd.message.incoming', true, 'Question from scout: survey'],
    ['shepherd.message.incoming', false, 'Message from scout: survey'],
    ['shepherd.message.reply', false, 'Reply from scout: survey'],
  ])(
    'of a message (%s, a reply expected: %s) shows who writes, and what',
    (kind, expectsReply, title) => {
      const details = { sender: 'scout: survey', messageId: 'm-1', expectsReply };

      expect(render(question, { kind, details })).toEqual([
        ` ${title}`,
        ' Which gate? … ctrl+o for all',
      ]);
      expect(render(question, { kind, details, expanded: true }).slice(1)).toEqual(
        question.split('\n').map((line) => ` ${line}`),
      );
    },
  );

  it('of a stale wait shows who waits for whom, how long, and the question', () => {
    const details = {
      agentName: 'scout: survey',
      recipientName: 'planner: plan',
      elapsedMs: 5 * 60_000 + 59_000,
      question: 'Which gate?',
    };
    expect(render('Task 1 has waited.', { kind: 'shepherd.stale.wait', details })).toEqual([
      ' Still waiting: scout: survey, 5 min for planner: plan',
      ' Which gate? … ctrl+o for all',
    ]);
  });

  it('of a stall shows who, and what is the matter', () => {
    const details = { agentName: 'scout: survey' };
    const text = 'scout: survey (a-1) has stalled.\nProcess: present.';
    expect(render(text, { kind: 'shepherd.stall', details })).toEqual([
      ' Stalled: scout: survey',
      ' scout: survey (a-1) has stalled. … ctrl+o for all',
    ]);
  });

  it('that is plain stands there whole if two lines hold it, else cut', () => {
    expect(render('scout: survey has ended.')).toEqual([' scout: survey has ended.']);
    expect(render('one\ntwo\nthree')).toEqual([' one', ' two … ctrl+o for all']);
    expect(render('one\ntwo\nthree', { expanded: true })).toEqual([
      ' Shepherd',
      ' one',
      ' two',
      ' three',
    ]);
  });

  it.each<Notice['kind']>([
    'shepherd.task.completion',
    'shepherd.prompt.completion',
    'shepherd.message.reply',
    'shepherd.stale.wait',
    'shepherd.stall',
  ])('%s with details of another version shows its text', (kind) => {
    for (const details of [undefined, null, 7, { results: [{}] }]) {
      expect(render('What happened.', { kind, details })[1]).toBe(
        ' What happened. … ctrl+o for all',
      );
    }
  });
});

describe('whatever a child writes', () => {
  it.each([
    '日本語のテキスト'.repeat(9),
    '👩‍👩‍👧‍👦 emoji 🐑🐑🐑 '.repeat(9),
    'é à'.repeat(30),
    'a\tb'.repeat(30),
    '\uD83D broken \uDC11 '.repeat(9),
    'one\u2028two\u2029three '.repeat(9),
  ])('no line is wider than the terminal: %j', (text) => {
    const details = { results: [{ agent: text, status: text, text, override: text }] };
    for (const width of [4, 11, 40]) {
      for (const expanded of [false, true]) {
        const drawing = { kind: 'shepherd.task.completion', details, width, expanded } as const;
        for (const line of render(text, drawing)) {
          expect(visibleWidth(line)).toBeLessThanOrEqual(width);
        }
      }
    }
  });

  it('a terminal obeys nothing of it: no sequence, no turn of direction, no half character', () => {
    const text =
      '\u001B[31mred\u001B[0m \u001B]0;title\u0007\u0008x\u009B2J\u202Edlrow\u2066 \uD83D';
    const details = { results: [{ agent: text, status: text, text, override: text }] };
    for (const expanded of [false, true]) {
      const lines = render(text, { kind: 'shepherd.task.completion', details, expanded });
      expect(lines.join('')).not.toMatch(/\p{Cc}|\p{Bidi_Control}|\p{Cs}/u);
    }
  });
});
