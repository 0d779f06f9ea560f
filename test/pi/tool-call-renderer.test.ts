import { expect, it } from 'vitest';
import type { ToolRendererResolver, ToolRenderers } from '@earendil-works/pi-coding-agent';
import { visibleWidth } from '@earendil-works/pi-tui';
import { registerToolCallRenderer } from '../../src/pi/render/tool-call.ts';

type RenderCall = NonNullable<ToolRenderers['renderCall']>;

const theme = {
  fg: (_color: string, text: string) => text,
  bold: (text: string) => text,
} as unknown as Parameters<RenderCall>[1];

function resolver(): ToolRendererResolver {
  let registered: ToolRendererResolver | undefined;
  registerToolCallRenderer({ registerToolRenderer: (resolve) => (registered = resolve) }, [
    { name: 'shepherd_delegate' },
  ]);
  return registered!;
}

function draw(args: unknown, { expanded = false, width = 40 } = {}): readonly string[] {
  const { renderCall } = resolver()('shepherd_delegate', () => undefined)!;
  return renderCall!(args, theme, { expanded } as Parameters<RenderCall>[2]).render(width);
}

const args = { target: 'scout', task: 'Survey the fence.\nThen the gate.', queue: true };

it('a call is a line of the width', () => {
  expect(draw(args)).toEqual(['shepherd_delegate target="scout" task="S']);
  expect(draw({})).toEqual(['shepherd_delegate']);
  expect(draw(undefined, { width: 9 })).toEqual(['shepherd_']);
});

it('expanded it has every argument', () => {
  expect(draw(args, { expanded: true })).toEqual([
    'shepherd_delegate',
    '  target: scout',
    '  task: Survey the fence.',
    '  Then the gate.',
    '  queue: true',
  ]);
});

it('obeys nothing that stands in an argument, and fits', () => {
  const task = '\u001B[31mred\u001B[0m\u202E \u001B]0;title\u0007 羊🐑 \uD83D '.repeat(5);
  for (const expanded of [false, true]) {
    for (const width of [6, 19, 40]) {
      const lines = draw({ target: task, task }, { expanded, width });
      expect(lines.join('')).not.toMatch(/\p{Cc}|\p{Bidi_Control}|\p{Cs}/u);
      for (const line of lines) expect(visibleWidth(line)).toBeLessThanOrEqual(width);
    }
  }
});

it('leaves other tools, and how results look, as they are', () => {
  const others: ToolRenderers = { renderShell: 'self' };
  expect(resolver()('bash', () => others)).toBe(others);
  expect(resolver()('shepherd_delegate', () => others)).toMatchObject(others);
});
