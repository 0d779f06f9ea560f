/** Text on a terminal's screen. */
import { expect, it, vi } from 'vitest';
import { visibleWidth } from '@earendil-works/pi-tui';
import { drawn } from '../../src/pi/render/component.ts';
import { cut, plain, wrap } from '../../src/pi/render/text.ts';

it('breaks at words, and a word only when it is too long', () => {
  expect(wrap('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrap('  indented abcdefghijkl', 8)).toEqual(['indented', 'abcdefgh', 'ijkl']);
});

it('is cut to a line, between characters', () => {
  expect(cut('one\ntwo', 20)).toBe('one two');
  expect(cut('one two', 5)).toBe('one t');
  expect(cut('羊羊羊', 5)).toBe('羊羊');
  expect(visibleWidth(cut('🐑'.repeat(9), 7))).toBeLessThanOrEqual(7);
});

it('keeps what people write', () => {
  const text = 'Zażółć gęślą jaźń, 羊 🐑 שלום\n\n  indented';
  expect(plain(text)).toBe(text);
});

it('is drawn once for a width and a theme, however often it is asked for', () => {
  const draw = vi.fn<(width: number) => string[]>((width) => ['-'.repeat(width)]);
  const component = drawn(draw);

  expect(component.render(3)).toEqual(['---']);
  component.render(3);
  expect(draw).toHaveBeenCalledTimes(1);

  expect(component.render(4)).toEqual(['----']);
  component.invalidate();
  component.render(4);
  expect(draw).toHaveBeenCalledTimes(3);
});
