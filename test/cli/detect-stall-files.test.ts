/** What the probe makes of settings, and of files that say something odd. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { detectStall, stallReportSchema } from '../../src/cli/commands/detect-stall.ts';
import { launchPaths } from '../../src/hosts/launch.ts';
import type { AgentRecord } from '../../src/runtime/records.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import { runCommand } from '../support/cli.ts';
import { openHerd, startMs, type TestHerd } from '../support/herd.ts';

const run = promisify(execFile);

const nowMs = Date.UTC(2024, 4, 6, 12);
const minute = 60_000;
const ago = (minutes: number): number => nowMs - minutes * minute;
const fresh = nowMs - 1_000;
const iso = (atMs: number): string => new Date(atMs).toISOString();

/** A project, and the probe in it; its warnings are on standard error, too. */
function project() {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-probe-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = (name: string): string => join(dir, name);
  const write = (name: string, content: unknown): string => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), typeof content === 'string' ? content : JSON.stringify(content));
    return path(name);
  };
  const probe = async (values: Record<string, unknown> = {}) => {
    const asked = { dir, repo: 'fold/wool', ...values };
    const { lines } = await runCommand(detectStall, { values: asked, now: () => nowMs });
    const report = stallReportSchema.parse(JSON.parse(lines.at(-1) ?? ''));
    expect(lines.slice(0, -1)).toEqual(report.warnings);
    return report;
  };
  /** The probe of a status with this content. */
  const ofStatus = (content: unknown, values: Record<string, unknown> = {}) =>
    probe({ status: write('status.json', content), ...values });
  return { dir, path, write, probe, ofStatus };
}

const devloops = (line: string): string => `workflow:\n  stallDetection:\n    ${line}\n`;

describe('the settings of a project', () => {
  it('beat its .devloops, when a file gives them', async () => {
    const { write, ofStatus } = project();
    write('.devloops', devloops('thresholdMinutes: 1'));
    const status = { lastActivityAt: ago(3) };
    expect(await ofStatus(status)).toMatchObject({ stalled: true, thresholdMinutes: 1 });

    write('.shepherd/config.json', { projectScope: true, stallThresholdMinutes: 4 });

    expect(await ofStatus(status)).toMatchObject({ stalled: false, thresholdMinutes: 4 });
    expect(await ofStatus(status, { 'threshold-min': '2' })).toMatchObject({ stalled: true });
  });

  it('are those of --dir, and its .devloops lies at the top of the worktree', async () => {
    const { path, write, ofStatus } = project();
    write('.git/HEAD', '');
    write('.devloops.yml', devloops('thresholdMinutes: 1'));
    mkdirSync(path('deep/er'), { recursive: true });

    const report = await ofStatus({ lastActivityAt: ago(3) }, { dir: path('deep/er') });

    expect(report.thresholdMinutes).toBe(1);
  });

  it('are reported where they are not accepted, when they are about stalls', async () => {
    const { write, probe } = project();
    write('.shepherd/config.json', {
      projectScope: true,
      stallThresholdMinutes: 0,
      doneNudges: -1,
    });

    expect(await probe()).toMatchObject({
      thresholdMinutes: 5,
      warnings: [expect.stringContaining('"stallThresholdMinutes" does not accept 0')],
    });
  });

  it('are not looked for in a directory that there is not', async () => {
    await expect(project().probe({ dir: '/nowhere' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});

describe('a status', () => {
  it.each(['queued', 'complete', 'failed', 'partial', 'paused', 'stopped', 'rejected'])(
    'that says %s is of a run that has not stalled',
    async (state) => {
      const report = await project().ofStatus({ state, lastActivityAt: ago(10) });

      expect(report).toMatchObject({ reason: 'run_not_active', warnings: [] });
    },
  );

  it('with a state that there is not can be one of a stalled run', async () => {
    const report = await project().ofStatus({ state: 'thinking', lastActivityAt: ago(10) });

    expect(report).toMatchObject({
      status: 'stalled',
      warnings: [expect.stringContaining('has the state "thinking", which says nothing')],
    });
  });

  it.each([
    ['{', 'cannot be read'],
    ['[1]', 'holds no object'],
    ['{"lastActivityAt":"garbage"}', 'says "garbage", which is no instant'],
    ['{"lastActivityAt":"1750000000000"}', 'which is no instant'],
  ])('of %s is no signal, and a warning', async (content, warning) => {
    expect(await project().ofStatus(content)).toMatchObject({
      status: 'no_evidence',
      warnings: [expect.stringContaining(warning)],
    });
  });

  it('in a pipe is no signal, and nobody waits for it', async () => {
    const { path, probe } = project();
    await run('mkfifo', [path('pipe')]);

    expect(await probe({ status: path('pipe') })).toMatchObject({
      status: 'no_evidence',
      warnings: [`${path('pipe')} is no plain file.`],
    });
  });

  it('of the future counts as of now, with a warning', async () => {
    expect(await project().ofStatus({ lastActivityAt: nowMs + 2 * minute })).toMatchObject({
      turnAgeMs: 0,
      warnings: [expect.stringContaining('in the future')],
    });
    expect(await project().ofStatus({ lastActivityAt: nowMs + 1 })).toMatchObject({ warnings: [] });
  });
});

const coordination = (changes: Record<string, unknown> = {}) => ({
  schemaVersion: 2,
  target: { repo: 'Fold/Wool', pr: 42 },
  activeRun: { runId: 'run-1', claimedAt: iso(ago(30)), updatedAt: iso(fresh) },
  ...changes,
});

const beat = async (content: unknown, values: Record<string, unknown> = {}) => {
  const { write, ofStatus } = project();
  write('.pi/runner-coordination/fold/wool/pr-42.json', content);
  return ofStatus({ lastActivityAt: ago(6) }, { pr: '42', ...values });
};

describe('a heartbeat', () => {
  it('of this run is a sanctioned watch; of another one it does not count, with a warning', async () => {
    expect(await beat(coordination(), { 'run-id': 'run-1' })).toMatchObject({
      reason: 'sanctioned_watch',
      warnings: [],
    });
    expect(await beat(coordination(), { 'run-id': 'run-2' })).toMatchObject({
      status: 'stalled',
      warnings: ['The heartbeat is of run run-1, not of run-2: it does not count.'],
    });
  });

  it.each([
    ['no active run', coordination({ activeRun: null }), []],
    ['a run without an id', coordination({ activeRun: { updatedAt: iso(fresh) } }), []],
    ['another schema', coordination({ schemaVersion: 3 }), ['is no runner coordination']],
    ['another target', coordination({ target: { repo: 'fold/wool', pr: 7 } }), ['is about']],
    ['no instant', coordination({ activeRun: { runId: 'a', updatedAt: 'soon' } }), ['no instant']],
    ['no JSON', '{', ['cannot be read']],
  ])('is none where there is %s', async (_what, content, warnings) => {
    const report = await beat(content);

    expect(report).toMatchObject({ status: 'stalled', sources: { watchHeartbeat: null } });
    expect(report.warnings).toEqual(warnings.map((text) => expect.stringContaining(text)));
  });
});

/** Writes what only a real child, or another time, brings about. */
function change(herd: TestHerd, id: string, fields: Partial<AgentRecord>): void {
  const store = openSessionStore(join(herd.shepherd.sessionDir, 'session.db'));
  const record = { ...(store.get('agent', id) as AgentRecord), ...fields };
  store.commit({
    puts: [{ table: 'agent', record }],
    deletes: [],
    snapshots: new Map(),
    journal: { atMs: startMs, input: 'test', actors: [], moves: [] },
  });
  store.close();
}

async function judge(state: AgentRecord['state'], outputAtMs?: number) {
  const herd = await openHerd();
  const { id } = await herd.hatch('one');
  herd.abandon();
  const evidence = { turns: 1, toolCalls: 0, lastActivityAtMs: startMs };
  change(herd, id, { state, evidence });
  if (outputAtMs !== undefined) {
    const { output } = launchPaths(herd.host.launches[0]?.launchDir ?? '');
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, '');
    utimesSync(output, outputAtMs / 1_000, outputAtMs / 1_000);
  }
  const { lines } = await runCommand(detectStall, {
    values: { dir: herd.pasture.dir, run: 'one' },
    now: () => startMs + 10 * minute,
  });
  return stallReportSchema.parse(JSON.parse(lines.at(-1) ?? ''));
}

describe('an agent of ours', () => {
  it.each([
    ['working', 'below_threshold'],
    ['unknown', 'below_threshold'],
    ['blocked', 'awaits_human'],
    ['starting', 'run_not_active'],
    ['closing', 'run_not_active'],
  ] as const)('that is %s is judged as %s', async (state, reason) => {
    expect((await judge(state)).reason).toBe(reason);
  });

  it('that still writes output, as in a long tool call, has not stalled', async () => {
    expect(await judge('working', startMs + 9 * minute)).toMatchObject({
      reason: 'active_turns',
      turnAgeMs: minute,
    });
  });
});
