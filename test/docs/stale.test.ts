import { readFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { describe, expect, it } from 'vitest';
import { acceptedBy, settingKeys } from '../../src/settings/rules.ts';
import { defaultSettings, isUserOnly } from '../../src/settings/settings.ts';
import { toolsDocument } from './tools-document.ts';

const fileAt = (path: string): string => new URL(`../../${path}`, import.meta.url).pathname;
const read = (path: string): string => readFileSync(fileAt(path), 'utf8');

describe('documents', () => {
  it('docs/tools.md is what `npm run docs` writes', async () => {
    const file = fileAt('docs/tools.md');
    const options = await resolveConfig(file);
    expect(read('docs/tools.md')).toBe(
      await format(toolsDocument(), { ...options, filepath: file }),
    );
  });

  it.each(settingKeys)('the README’s table has %s with its default, layer and values', (key) => {
    const row = read('README.md')
      .split('\n')
      .find((line) => line.startsWith(`| \`${key}\` `));
    const cells = (row ?? '').split('|').map((cell) => cell.trim());
    const value: unknown = key
      .split('.')
      .reduce<unknown>((inner, part) => Reflect.get(Object(inner), part), defaultSettings);
    const { accepted } = acceptedBy(key);
    expect(cells.slice(2, 5)).toEqual([
      `\`${String(value)}\``,
      isUserOnly(key) ? 'user' : 'user, project',
      accepted.replaceAll('"', '`'),
    ]);
  });
});
