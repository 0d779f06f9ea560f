/**
 * What the session learns from outside: how an effect went, and that a process has ended.
 *
 * Each is an input of its own step, so that an effect that was repeated changes nothing twice.
 */
import { describeError, ShepherdError } from '../errors.ts';
import type { ProcessExit } from '../hosts/host.ts';
import type { Envelope } from '../mailbox/envelope.ts';
import type { Incarnation } from '../mailbox/layout.ts';
import { settleCall, tellChild } from './child-notices.ts';
import { confirmNote } from './fieldnotes.ts';
import type { EffectOutcome } from './effect-outcome.ts';
import type { Frame } from './herd.ts';
import { sendPassiveNotice } from './notices.ts';
import { failPrompt } from './prompts.ts';
import type { Effect } from './records.ts';
import { advanceReceipt, failMessage, messageOf } from './receipts.ts';
import { nameOf } from './router.ts';
import { confirmBail, confirmLook } from './stalls.ts';

/**
 * Takes an effect off the list and tells whoever waited for it.
 *
 * @param unread what lies in the inbox of an incarnation that is over.
 */
export function confirmEffect(
  frame: Frame,
  effect: Effect,
  outcome: EffectOutcome,
  unread: readonly Envelope[] = [],
): void {
  const { draft } = frame;
  if (draft.get('effect', effect.id) === undefined) return;
  draft.remove('effect', effect.id);
  switch (effect.type) {
    case 'launch':
      confirmLaunch(frame, effect.agentId, outcome);
      return;
    case 'end':
      confirmEnd(frame, effect.agentId, outcome);
      return;
    case 'publish':
      confirmPublish(frame, effect, outcome);
      return;
    case 'notify':
      confirmNotice(frame, effect.noticeId, outcome);
      return;
    case 'retire':
      buryUnread(frame, effect.agentId, unread);
      return;
    case 'look':
      confirmLook(frame, effect.agentId, outcome);
      return;
    case 'bail':
      confirmBail(frame, effect.agentId, outcome, unread);
      return;
    case 'interrupt':
    case 'remove':
    case 'detach':
    case 'empty':
    case 'log':
      return;
    case 'note':
      confirmNote(frame, effect.taskId, outcome);
      return;
  }
}

/** A notice that Pi would not take is a dead letter; the Shepherd, and who wrote it, are told once. */
function confirmNotice(frame: Frame, noticeId: string, outcome: EffectOutcome): void {
  const { draft } = frame;
  const record = draft.get('notice', noticeId);
  if (record === undefined) return;
  draft.put('notice', {
    ...record,
    delivered: outcome.ok,
    ...(outcome.ok ? {} : { isDead: true }),
  });
  const messageId = messageOf(record.notice);
  if (outcome.ok) {
    if (messageId !== undefined) advanceReceipt(frame, messageId, 'delivered');
    return;
  }
  if (messageId !== undefined) {
    failMessage(frame, messageId, describeError(outcome.error), undefined);
    return;
  }
  if (record.notice.kind === 'shepherd.notice') return;
  sendPassiveNotice(
    frame,
    `${record.notice.kind} ${noticeId} could not be shown: ${describeError(outcome.error)}`,
    { noticeId, kind: record.notice.kind },
  );
}

function confirmLaunch(frame: Frame, agentId: string, outcome: EffectOutcome): void {
  const { herd, draft, nowMs } = frame;
  if (outcome.ok) {
    if (outcome.place !== undefined) draft.change('agent', agentId, { place: outcome.place });
    return;
  }
  const message = reasonOf(outcome.error);
  const code =
    ShepherdError.is(outcome.error) && outcome.error.code === 'host_unavailable'
      ? 'host_unavailable'
      : 'launch_failed';
  draft.change('agent', agentId, { error: { code, message } });
  const actor = herd.agent(agentId);
  if (actor !== undefined) frame.send(actor, { type: 'launch.failed', atMs: nowMs });
}

function confirmEnd(frame: Frame, agentId: string, outcome: EffectOutcome): void {
  const { herd, draft, nowMs } = frame;
  const actor = herd.agent(agentId);
  if (outcome.ok && outcome.closed !== 'unconfirmed') {
    if (actor !== undefined) frame.send(actor, { type: 'process.exited', atMs: nowMs });
    return;
  }
  const reason = outcome.ok ? 'a process may be left' : describeError(outcome.error);
  const error = {
    code: 'close_unconfirmed',
    message: `${nameOf(draft, agentId)}: ${reason}`,
  } as const;
  draft.change('agent', agentId, { error });
  sendPassiveNotice(frame, `${error.code}: ${error.message}`, { agentId });
}

function confirmPublish(
  frame: Frame,
  effect: Extract<Effect, { type: 'publish' }>,
  outcome: EffectOutcome,
): void {
  const { draft: body, agentId, messageId } = effect;
  const atMs = frame.nowMs;
  const task = body.kind === 'task' ? frame.herd.task(agentId, body.taskId) : undefined;
  // Its time to let go runs in any case: one that could not be told is ended.
  const closing = body.kind === 'task_closed' ? frame.herd.agent(agentId) : undefined;
  if (closing !== undefined) frame.send(closing, { type: 'release.told', atMs });
  if (outcome.ok) {
    if (task !== undefined) frame.send(task, { type: 'task.started', atMs });
    return;
  }
  failPrompt(frame, effect, describeError(outcome.error));
  settleCall(frame, agentId, messageId);
  if (frame.draft.get('message', messageId) === undefined && frame.herd.agent(agentId)) {
    sendPassiveNotice(
      frame,
      `${nameOf(frame.draft, agentId)} could not be told of a ${body.kind}: ${describeError(outcome.error)}`,
      { agentId, messageId, kind: body.kind },
    );
  }
  failMessage(frame, messageId, describeError(outcome.error), { type: 'publish.failed', atMs });
}

/** A child's process has ended; what that means depends on what the agent was doing. */
export function handleExit(
  frame: Frame,
  { agentId, launch }: Incarnation,
  exit: ProcessExit,
): void {
  const { herd, draft, nowMs } = frame;
  const actor = herd.agent(agentId);
  // Of one that was replaced it says nothing about the one that is there.
  if (actor === undefined || draft.get('agent', agentId)?.launch !== launch) return;
  // While closing, the end of the whole process group decides, which the host verifies.
  if (actor.getSnapshot().matches({ process: 'closing' })) return;
  // While it is being ended for a fresh one, too: that end is wanted.
  if (actor.getSnapshot().matches({ recovery: 'bailing' })) return;
  const code = actor.getSnapshot().hasTag('ready') ? 'agent_lost' : 'launch_failed';
  draft.change('agent', agentId, { error: { code, message: describeExit(exit) } });
  frame.send(actor, { type: 'process.exited', atMs: nowMs });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function describeExit(exit: ProcessExit): string {
  const how =
    exit.signal !== null
      ? `the process was ended by ${exit.signal}`
      : exit.code === null
        ? 'the process vanished'
        : `the process exited with code ${exit.code}`;
  const output = exit.output.trim();
  return output === '' ? `${how} and printed nothing.` : `${how}:\n${output}`;
}

/** A child asked a person something, nobody answered, and its runner has cancelled the question. */
export function noteDialog(frame: Frame, agentId: string, title: string): void {
  const name = nameOf(frame.draft, agentId);
  sendPassiveNotice(
    frame,
    `${name} asked a person “${title}”; nobody answered, it was cancelled.`,
    {
      agentId,
      title,
    },
  );
}

/** Mail that an ended agent never read is dead; its senders and the Shepherd are told, once. */
function buryUnread(frame: Frame, agentId: string, unread: readonly Envelope[]): void {
  const { draft } = frame;
  const lost = unread.filter(
    ({ kind, messageId }) =>
      (kind === 'message' || kind === 'reply') &&
      draft.get('message', messageId)?.receipt === 'queued',
  );
  const name = nameOf(draft, agentId);
  const error = `agent_closed: ${name} ended before it read it.`;
  for (const { messageId, kind, senderId } of lost) {
    draft.change('message', messageId, { receipt: 'dead', error });
    frame.move({ messageId, kind, from: senderId, to: agentId, isDead: true });
  }
  // Who asked has been told that no answer will come.
  const untold = lost.filter(({ messageId }) => draft.get('request', messageId) === undefined);
  if (untold.length === 0) return;
  for (const { messageId, senderId } of untold) {
    tellChild(frame, senderId, {
      code: 'undelivered',
      content: `Message ${messageId} was not read: ${name} has ended.`,
    });
  }
  const ids = untold.map(({ messageId }) => messageId);
  sendPassiveNotice(frame, `${name} has ended without reading ${ids.join(', ')}.`, {
    agentId,
    messageIds: ids,
  });
}
