/**
 * Plays the canonical flow on real Pi: a Shepherd, a scout and a planner, with a scripted model.
 *
 * Everything but the model's words is real: three Pi processes, their files, their time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostError } from '../../errors.ts';
import { resolvePi } from '../../hosts/pi-command.ts';
import { packageInfo } from '../package-dir.ts';
import { BARE_FLAGS, makeIsolatedPi, type IsolatedPi } from './isolated-pi.ts';
import { startPiRpc, type PiRpc } from './pi-rpc.ts';
import { countNotifications, findFaults, readOutcome, type DemoReport } from './report.ts';
import { createDemoScript, type DemoScript } from './script.ts';
import { startScriptedModel } from './scripted-model.ts';
import { followStory, type Story, type StoryLine } from './story.ts';

export interface CanonicalFlowOptions {
  /** Hears the story as it happens. */
  readonly tell: (line: StoryLine) => void;
  /** Where the demo's home is made. Default: the system's temporary directory. */
  readonly root?: string | undefined;
  /** How long the flow may take, in ms. Default 60,000. */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CanonicalFlow {
  readonly report: DemoReport;
  /** Why `report.ok` is false. */
  readonly faults: readonly string[];
}

const lookEveryMs = 100;

/**
 * Plays the flow to its end and ends every process it started; files stay.
 *
 * @throws HostError `launch_failed` without Pi, `uncertain` when Pi does not answer.
 */
export async function playCanonicalFlow(options: CanonicalFlowOptions): Promise<CanonicalFlow> {
  const startedAtMs = Date.now();
  const script = createDemoScript();
  const model = await startScriptedModel(script.options);
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
    const parent = await startShepherd(isolated, piSessionDir);
    const flow = { options, script, story, parent, startedAtMs };
    try {
      const reached = await waitForEnd(flow);
      const now = story.store === undefined ? { agents: [], tasks: [] } : readOutcome(story.store);
      const children = story.store?.all('agent').flatMap(({ pid }) => pid ?? []) ?? [];
      await parent.close(20_000);
      for (const line of story.read()) options.tell(line);
      return judge(flow, { ...now, reached, children, piSessionDir });
    } finally {
      await parent.close(5_000);
      story.close();
    }
  } finally {
    script.releasePlanner();
    await model.close();
  }
}

interface Flow {
  readonly options: CanonicalFlowOptions;
  readonly script: DemoScript;
  readonly story: Story;
  readonly parent: PiRpc;
  readonly startedAtMs: number;
}

async function makeSampleProject(dir: string): Promise<void> {
  await writeFile(join(dir, 'README.md'), '# A small project\n\nmailbox, runtime, surfaces.\n');
  await writeFile(join(dir, 'mailbox.ts'), 'export const mailbox = [];\n');
}

async function startShepherd(isolated: IsolatedPi, piSessionDir: string): Promise<PiRpc> {
  return startPiRpc({
    pi: resolvePi(),
    isolated,
    args: ['--session-dir', piSessionDir, ...BARE_FLAGS, '-e', packageInfo().dir],
  });
}

/** Follows the story until the Shepherd was told and has settled; undefined, or what went wrong. */
async function waitForEnd(flow: Flow): Promise<string | undefined> {
  const { options, story, parent, script } = flow;
  const limitMs = options.limitMs ?? 60_000;
  await parent.request({
    type: 'prompt',
    message: 'Have this project surveyed, with a plan, and tell me how it went.',
  });
  options.tell({ atMs: Date.now(), who: 'the Shepherd', what: 'is asked for a survey' });
  for (;;) {
    options.signal?.throwIfAborted();
    for (const line of story.read()) options.tell(line);
    const { store } = story;
    const [task] = store?.all('task') ?? [];
    const scout = store?.all('agent').find(({ id }) => id === task?.agentId);
    const told = store?.all('notice').some(({ notice }) => isCompletion(notice.kind)) ?? false;
    if (task?.state === 'waiting' && scout?.state === 'idle') {
      if (told) return 'a completion was reported while the task was waiting';
      // Scout's process is idle, its task waits, nobody was told: now planner may end its turn.
      script.releasePlanner();
    }
    if (task?.result !== undefined && told && isSettled(parent)) return undefined;
    if (Date.now() - flow.startedAtMs > limitMs) {
      return `the flow did not end within ${limitMs / 1000} s; Pi said: ${parent.errors().trim()}`;
    }
    await pause(lookEveryMs, undefined, { signal: options.signal });
  }
}

const isCompletion = (kind: string): boolean => kind === 'shepherd.task.completion';

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
  flow: Flow,
  seen: Pick<DemoReport, 'agents' | 'tasks'> & {
    readonly reached: string | undefined;
    readonly children: readonly number[];
    readonly piSessionDir: string;
  },
): CanonicalFlow {
  const { agents, tasks, reached, children, piSessionDir } = seen;
  const report = {
    session: flow.story.sessionDir ?? null,
    agents,
    tasks,
    notifications: countNotifications(piSessionDir),
    elapsedMs: Date.now() - flow.startedAtMs,
  };
  const left = children.filter(isAlive);
  const faults = [
    ...(reached === undefined ? [] : [reached]),
    ...findFaults(report),
    ...(left.length === 0 ? [] : [`processes were left: ${left.join(', ')}`]),
  ];
  return { report: { ok: faults.length === 0, ...report }, faults };
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
