/** `npm run storm -- --writers 50 --messages 20 [--json]`. */
import { parseArgs } from 'node:util';
import { runStorm } from './run-storm.ts';

const { values } = parseArgs({
  options: {
    writers: { type: 'string', default: '50' },
    messages: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
});
const writers = Number(values.writers);
const messages = Number(values.messages);
const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());

const result = await runStorm({
  writers,
  messages,
  signal: ended.signal,
  onProgress: (text) => process.stderr.write(`${text}\n`),
});
const { handled, lost, doubled, outOfOrder } = result;
process.stdout.write(
  values.json
    ? `${JSON.stringify(result)}\n`
    : `handled ${handled} of ${writers * messages}, lost ${lost}, doubled ${doubled}, out of order ${outOfOrder}\n`,
);
process.exitCode = handled === writers * messages && lost + doubled + outOfOrder === 0 ? 0 : 1;
