/**
 * `sheepfold detect-stall`: judges one run by the files that it leaves, or one agent of ours.
 *
 * Prints one line of JSON, for a failure as well. Exit code 0 whenever it could judge, stalled or not; 1
 * for an error; 2 for a filter that it does not take.
 */
import { z } from 'zod';
import { ConfigError } from '../../errors.ts';
import { launchPaths } from '../../hosts/launch.ts';
import type { AgentRecord } from '../../runtime/records.ts';
import { transcriptMovedAt } from '../../runtime/stall-look.ts';
import { buildAgentStallRecoveryBrief } from '../../stall/brief.ts';
import { detectAgentStall, type StallInput } from '../../stall/detector.ts';
import {
  findGit,
  isMarked,
  readHeartbeat,
  readMovedAt,
  readStatusSignal,
  type Warn,
} from '../../stall/probe.ts';
import { findAgent } from '../agents.ts';
import type { Command } from '../command.ts';
import { pathFilter } from '../jq.ts';
import { chooseSession, namedProject, namedStateDir, readSession, textOf } from '../sessions.ts';
import { readStallPolicy } from '../stall-policy.ts';

const isoOrNull = z.string().nullable();

/** What `sheepfold detect-stall` prints. */
export const stallReportSchema = z.strictObject({
  ok: z.literal(true),
  repo: z.string().nullable(),
  pr: z.int().nullable(),
  /** Id of the agent, where `--run` named one. */
  agentId: z.string().optional(),
  checkedAt: z.string(),
  status: z.enum(['stalled', 'not_stalled', 'no_evidence']),
  stalled: z.boolean(),
  reason: z.string(),
  thresholdMs: z.number(),
  thresholdMinutes: z.int(),
  turnAgeMs: z.number().nullable(),
  watchAgeMs: z.number().nullable(),
  pendingRequest: z.boolean(),
  sources: z.strictObject({ turnSignal: isoOrNull, watchHeartbeat: isoOrNull }),
  recoveryBrief: z.string(),
  /** What was found and is of no use, or does not count. */
  warnings: z.array(z.string()),
});
type StallReport = z.infer<typeof stallReportSchema>;

type Values = Readonly<Record<string, unknown>>;

/** What is known of a run, wherever it was read. */
interface Signals extends Pick<StallInput, 'runId' | 'watchRunId' | 'runState' | 'awaitsHuman'> {
  readonly turnAtMs: number | undefined;
  readonly watchAtMs: number | undefined;
  readonly isPending: boolean;
  readonly agentId?: string;
  readonly cwd?: string | undefined;
}

export const detectStall: Command = {
  summary: 'judges whether a run, or an agent of ours, has stalled',
  errorsAsJson: true,
  options: {
    repo: { type: 'string' },
    pr: { type: 'string' },
    status: { type: 'string' },
    session: { type: 'string' },
    'threshold-min': { type: 'string' },
    'pending-request': { type: 'boolean' },
    'pending-marker': { type: 'string' },
    'run-id': { type: 'string' },
    cwd: { type: 'string' },
    'last-action': { type: 'string' },
    run: { type: 'string' },
    dir: { type: 'string' },
    jq: { type: 'string' },
    silent: { type: 'boolean', short: 's' },
    json: { type: 'boolean' },
  },
  details: [
    '',
    '--repo <owner/name> with --status <status.json> or --session <session.jsonl>: a run of another tool;',
    '--pr <n> reads the heartbeat of its pull request, --pending-marker <path> whether it has asked.',
    '--run <agent> with --session <name> and --dir <project>: an agent of ours.',
    '--threshold-min <n>: whole minutes; else the setting, .devloops, 5. --jq <.path> prints one field; with',
    '--silent nothing is printed, and the exit code says whether it is true.',
  ],
  async run({ values, out, err, now }) {
    const filterText = textOf(values, 'jq');
    const filter = pathFilter(filterText ?? '.');
    if (filter === undefined) {
      const error = `--jq takes a path such as .stalled, not ${String(filterText)}`;
      err(JSON.stringify({ ok: false, error }));
      return 2;
    }
    const report = await judge(values, now());
    for (const warning of report.warnings) err(warning);
    const shown = filter(report);
    if (values['silent'] === true) return filterText === undefined || isTrue(shown) ? 0 : 1;
    out(JSON.stringify(shown));
    return 0;
  },
};

/** Clocks of two machines differ a little. */
const clockSkewMs = 60_000;

const isTrue = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== false;

async function judge(values: Values, nowMs: number): Promise<StallReport> {
  const run = textOf(values, 'run');
  const repo = textOf(values, 'repo')?.trim() ?? '';
  if (run === undefined && repo === '') {
    throw new ConfigError('invalid_argument', '--repo <owner/name> is needed, or --run <agent>.');
  }
  const pr = wholeNumber(values, 'pr');
  const minutes = wholeNumber(values, 'threshold-min');
  const project = namedProject(values);
  const git = await findGit(project);
  const root = git?.root ?? project;
  const sharedRoot = git?.sharedRoot ?? project;
  const policy = readStallPolicy(project, root);
  const thresholdMs = minutes === undefined ? policy.thresholdMs : minutes * 60_000;

  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const signals =
    run === undefined
      ? await readSignals(values, { repo, pr, sharedRoot, warn })
      : await readOwnSignals(values, run);
  const { turnAtMs, watchAtMs, isPending, agentId, cwd, ...evidence } = signals;
  const verdict = detectAgentStall({
    ...evidence,
    lastActivityAt: turnAtMs,
    sanctionedWatchAt: watchAtMs,
    pendingRequest: isPending,
    now: nowMs,
    thresholdMs,
  });
  const isCounted = verdict.watchAgeMs !== null;
  if (watchAtMs !== undefined && !isCounted) {
    warn(
      `The heartbeat is of run ${evidence.watchRunId}, not of ${evidence.runId}: it does not count.`,
    );
  }
  if (Math.max(turnAtMs ?? 0, watchAtMs ?? 0) > nowMs + clockSkewMs) {
    warn('A sign of life lies in the future: it counts as of now.');
  }
  const { brief } = buildAgentStallRecoveryBrief({
    runId: evidence.runId,
    cwd: textOf(values, 'cwd') ?? cwd,
    lastAction: textOf(values, 'last-action'),
    reason: verdict.status,
  });
  return {
    ok: true,
    repo: repo === '' ? null : repo,
    pr: pr ?? null,
    ...(agentId === undefined ? {} : { agentId }),
    checkedAt: new Date(nowMs).toISOString(),
    ...(policy.recovery !== 'off'
      ? { status: verdict.status, stalled: verdict.stalled, reason: verdict.reason }
      : { status: 'not_stalled', stalled: false, reason: 'disabled' }),
    thresholdMs,
    thresholdMinutes: Math.floor(thresholdMs / 60_000),
    turnAgeMs: Number.isFinite(verdict.turnAgeMs) ? verdict.turnAgeMs : null,
    watchAgeMs: verdict.watchAgeMs,
    pendingRequest: isPending,
    sources: {
      turnSignal: isoOf(turnAtMs),
      watchHeartbeat: isCounted ? isoOf(watchAtMs) : null,
    },
    recoveryBrief: brief,
    warnings: [...warnings, ...policy.warnings],
  };
}

async function readSignals(
  values: Values,
  {
    repo,
    pr,
    sharedRoot,
    warn,
  }: { repo: string; pr: number | undefined; sharedRoot: string; warn: Warn },
): Promise<Signals> {
  const statusPath = textOf(values, 'status');
  const sessionPath = textOf(values, 'session');
  const marker = textOf(values, 'pending-marker');
  const status = statusPath === undefined ? undefined : await readStatusSignal(statusPath, warn);
  const turnAtMs =
    status?.atMs ?? (sessionPath === undefined ? undefined : await readMovedAt(sessionPath));
  const heartbeat =
    pr === undefined ? undefined : await readHeartbeat(sharedRoot, { repo, pr, warn });
  return {
    turnAtMs,
    watchAtMs: heartbeat?.atMs,
    watchRunId: heartbeat?.runId,
    runId: textOf(values, 'run-id'),
    runState: status?.runState,
    isPending:
      values['pending-request'] === true || (marker !== undefined && (await isMarked(marker))),
  };
}

/** What the store of a session knows, and what its child has written since. */
async function readOwnSignals(values: Values, target: string): Promise<Signals> {
  for (const name of ['status', 'pr', 'repo', 'pending-request', 'pending-marker'] as const) {
    if (values[name] !== undefined) {
      throw new ConfigError('invalid_argument', `--${name} says nothing about an agent of ours.`);
    }
  }
  const place = chooseSession(namedStateDir(values), textOf(values, 'session'));
  return readSession(place, async (store) => {
    const agent = findAgent(store, target);
    const { id, launch, state, cwd, evidence } = agent;
    // Activity alone is never committed: within a long turn only what the child writes tells of it.
    const moved =
      agent.place === undefined
        ? []
        : await Promise.all([
            transcriptMovedAt(agent.place),
            readMovedAt(launchPaths(agent.place.launchDir).output),
          ]);
    const known = [evidence.lastActivityAtMs, ...moved].flatMap((atMs) => atMs ?? []);
    return {
      agentId: id,
      cwd,
      runId: `${id}.${launch}`,
      turnAtMs: known.length === 0 ? undefined : Math.max(...known),
      watchAtMs: undefined,
      runState: runStateOf(state),
      awaitsHuman: state === 'blocked',
      isPending: store
        .all('request')
        .some((request) => request.askerId === id && request.state === 'open'),
    };
  });
}

/** A place that cannot be inspected says nothing of the run in it. */
function runStateOf(state: AgentRecord['state']): string | undefined {
  if (state === 'unknown') return undefined;
  return state === 'blocked' ? 'working' : state;
}

/** @throws ConfigError `invalid_argument` for anything but a whole number above 0. */
function wholeNumber(values: Values, name: string): number | undefined {
  const text = textOf(values, name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(number) && number > 0) return number;
  throw new ConfigError(
    'invalid_argument',
    `--${name} takes a whole number above 0, not "${text}".`,
  );
}

const isoOf = (atMs: number | undefined): string | null =>
  atMs === undefined ? null : new Date(atMs).toISOString();
