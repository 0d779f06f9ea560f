/** WCAG AA: 4.5 to 1 for text, in light and in dark, on the page and in the drawings. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Variables of the light theme, and of the dark one. */
function themes(css: string): readonly Readonly<Record<string, string>>[] {
  const blocks = [...css.matchAll(/\{([^{}]*--back:[^{}]*)\}/g)].map(([, block = '']) => block);
  return blocks.map((block) =>
    Object.fromEntries(
      [...block.matchAll(/--([a-z-]+):\s*(#[0-9a-f]{6})/g)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    ),
  );
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const pairs = {
  'src/inspector/web/style.css': [
    ...['back', 'pane', 'chosen'].flatMap((back) => [
      ['text', back],
      ['quiet', back],
      ['bad', back],
    ]),
    ['text', 'line'],
    ...['active', 'waiting', 'good', 'bad'].map((tone) => [tone, `${tone}-back`]),
  ],
  'visualizations/task.svg': [
    ...['text', 'guard', 'action', 'delay', 'hot'].flatMap((text) => [
      [text, 'box'],
      [text, 'inner'],
    ]),
    ['text', 'hot-back'],
    ['guard', 'hot-back'],
    ['action', 'hot-back'],
    ['delay', 'hot-back'],
  ],
} as const;

describe.each(Object.entries(pairs))('the colours of %s', (path, used) => {
  const [light = {}, dark = {}] = themes(read(path));

  it.each([
    ['light', light],
    ['dark', dark],
  ])('can be read in %s', (_name, theme) => {
    const ratios = used.map(([text = '', back = '']) => ({
      pair: `${text} on ${back}`,
      ratio: contrast(theme[text] ?? '', theme[back] ?? ''),
    }));

    expect(ratios.filter(({ ratio }) => !(ratio >= 4.5))).toEqual([]);
  });
});
