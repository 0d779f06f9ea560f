import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { demoReportSchema } from '../../src/cli/demo/report.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

it('plays the demo from the build that the package ships', async () => {
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    cwd: root,
  });

  const { stdout } = await run(process.execPath, ['dist/src/cli/main.js', 'demo', '--json'], {
    cwd: root,
  });

  expect(demoReportSchema.parse(JSON.parse(stdout)).ok).toBe(true);
}, 150_000);
