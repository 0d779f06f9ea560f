/**
 * What the session learns from outside: how an effect went, and that a process has ended.
 *
 * Each is an input of its own step, so that an effect that was repeated changes nothing twice.
 */
import { describeError, ShepherdError } from '../errors.ts';
import type { CloseOutcome, PlaceRef, ProcessExit } from '../hosts/host.ts';
import { SHEPHERD_ID } from '../ids.ts';
import type { Envelope } from '../mailbox/envelope.ts';
import type { Frame } from './herd.ts';
import { sendPassiveNotice } from './notices.ts';
import type { Effect } from './records.ts';
import { nameOf } from './router.ts';

/** How an effect went; `error` ends it as well as success does. */
export type EffectOutcome =
  | { readonly ok: true; readonly place?: PlaceRef; readonly closed?: CloseOutcome }
  | { readonly ok: false; readonly error: unknown };

/** Takes an effect off the list and tells whoever waited for it. */
export function confirmEffect(frame: Frame, effect: Effect, outcome: EffectOutcome): void {
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
    case 'interrupt':
    case 'retire':
    case 'remove':
      return;
  }
}

/** A notice that Pi would not take is a dead letter; the Shepherd is told of it once. */
function confirmNotice(frame: Frame, noticeId: string, outcome: EffectOutcome): void {
  const { draft } = frame;
  const record = draft.get('notice', noticeId);
  if (record === undefined) return;
  draft.put('notice', { ...record, delivered: outcome.ok });
  if (outcome.ok || record.notice.kind === 'shepherd.notice') return;
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
  const message = messageOf(outcome.error);
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
  const { herd, draft, nowMs } = frame;
  const body = effect.draft;
  if (body.kind === 'task') {
    const task = herd.task(effect.agentId, body.taskId);
    if (outcome.ok) {
      if (task !== undefined) frame.send(task, { type: 'task.started', atMs: nowMs });
      return;
    }
    draft.change('task', body.taskId, { error: describeError(outcome.error) });
    if (task !== undefined) frame.send(task, { type: 'publish.failed', atMs: nowMs });
  }
  if (outcome.ok) return;
  const error = describeError(outcome.error);
  draft.change('message', effect.messageId, { receipt: 'dead', error });
  if (body.kind !== 'message' && body.kind !== 'reply') return;
  const request = herd.request(effect.messageId);
  if (request !== undefined) frame.send(request, { type: 'request.cancel', atMs: nowMs });
  tellUndelivered(frame, effect, error);
}

/** Both ends hear of an envelope that could not be delivered: here the sender and the Shepherd. */
function tellUndelivered(
  frame: Frame,
  effect: Extract<Effect, { type: 'publish' }>,
  error: string,
): void {
  const { herd, draft } = frame;
  const text = `Message ${effect.messageId} could not be delivered to ${nameOf(draft, effect.agentId)}: ${error}`;
  sendPassiveNotice(frame, text, { messageId: effect.messageId, agentId: effect.agentId });
  if (effect.senderId === SHEPHERD_ID || herd.agent(effect.senderId) === undefined) return;
  sendUndelivered(frame, effect.senderId, text);
}

function sendUndelivered(frame: Frame, senderId: string, content: string): void {
  frame.effect({
    type: 'publish',
    agentId: senderId,
    messageId: frame.herd.ids.messageId(frame.nowMs),
    senderId: SHEPHERD_ID,
    createdAtMs: frame.nowMs,
    hops: 0,
    draft: { kind: 'notice', targetId: senderId, content, code: 'undelivered' },
  });
}

/** A child's process has ended; what that means depends on what the agent was doing. */
export function handleExit(frame: Frame, agentId: string, exit: ProcessExit): void {
  const { herd, draft, nowMs } = frame;
  const actor = herd.agent(agentId);
  if (actor === undefined) return;
  // While closing, the end of the whole process group decides, which the host verifies.
  if (actor.getSnapshot().matches({ process: 'closing' })) return;
  const code = actor.getSnapshot().hasTag('ready') ? 'agent_lost' : 'launch_failed';
  draft.change('agent', agentId, { error: { code, message: describeExit(exit) } });
  frame.send(actor, { type: 'process.exited', atMs: nowMs });
}

function messageOf(error: unknown): string {
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

/** True for a failure that the same effect may get over by itself. */
export function isRetryable(error: unknown): boolean {
  return ShepherdError.is(error) && error.retryable;
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
export function buryUnread(frame: Frame, agentId: string, unread: readonly Envelope[]): void {
  const { herd, draft } = frame;
  const lost = unread.filter(({ kind }) => kind === 'message' || kind === 'reply');
  if (lost.length === 0) return;
  const name = nameOf(draft, agentId);
  const error = `agent_closed: ${name} ended before it read it.`;
  for (const { messageId, senderId } of lost) {
    draft.change('message', messageId, { receipt: 'dead', error });
    if (senderId !== SHEPHERD_ID && herd.agent(senderId) !== undefined) {
      const text = `Message ${messageId} was not read: ${name} has ended.`;
      sendUndelivered(frame, senderId, text);
    }
  }
  const ids = lost.map(({ messageId }) => messageId);
  sendPassiveNotice(frame, `${name} has ended without reading ${ids.join(', ')}.`, {
    agentId,
    messageIds: ids,
  });
}
