/** A parent to be killed: `node opener.ts <launch.json>` opens the launch, prints `opened`, stays. */
import { readFile } from 'node:fs/promises';
import type { Launch } from '../../src/hosts/host.ts';
import { createProcessHost } from '../../src/hosts/process.ts';

const launch = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as Launch;
await createProcessHost().open(launch);
process.stdout.write('opened\n');
setInterval(() => undefined, 60_000);
