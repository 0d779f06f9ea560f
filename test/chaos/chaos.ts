/** `npm run chaos -- --runs 20 --seed 1 [--first 0] [--jobs 2] [--keep] [--json]`. */
import { parseArgs } from 'node:util';
import { runChaos } from './run-chaos.ts';

/** So many runs have to hit each point so often. */
const [enoughRuns, enoughHits] = [200, 5];

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
    jobs: { type: 'string', default: '2' },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());

const result = await runChaos({
  runs: Number(values.runs),
  seed: Number(values.seed),
  first: Number(values.first),
  jobs: Number(values.jobs),
  keep: values.keep,
  signal: ended.signal,
  onTrouble: (text) => process.stderr.write(`${text}\n`),
});
const { lost, doubled, wrongOutcome } = result;
const rarely = Object.entries(result.points).filter(([, hits]) => hits < enoughHits);
const isThin = result.runs >= enoughRuns && rarely.length > 0;
if (isThin) {
  const counts = rarely.map(([point, hits]) => `${point} ${String(hits)}`);
  process.stderr.write(`hit fewer than ${String(enoughHits)} times: ${counts.join(', ')}\n`);
}
process.stdout.write(`${JSON.stringify(result, null, values.json ? 0 : 2)}\n`);
const isRight = lost + doubled + wrongOutcome === 0 && !isThin;
process.exitCode = isRight && !ended.signal.aborted ? 0 : 1;
