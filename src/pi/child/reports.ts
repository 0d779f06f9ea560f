/**
 * Reports what this child's own Pi does: turns, a provider that gave up, signs of life.
 *
 * R1. A report is an observation. None of them says that a task is done.
 * R2. A provider has given up only when the run has settled: by then Pi's retries are spent.
 * R3. What shows that this child goes on, also what a tool or another extension of it reports, is told at
 *     most every 5 s; a person or a provider that is waited for is told at once.
 * R4. A turn names the task that its child knows itself to have, and none that it has handed in: a
 *     reminder of `shepherd_done` goes by that.
 */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { SHEPHERD_ID } from '../../ids.ts';
import type { EnvelopeDraft } from '../../mailbox/envelope.ts';
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import type { Limits } from '../../mailbox/limits.ts';
import { firstCharacters } from '../../text.ts';
import { cutText, roomBeside } from './cut-text.ts';
import { createThrashWatch } from './thrash.ts';
import { throttledUntil } from './throttled.ts';
import type { Work } from './work.ts';

/** At most one sign of life in this time (CONTRACT §9). */
const heartbeatEveryMs = 5_000;

/** On Pi's event bus of the child: `pi.events.emit('sheepfold:heartbeat', {})`. */
const heartbeatChannel = 'sheepfold:heartbeat';

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
  const thrash = createThrashWatch();
  let lastHeartbeatAtMs = -Infinity;
  /** How the last answer of the model ended, in this run. */
  let failure: string | undefined;

  function heartbeat(): void {
    if (now() - lastHeartbeatAtMs < heartbeatEveryMs) return;
    lastHeartbeatAtMs = now();
    mailbox()?.send({ kind: 'heartbeat', targetId: SHEPHERD_ID, evidence: work.evidence });
  }

  function tell(
    report: Omit<Extract<EnvelopeDraft, { kind: 'runtime' }>, 'kind' | 'targetId'>,
  ): void {
    mailbox()?.send({ kind: 'runtime', targetId: SHEPHERD_ID, ...report });
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
    tell({ event: 'turn_started', evidence: work.evidence, ...openTask() });
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
  const goesOn = (): void => {
    work.touch();
    heartbeat();
  };
  pi.on('message_update', goesOn);
  pi.on('tool_execution_start', ({ toolCallId, toolName, args }) => {
    thrash.started(toolCallId, { toolName, args });
    work.toolStarted();
    heartbeat();
  });
  pi.on('tool_execution_update', goesOn);
  pi.on('tool_execution_end', ({ toolCallId, result }) => {
    goesOn();
    const circle = thrash.ended(toolCallId, result);
    if (circle === undefined) return;
    tell({ event: 'thrashing', content: circle, evidence: work.evidence, ...openTask() });
  });
  // Whoever waits for something long and knows that it goes on may say so.
  pi.events.on(heartbeatChannel, goesOn);
  pi.on('ui_prompt_start', () => tell({ event: 'blocked', ...openTask() }));
  pi.on('ui_prompt_end', () => tell({ event: 'unblocked', ...openTask() }));
  pi.on('after_provider_response', ({ status, headers }) => {
    const untilMs = throttledUntil({ status, headers }, now());
    if (untilMs !== undefined) tell({ event: 'throttled', untilMs, ...openTask() });
  });
  pi.on('turn_end', () => {
    work.turnEnded();
    heartbeat();
  });
  pi.on('agent_settled', ({ aborted }) => {
    const { isPrompted } = work;
    work.settled();
    const error = failure && firstCharacters(failure, maxErrorCharacters);
    const { taskId, lastText, evidence } = work;
    // Sent along, so that also a task that fails later has the child's last words.
    const content =
      lastText === undefined || (taskId === undefined && !isPrompted)
        ? {}
        : { content: cutText(lastText, roomBeside(limits, error)) };
    const report = { evidence, ...content } as const;
    // First, so that nobody takes the settled turn for one that merely forgot its shepherd_done.
    if (error !== undefined && !aborted) {
      tell({ ...report, event: 'provider_gave_up', error, ...openTask() });
    }
    tell({ ...report, event: 'turn_settled', aborted, ...openTask() });
  });
}
