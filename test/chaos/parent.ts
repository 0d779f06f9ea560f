/** A parent that plays a scene from wherever an earlier one was killed, and ends it. */
import { join } from 'node:path';
import { layPath } from './path.ts';
import type { Kill } from './points.ts';
import { appendLine, readLines } from './record.ts';
import { scenes } from './scenes.ts';
import { endFile, outcomesFile, passedFile, type End, type ParentArgs } from './scene.ts';
import { openStage, type Stage } from './stage.ts';

const { dir, mode, kill } = JSON.parse(process.argv[2] ?? '{}') as ParentArgs;
const path = layPath(kill as Kill | undefined);
const outcomesPath = join(dir, outcomesFile);

/** What an earlier parent saw, which was killed when it had no more to do than to end the session. */
const [seen, filesSeen] = readLines(outcomesPath) as readonly (End | undefined)[];
const isForgetful = mode === 'closed_agent';
const afterwards = isForgetful ? { retention: { keep: 1, keepMs: 0 } } : {};

async function playAll(): Promise<{ readonly stage: Stage; readonly outcomes: End }> {
  if (seen !== undefined) {
    return { stage: await openStage({ dir, mode, path, ...afterwards }), outcomes: seen };
  }
  const stage = await scenes[mode](await openStage({ dir, mode, path }));
  const outcomes = await stage.finish();
  appendLine(outcomesPath, outcomes);
  return { stage: isForgetful ? await stage.park(afterwards) : stage, outcomes };
}

const { stage, outcomes } = await playAll();
let files = filesSeen;
if (isForgetful && files === undefined) {
  files = await stage.countFiles();
  appendLine(outcomesPath, files);
}
await stage.shepherd.dispose();
appendLine(join(dir, endFile), { ...outcomes, ...files } satisfies End);
appendLine(join(dir, passedFile), {
  ...path.passed,
  anywhere: Math.round(process.uptime() * 1000),
});
