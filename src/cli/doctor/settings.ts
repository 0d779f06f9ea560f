/** What is wrong with the settings files. */
import { existsSync } from 'node:fs';
import type { ReadSettings, SettingsFiles, SettingsProblem } from '../../settings/read.ts';
import type { Check } from './report.ts';

export function checkSettings(files: SettingsFiles, { problems }: ReadSettings): readonly Check[] {
  if (problems.length > 0) return problems.map(toCheck);
  const there = Object.values(files).filter((file) => existsSync(file));
  const message = there.length === 0 ? 'no settings file; the defaults count' : there.join(', ');
  return [{ about: 'settings', status: 'ok', message, fix: null }];
}

function toCheck({ path, key, accepted, message }: SettingsProblem): Check {
  const what = key === undefined ? 'it' : `"${key}"`;
  return {
    about: 'settings',
    status: 'warn',
    message,
    fix:
      accepted === undefined
        ? `Correct ${what} in ${path}, or remove it.`
        : `In ${path}, write for ${what}: ${accepted}.`,
    file: path,
    ...(key === undefined ? {} : { key }),
    ...(accepted === undefined ? {} : { accepted }),
  };
}
