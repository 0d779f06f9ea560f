import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { detectStall, stallReportSchema } from '../../src/cli/commands/detect-stall.ts';
import { stalls, stallsReportSchema } from '../../src/cli/commands/stalls.ts';
import { pathFilter } from '../../src/cli/jq.ts';
import { appendStallLine, readStallLines, type StallLine } from '../../src/stall/log.ts';
import { runCommand } from '../support/cli.ts';
import { openHerd, openWait } from '../support/herd.ts';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const minute = 60_000;
const repo = ['--repo', 'Owner/Name'] as const;

/** Epoch ms of that long ago. */
const ago = (ms: number): number => Date.now() - ms;

/** A project, in which the probe is run as a process of its own. */
function project() {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-probe-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const write = (name: string, content: unknown): string => {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  const probe = (args: readonly string[], cwd = dir) =>
    new Promise<{ code: number; json: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(
        process.execPath,
        [main, 'detect-stall', ...args],
        { cwd },
        (error, stdout, stderr) => {
          const code = typeof error?.code === 'number' ? error.code : 0;
          let json: unknown;
          try {
            json = JSON.parse(stdout);
          } catch {
            json = undefined;
          }
          resolve({ code, json, stdout, stderr });
        },
      );
    });
  /** The probe with a status of this age. */
  const ofAge = (ms: number, ...more: readonly string[]) =>
    probe([...repo, '--status', write('status.json', { lastActivityAt: ago(ms) }), ...more]);
  const heartbeat = (runId: string, ageMs: number, root = '.') =>
    write(`${root}/.pi/runner-coordination/owner/name/pr-42.json`, {
      schemaVersion: 2,
      target: { repo: 'owner/name', pr: 42 },
      activeRun: { runId, claimedAt: '', updatedAt: new Date(ago(ageMs)).toISOString() },
    });
  return { dir, write, probe, ofAge, heartbeat };
}

describe('sheepfold detect-stall, case by case of the reference', () => {
  it('C1–C3 judges a status by its age, and what was asked exempts it', async () => {
    const { ofAge } = project();
    const stalled = await ofAge(6 * minute, '--run-id', 'r1');
    expect(stalled.code).toBe(0);
    expect(stalled.stdout.trimEnd()).not.toContain('\n');
    expect(stallReportSchema.parse(stalled.json)).toMatchObject({
      status: 'stalled',
      repo: 'Owner/Name',
      pr: null,
      recoveryBrief: expect.stringContaining('r1') as string,
      sources: { watchHeartbeat: null },
    });
    expect((await ofAge(1_000)).json).toMatchObject({ stalled: false, reason: 'active_turns' });
    expect((await ofAge(10 * minute, '--pending-request')).json).toMatchObject({
      status: 'not_stalled',
      reason: 'pending_request',
      pendingRequest: true,
    });
  });

  it('C4–C5 takes a marker for a question, and nothing for no evidence', async () => {
    const { probe, write } = project();
    const missing = ['--status', 'no.json', '--session', 'no.jsonl'];
    const marked = await probe([...repo, ...missing, '--pending-marker', write('asked', '')]);
    expect(marked.json).toMatchObject({ reason: 'pending_request' });
    expect((await probe([...repo, ...missing])).json).toMatchObject({ status: 'no_evidence' });
  });

  it('C6 finds the heartbeat of a pull request, from a worktree too', async () => {
    const { dir, ofAge, probe, heartbeat, write } = project();
    mkdirSync(join(dir, '.git'));
    heartbeat('r1', 1_000);
    expect((await ofAge(6 * minute, '--pr', '42')).json).toMatchObject({
      reason: 'sanctioned_watch',
      pr: 42,
    });
    write('.git/worktrees/w/commondir', '../..\n');
    write('w/.git', `gitdir: ${join(dir, '.git', 'worktrees', 'w')}\n`);
    const status = write('s.json', { lastActivityAt: ago(6 * minute) });
    const inTree = await probe([...repo, '--status', status, '--pr', '42'], join(dir, 'w'));
    expect(inTree.json).toMatchObject({ reason: 'sanctioned_watch' });
  });

  it('C7–C9, C13 goes by the flag, then .devloops, then 5 minutes; switched off it judges nothing', async () => {
    const { ofAge, write } = project();
    expect((await ofAge(3 * minute, '--threshold-min', '1')).json).toMatchObject({
      stalled: true,
      thresholdMinutes: 1,
    });
    write('.devloops', 'workflow:\n  stallDetection:\n    thresholdMinutes: 1\n');
    expect((await ofAge(3 * minute)).json).toMatchObject({ stalled: true, thresholdMinutes: 1 });
    expect((await ofAge(6 * minute, '--threshold-min', '10')).json).toMatchObject({
      stalled: false,
      thresholdMinutes: 10,
    });
    write('.devloops', 'workflow: { stallDetection: { enabled: false } }');
    expect((await ofAge(30 * minute)).json).toMatchObject({
      status: 'not_stalled',
      stalled: false,
      reason: 'disabled',
    });
  });

  it.each([
    ['C10 no repository', []],
    ['C12 an impossible pull request', [...repo, '--pr', '0']],
    ['C14 a threshold that is none', [...repo, '--threshold-min', '2.5']],
    ['a word too many', [...repo, 'x']],
    ['an unknown flag', [...repo, '--nosuch']],
    ['a flag with a value', [...repo, '--pending-request=false']],
    ['a flag of the other kind', ['--run', 'scout', ...repo]],
  ])('%s is an error, on standard output', async (_what, args) => {
    const { probe } = project();
    const { code, json, stderr } = await probe(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sheepfold: invalid_argument: /);
    expect(json).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^invalid_argument: /) as string,
      usage: 'Usage: sheepfold detect-stall [options]',
    });
  });

  it('C11 takes the session’s file for the status that is not there', async () => {
    const { probe, write } = project();
    const session = write('session.jsonl', 'x');
    const args = [...repo, '--session', session];
    expect((await probe(args)).json).toMatchObject({ reason: 'active_turns' });
    utimesSync(session, new Date(), new Date(ago(6 * minute)));
    expect((await probe(args)).json).toMatchObject({ stalled: true });
    const status = write('status.json', { lastActivityAt: 'garbage', lastUpdate: ago(1_000) });
    expect((await probe([...args, '--status', status])).json).toMatchObject({ stalled: true });
  });

  it('C16 tries no second instant of a status', async () => {
    const { probe, write } = project();
    const status = write('status.json', { lastActivityAt: 'garbage', lastUpdate: ago(1_000) });
    expect((await probe([...repo, '--status', status])).json).toMatchObject({
      status: 'no_evidence',
    });
  });

  it('C17 never calls a run stalled that has ended, and C18 one that another run beats for', async () => {
    const { probe, ofAge, write, heartbeat } = project();
    const ended = write('ended.json', { lastActivityAt: ago(10 * minute), state: 'complete' });
    expect((await probe([...repo, '--status', ended])).json).toMatchObject({
      stalled: false,
      reason: 'run_not_active',
    });
    heartbeat('zombie', 1_000);
    const args = ['--pr', '42', '--run-id', 'r1'];
    expect((await ofAge(6 * minute, ...args)).json).toMatchObject({
      stalled: true,
      sources: { watchHeartbeat: null },
    });
  });
});

describe('odd files', () => {
  it.each([
    ['C15 null', 'null', 'is null'],
    ['an instant beyond the calendar', '{"lastActivityAt":1e20}', 'no instant'],
  ])('%s is an error that names the file', async (_what, content, message) => {
    const { probe, write } = project();
    const { code, json } = await probe([...repo, '--status', write('status.json', content)]);
    expect(code).toBe(1);
    expect(json).toMatchObject({
      ok: false,
      error: expect.stringMatching(new RegExp(`status\\.json .*${message}`)) as string,
    });
  });

  it.each(['', '{', '[1]', '5', '"x"', '{"lastActivityAt":{}}', '{"lastActivityAt":""}'])(
    '%j is no signal',
    async (content) => {
      const { probe, write } = project();
      const { code, json } = await probe([...repo, '--status', write('status.json', content)]);
      expect(code).toBe(0);
      expect(json).toMatchObject({ status: 'no_evidence' });
    },
  );

  it('a future time is fresh, a BOM is read over, a directory and 100 MB are no signal', async () => {
    const { dir, probe, write, ofAge } = project();
    expect((await ofAge(-60 * minute)).json).toMatchObject({ turnAgeMs: 0, stalled: false });
    const bom = write('bom.json', `\uFEFF{"lastActivityAt":${ago(0)}}`);
    expect((await probe([...repo, '--status', bom])).json).toMatchObject({
      reason: 'active_turns',
    });
    expect((await probe([...repo, '--status', dir])).json).toMatchObject({ status: 'no_evidence' });
    const huge = write('huge.json', '');
    truncateSync(huge, 100_000_000);
    expect((await probe([...repo, '--status', huge])).json).toMatchObject({
      status: 'no_evidence',
    });
  });

  it('a broken .devloops is named with line and key, and its default is used', async () => {
    const { ofAge, write } = project();
    write('.devloops', 'workflow:\n  stallDetection:\n    thresholdMinutes: 0\n');
    const { json, stderr } = await ofAge(6 * minute);
    expect(json).toMatchObject({ stalled: true, thresholdMinutes: 5 });
    expect((json as { warnings: string[] }).warnings).toEqual([
      expect.stringMatching(/\.devloops:3: "workflow\.stallDetection\.thresholdMinutes"/),
    ]);
    expect(stderr).toContain('thresholdMinutes');
  });
});

describe('one field of the verdict', () => {
  it('is printed, or is the exit code', async () => {
    const { ofAge } = project();
    expect((await ofAge(6 * minute, '--jq', '.sources.watchHeartbeat')).stdout).toBe('null\n');
    const quiet = await ofAge(6 * minute, '--jq', '.stalled', '--silent');
    expect(quiet).toMatchObject({ code: 0, stdout: '' });
    expect((await ofAge(1_000, '--jq', '.stalled', '-s')).code).toBe(1);
  });

  it('is refused where it would need all of jq', async () => {
    const { ofAge } = project();
    const { code, stdout, stderr } = await ofAge(0, '--jq', '.a | .b');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({ ok: false });
    expect(pathFilter('.a[0]')).toBeUndefined();
    expect(pathFilter('.a.b')?.({ a: 5 })).toBeNull();
  });
});

const judge = async (herd: Awaited<ReturnType<typeof openHerd>>, run: string) => {
  const ran = await runCommand(detectStall, {
    values: { dir: herd.pasture.dir, run },
    now: () => herd.pasture.nowMs + 10 * minute,
  });
  return stallReportSchema.parse(ran.json());
};

describe('an agent of ours', () => {
  it('is judged by what its session knows; one that has asked has not stalled', async () => {
    const { herd, one, two } = await openWait();
    for (const child of [one, two]) {
      const evidence = { turns: 0, toolCalls: 1, lastActivityAtMs: herd.pasture.nowMs };
      child.send({ kind: 'runtime', targetId: 'shepherd', event: 'turn_started', evidence });
      await expect.poll(() => herd.shepherd.status(child.id).state).toBe('working');
    }
    expect(await judge(herd, 'scout: one')).toMatchObject({
      agentId: one.id,
      reason: 'pending_request',
    });
    expect(await judge(herd, 'two')).toMatchObject({ status: 'stalled', turnAgeMs: 10 * minute });
  });

  it('has not stalled while it is at rest', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const evidence = { turns: 1, toolCalls: 1, lastActivityAtMs: herd.pasture.nowMs };
    child.send({ kind: 'runtime', targetId: 'shepherd', event: 'turn_settled', evidence });
    await expect.poll(() => herd.store.get('agent', child.id)?.evidence.turns).toBe(1);
    expect(await judge(herd, 'one')).toMatchObject({ reason: 'run_not_active' });
  });
});

const line = (id: string): StallLine => ({
  v: 1,
  id,
  atMs: 1,
  agentId: 'shepherd-agent-a',
  agent: 'scout: one',
  taskId: null,
  launch: 1,
  event: 'stalled',
  silentMs: 5,
});

describe('stalls.jsonl', () => {
  it('has each line once, also behind a torn one, and counts what is of no use', async () => {
    const { dir } = project();
    const file = join(dir, 'stalls.jsonl');
    expect(await readStallLines(file)).toEqual({ lines: [], unreadable: 0 });
    await appendStallLine(file, line('a'));
    await appendStallLine(file, line('a'));
    writeFileSync(file, '{"v":1,"id":"to', { flag: 'a' });
    await appendStallLine(file, line('b'));
    const { lines, unreadable } = await readStallLines(file);
    expect(lines.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(unreadable).toBe(1);
  });

  it('is printed by sheepfold stalls', async () => {
    const herd = await openHerd();
    const values = { dir: herd.pasture.dir };
    await herd.hatch('one');
    expect((await runCommand(stalls, { values })).lines).toEqual([
      expect.stringMatching(/^No stall in 0001-/),
    ]);
    await appendStallLine(join(herd.shepherd.sessionDir, 'stalls.jsonl'), line('a'));
    const report = await runCommand(stalls, { values: { ...values, json: true } });
    expect(stallsReportSchema.parse(report.json()).lines).toEqual([line('a')]);
    expect((await runCommand(stalls, { values })).lines.join('\n')).toContain('scout: one');
  });
});
