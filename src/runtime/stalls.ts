/**
 * What is done and told when a child has stalled: one function for each thing that its chart decides.
 *
 * The order of things is the chart's (`machines/agent.ts`, region `recovery`).
 */
import type { Envelope } from '../mailbox/envelope.ts';
import type { StallLine } from '../stall/log.ts';
import type { Fact } from './charts.ts';
import { handOver } from './fresh-launch.ts';
import type { Frame } from './herd.ts';
import { sendStall } from './notices.ts';
import type { EffectOutcome } from './effect-outcome.ts';
import type { AgentRecord } from './records.ts';
import { excerpt, nameOf } from './router.ts';
import { describeError } from '../errors.ts';

/** Writes a line into `stalls.jsonl`. */
export function logStall(
  frame: Frame,
  agent: AgentRecord,
  event: StallLine['event'],
  more: { readonly detail?: string; readonly launch?: number } = {},
): void {
  const { draft, nowMs, herd } = frame;
  const { detail, launch = agent.launch } = more;
  const task = draft.get('task', agent.taskId ?? '');
  frame.effect({
    type: 'log',
    line: {
      v: 1,
      id: herd.ids.effectId(nowMs),
      atMs: nowMs,
      agentId: agent.id,
      agent: nameOf(draft, agent.id),
      taskId: task === undefined || task.result !== undefined ? null : task.id,
      launch,
      event,
      silentMs: agent.stalledSinceMs === undefined ? null : nowMs - agent.stalledSinceMs,
      ...(detail === undefined ? {} : { detail: excerpt(detail, 500) }),
    },
  });
}

export function recordStalled(
  frame: Frame,
  { agentId, progressAtMs }: Extract<Fact, { type: 'agent.stalled' }>,
): void {
  const known = frame.draft.get('agent', agentId);
  if (known === undefined) return;
  const agent = { ...known, stalledSinceMs: progressAtMs };
  frame.draft.put('agent', agent);
  logStall(frame, agent, 'stalled');
}

export function recordCleared(frame: Frame, agentId: string): void {
  const agent = frame.draft.get('agent', agentId);
  if (agent?.stalledSinceMs === undefined) return;
  logStall(frame, agent, 'cleared');
  const { stalledSinceMs, look, ...rest } = agent;
  frame.draft.put('agent', rest);
}

export function recordRecovered(frame: Frame, agentId: string): void {
  const agent = frame.draft.get('agent', agentId);
  if (agent === undefined) return;
  logStall(frame, agent, 'recovered');
  sendStall(frame, agent, { code: 'recovered' });
}

const whyNotReplaced = {
  not_automatic: 'The setting stallRecovery does not replace it by itself.',
  no_evidence: 'Whether its process runs could not be seen, so that it was not replaced.',
  no_task: 'It has no task that a fresh child could be given.',
  cap_reached: 'A fresh child has taken over before, and stalled as well.',
  bail_failed: 'Its process could not be proven ended, so that it was not replaced.',
} as const;

export function surfaceStall(
  frame: Frame,
  { agentId, reason }: Extract<Fact, { type: 'agent.surfaced' }>,
): void {
  const agent = frame.draft.get('agent', agentId);
  if (agent === undefined) return;
  const why = whyNotReplaced[reason];
  logStall(frame, agent, 'surfaced', { detail: why });
  sendStall(frame, agent, { code: reason, why });
}

/** What the look has shown goes to the chart, and is kept for the brief. */
export function confirmLook(frame: Frame, agentId: string, outcome: EffectOutcome): void {
  const { draft, herd, nowMs } = frame;
  const actor = herd.agent(agentId);
  const agent = draft.get('agent', agentId);
  if (actor === undefined || agent === undefined) return;
  const look = outcome.ok ? outcome.look : undefined;
  if (look !== undefined) draft.put('agent', { ...agent, look });
  frame.send(actor, {
    type: 'stall.verified',
    atMs: nowMs,
    presence: look?.presence ?? 'unknown',
    movedAtMs: look?.movedAtMs ?? null,
  });
}

/**
 * The stalled child is gone, and the next one takes over; or it may not be gone, and none does.
 *
 * @param unread what the old incarnation had not taken in.
 */
export function confirmBail(
  frame: Frame,
  agentId: string,
  outcome: EffectOutcome,
  unread: readonly Envelope[],
): void {
  const { draft, herd, nowMs } = frame;
  const actor = herd.agent(agentId);
  const agent = draft.get('agent', agentId);
  if (actor === undefined || agent === undefined) return;
  if (!actor.getSnapshot().matches({ recovery: 'bailing' })) return;
  if (!outcome.ok || outcome.closed === undefined || outcome.closed === 'unconfirmed') {
    const detail = outcome.ok ? 'a process may be left' : describeError(outcome.error);
    logStall(frame, agent, 'bailed', { detail: `unconfirmed: ${detail}` });
    frame.send(actor, { type: 'bail.failed' });
    return;
  }
  logStall(frame, agent, 'bailed');
  const spawnDeadlineAtMs = nowMs + herd.policy.spawnTimeoutMs;
  frame.send(actor, { type: 'child.bailed', atMs: nowMs, spawnDeadlineAtMs });
  const fresh = draft.get('agent', agentId);
  if (fresh === undefined || fresh.launch === agent.launch) return;
  logStall(frame, fresh, 'dispatched');
  handOver(frame, agentId, unread);
}
