/**
 * `npm run visualize`: writes the pictures and a definition of each machine, and the page that shows them;
 * `-- --check` writes nothing and fails when one is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { documents } from './documents.ts';

const isCheck = process.argv.includes('--check');
let stale = 0;
for (const { file, text } of await documents()) {
  const url = new URL(file, import.meta.url);
  if (!isCheck) {
    writeFileSync(url, text);
    continue;
  }
  let is = '';
  try {
    is = readFileSync(url, 'utf8');
  } catch {
    // Not made yet: stale like any other.
  }
  if (is === text) continue;
  stale += 1;
  process.stderr.write(`visualizations/${file} is stale: run npm run visualize.\n`);
}
process.exitCode = stale === 0 ? 0 : 1;
