/**
 * Reports what this child's own Pi does: turns, a provider that gave up, signs of life.
 *
 * R1. A report is an observation. None of them says that a task is done.
 * R2. A provider has given up only when the run has settled: by then Pi's retries are spent.
 * R3. A turn names the task that its child knows itself to have, and none that it has handed in: a
 *     reminder of `shepherd_done` goes by that.
 */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { SHEPHERD_ID } from '../../ids.ts';
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import type { Limits } from '../../mailbox/limits.ts';
import { firstCharacters } from '../../text.ts';
import { cutText, roomBeside } from './cut-text.ts';
import type { Work } from './work.ts';

/** At most one sign of life in this time (CONTRACT §9). */
const heartbeatEveryMs = 5_000;

/** Some gateways answer an error with a whole page. */
const maxErrorCharacters = 4_000;

export interface ReportOptions {
  readonly work: Work;
  /** Undefined while no session is open. */
  readonly mailbox: () => ChildMailbox | undefined;
  readonly limits: Limits;
  readonly now: () => number;
}

/** Registers the hooks that feed `work` and report from it. */
export function registerReports(pi: ExtensionAPI, options: ReportOptions): void {
  const { work, mailbox, limits, now } = options;
  let lastHeartbeatAtMs = -Infinity;
  /** How the last answer of the model ended, in this run. */
  let failure: string | undefined;

  function heartbeat(): void {
    if (now() - lastHeartbeatAtMs < heartbeatEveryMs) return;
    lastHeartbeatAtMs = now();
    mailbox()?.send({ kind: 'heartbeat', targetId: SHEPHERD_ID, evidence: work.evidence });
  }

  function openTask(): { readonly taskId?: string } {
    const { openTaskId } = work;
    return openTaskId === undefined ? {} : { taskId: openTaskId };
  }

  pi.on('agent_start', () => {
    // Pi starts again after a retry or for a follow-up; for everybody else it is one run.
    if (work.running) return;
    work.started();
    failure = undefined;
    mailbox()?.send({
      kind: 'runtime',
      targetId: SHEPHERD_ID,
      event: 'turn_started',
      evidence: work.evidence,
      ...openTask(),
    });
  });
  pi.on('message_end', ({ message }) => {
    if (message.role !== 'assistant') return;
    const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const said = text.join('\n');
    if (said.trim() !== '') work.said(said);
    failure =
      message.stopReason === 'error'
        ? (message.errorMessage ?? 'The provider failed and did not say why.')
        : undefined;
  });
  pi.on('tool_execution_start', () => work.toolStarted());
  pi.on('tool_execution_update', () => {
    work.touch();
    heartbeat();
  });
  pi.on('turn_end', () => {
    work.turnEnded();
    heartbeat();
  });
  pi.on('agent_settled', ({ aborted }) => {
    work.settled();
    const error = failure && firstCharacters(failure, maxErrorCharacters);
    const { taskId, lastText, evidence } = work;
    // Sent along, so that also a task that fails later has the child's last words.
    const content =
      taskId === undefined || lastText === undefined
        ? {}
        : { content: cutText(lastText, roomBeside(limits, error)) };
    const report = { kind: 'runtime', targetId: SHEPHERD_ID, evidence, ...content } as const;
    // First, so that nobody takes the settled turn for one that merely forgot its shepherd_done.
    if (error !== undefined && !aborted) {
      mailbox()?.send({ ...report, event: 'provider_gave_up', error, ...openTask() });
    }
    mailbox()?.send({ ...report, event: 'turn_settled', aborted, ...openTask() });
  });
}
