import { expect, it } from 'vitest';
import type { MessageRenderer } from '@earendil-works/pi-coding-agent';
import { visibleWidth } from '@earendil-works/pi-tui';
import { registerNoticeRenderers } from '../../src/pi/render/notice.ts';
import { wrap } from '../../src/pi/render/text.ts';

const plain = {
  fg: (_color: string, text: string) => text,
  bold: (text: string) => text,
} as unknown as Parameters<MessageRenderer>[2];

function render(content: string, { expanded = false, width = 40 } = {}): readonly string[] {
  const renderers = new Map<string, MessageRenderer>();
  registerNoticeRenderers({
    registerMessageRenderer: (kind, renderer) => {
      renderers.set(kind, renderer as MessageRenderer);
    },
  });
  const customType = 'shepherd.task.completion';
  const component = renderers.get(customType)!(
    { role: 'custom', customType, content, display: true, timestamp: 0 },
    { expanded, outputPad: 1, keyText: () => 'ctrl+o', keyHint: (_key, text) => `ctrl+o ${text}` },
    plain,
  );
  return component!.render(width);
}

it('shows a title and the text', () => {
  expect(render('scout: api completed')).toEqual([' Task settled', ' scout: api completed']);
});

it('cuts a long text until it is expanded', () => {
  const text = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n');

  expect(render(text)).toHaveLength(8);
  expect(render(text).at(-1)).toBe(' … ctrl+o for all');
  expect(render(text, { expanded: true })).toHaveLength(21);
});

it('breaks at words, and a word only when it is too long', () => {
  expect(wrap('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrap('  indented abcdefghijkl', 8)).toEqual(['indented', 'abcdefgh', 'ijkl']);
});

it.each([
  '日本語のテキスト'.repeat(9),
  '👩‍👩‍👧‍👦 emoji 🐑🐑🐑 '.repeat(9),
  'é à'.repeat(30),
  'a\tb'.repeat(30),
])('never draws a line wider than the terminal: %s', (text) => {
  for (const width of [4, 11, 40]) {
    for (const line of render(text, { expanded: true, width })) {
      expect(visibleWidth(line)).toBeLessThanOrEqual(width);
    }
  }
});

it('obeys no control sequence of a child', () => {
  const lines = render('\u001B[31mred\u001B[0m \u001B]0;title\u0007\u0008x\u009B2J');

  expect(lines.join('')).not.toMatch(/\p{Cc}/u);
});
