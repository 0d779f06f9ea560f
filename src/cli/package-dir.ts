/** Where this package lies: from sources (src/cli) and built (dist/src/cli). */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { ConfigError } from '../errors.ts';

const manifestSchema = z.looseObject({ name: z.literal('sheepfold'), version: z.string() });

export interface PackageInfo {
  readonly dir: string;
  readonly version: string;
}

/** Finds the package around this file. @throws ConfigError `invalid_setting` for a torn copy. */
export function packageInfo(): PackageInfo {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let dir = start; ; dir = dirname(dir)) {
    const file = join(dir, 'package.json');
    const manifest = existsSync(file)
      ? manifestSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')))
      : undefined;
    if (manifest?.success === true) return { dir, version: manifest.data.version };
    if (dirname(dir) === dir) {
      throw new ConfigError(
        'invalid_setting',
        `There is no package.json of sheepfold above ${start}.`,
      );
    }
  }
}
