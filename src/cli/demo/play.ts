/**
 * Plays a scenario on real Pi: a Shepherd and its agents, with a scripted model.
 *
 * Everything but the model's words is real: the Pi processes, their files, their time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostError } from '../../errors.ts';
import { resolvePi } from '../../hosts/pi-command.ts';
import type { Store } from '../../runtime/store.ts';
import { packageInfo } from '../package-dir.ts';
import { BARE_FLAGS, makeIsolatedPi, type IsolatedPi } from './isolated-pi.ts';
import { startPiRpc, type PiRpc } from './pi-rpc.ts';
import {
  findFaults,
  outlineOf,
  readOutcome,
  readTold,
  resultsOf,
  type DemoReport,
  type Outcome,
} from './report.ts';
import { policyVariable, type Cast, type Scenario } from './scenario.ts';
import { startScriptedModel } from './scripted-model.ts';
import { followStory, type Story, type StoryLine } from './story.ts';

export interface PlayOptions {
  /** Hears the story as it happens. */
  readonly tell: (line: StoryLine) => void;
  /** Where the demo's home is made. Default: the system's temporary directory. */
  readonly root?: string | undefined;
  /** How long it may take, in ms. Default 60,000. */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Performance {
  readonly report: Required<Omit<DemoReport, 'scenario'>>;
  /** Why `report.ok` is false. */
  readonly faults: readonly string[];
}

const lookEveryMs = 100;

/**
 * Plays a scenario to its end and ends every process it started; files stay.
 *
 * @throws HostError `launch_failed` without Pi, `uncertain` when Pi does not answer.
 */
export async function playScenario(scenario: Scenario, options: PlayOptions): Promise<Performance> {
  const startedAtMs = Date.now();
  const cast = scenario.cast();
  const model = await startScriptedModel({
    steps: cast.steps,
    route: ({ system }) => /You are (scout|planner|worker)\b/.exec(system)?.[1] ?? 'shepherd',
  });
  try {
    const isolated = await makeIsolatedPi({
      baseUrl: model.baseUrl,
      models: ['demo'],
      root: options.root,
      name: 'sheepfold-demo',
    });
    await makeSampleProject(isolated.workDir);
    const piSessionDir = join(isolated.home, 'shepherd-session');
    const story = followStory(join(isolated.workDir, '.shepherd', 'sessions'));
    const parent = await startShepherd(scenario, isolated, piSessionDir);
    const run = { options, scenario, cast, story, parent, startedAtMs };
    try {
      const reached = await waitForEnd(run);
      const outcome = story.store === undefined ? nothing : readOutcome(story.store);
      const children = story.store?.all('agent').flatMap(({ pid }) => pid ?? []) ?? [];
      await parent.close(20_000);
      for (const line of story.read()) options.tell(line);
      return judge(run, { outcome, reached, children, piSessionDir });
    } finally {
      await parent.close(5_000);
      story.close();
    }
  } finally {
    await model.close();
  }
}

interface Run {
  readonly options: PlayOptions;
  readonly scenario: Scenario;
  readonly cast: Cast;
  readonly story: Story;
  readonly parent: PiRpc;
  readonly startedAtMs: number;
}

/** Of a run that never had a session. */
const nothing: Outcome = { agents: [], tasks: [], requests: [], refusals: [], lateEvents: [] };

async function makeSampleProject(dir: string): Promise<void> {
  await writeFile(join(dir, 'README.md'), '# A small project\n\nmailbox, runtime, surfaces.\n');
  await writeFile(join(dir, 'mailbox.ts'), 'export const mailbox = [];\n');
}

async function startShepherd(
  { policy }: Scenario,
  isolated: IsolatedPi,
  piSessionDir: string,
): Promise<PiRpc> {
  const { dir } = packageInfo();
  const extension =
    policy === undefined ? dir : join(dir, 'src', 'cli', 'demo', 'shepherd-extension.ts');
  return startPiRpc({
    pi: resolvePi(),
    isolated,
    args: ['--session-dir', piSessionDir, ...BARE_FLAGS, '-e', extension],
    env: policy === undefined ? {} : { [policyVariable]: JSON.stringify(policy) },
  });
}

/** Follows the story until the Shepherd was told and all is quiet; undefined, or what went wrong. */
async function waitForEnd(run: Run): Promise<string | undefined> {
  const { options, scenario, cast, story, parent } = run;
  const limitMs = options.limitMs ?? 60_000;
  await parent.request({ type: 'prompt', message: `I ask you ${scenario.asked}.` });
  options.tell({ atMs: Date.now(), who: 'the Shepherd', what: `is asked ${scenario.asked}` });
  for (;;) {
    options.signal?.throwIfAborted();
    for (const line of story.read()) options.tell(line);
    const { store } = story;
    if (store !== undefined) {
      const fault = cast.look?.(store);
      if (fault !== undefined) return fault;
      const isOver = isTold(store) && isQuiet(store) && (cast.isOver?.(store) ?? true);
      if (isOver && isSettled(parent)) return undefined;
    }
    if (Date.now() - run.startedAtMs > limitMs) {
      return `it did not end within ${limitMs / 1000} s; Pi said: ${parent.errors().trim()}`;
    }
    await pause(lookEveryMs, undefined, { signal: options.signal });
  }
}

/** Every task has settled, and the Shepherd's session has it. */
function isTold(store: Store): boolean {
  const told = store
    .all('notice')
    .flatMap(({ notice, delivered }) =>
      delivered && notice.kind === 'shepherd.task.completion' ? resultsOf(notice.details) : [],
    );
  const tasks = store.all('task');
  return tasks.length > 0 && tasks.every(({ id }) => told.some(({ taskId }) => taskId === id));
}

function isQuiet(store: Store): boolean {
  return store.all('agent').every(({ state }) => state === 'idle' || state === 'closed');
}

/** The parent has been woken by the completion and its turn has ended. */
function isSettled(parent: PiRpc): boolean {
  const last = (fits: (record: PiRpc['records'][number]) => boolean) =>
    parent.records.findLastIndex(fits);
  const completion = last(
    (record) =>
      record.type === 'message_end' && JSON.stringify(record).includes('shepherd.task.completion'),
  );
  return completion >= 0 && last(({ type }) => type === 'agent_settled') > completion;
}

function judge(
  run: Run,
  seen: {
    readonly outcome: Outcome;
    readonly reached: string | undefined;
    readonly children: readonly number[];
    readonly piSessionDir: string;
  },
): Performance {
  const { outcome, reached, children, piSessionDir } = seen;
  const { agents, tasks, ...said } = outcome;
  const told = readTold(piSessionDir);
  const outline = outlineOf({ ...outcome, ...told });
  const left = children.filter(isAlive);
  const faults = [
    ...(reached === undefined ? [] : [reached]),
    ...findFaults({ tasks, ...told }, outline, run.scenario.mustEnd(outline)),
    ...(left.length === 0 ? [] : [`processes were left: ${left.join(', ')}`]),
  ];
  return {
    report: {
      ok: faults.length === 0,
      session: run.story.sessionDir ?? null,
      agents,
      tasks,
      notifications: told.notifications,
      conversation: { ...said, notices: told.notices },
      elapsedMs: Date.now() - run.startedAtMs,
    },
    faults,
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw new HostError('uncertain', `Could not ask after process ${pid}.`, { cause: error });
  }
}
