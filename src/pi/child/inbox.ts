/**
 * What a child does with an envelope from its inbox.
 *
 * I1. An envelope is acked only once the session has it; until then a crash brings it back.
 * I2. One that Pi never takes, or whose attached text is not there, is buried, and its sender is told
 *     by the receipt.
 * I3. A task that is closed before the model saw it is never shown, nor is its end.
 * I4. `seen` is said once, after `delivered`, when a model has answered with the text before it.
 * I5. Of a closed task that no turn works on it is said at once that it is let go of.
 */
import { ShepherdError, describeError } from '../../errors.ts';
import { SHEPHERD_ID } from '../../ids.ts';
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import {
  passiveNoticeCodes,
  promptCode,
  type Envelope,
  type EnvelopeOf,
} from '../../mailbox/envelope.ts';
import type { Delivery, DeliveryItem } from '../delivery.ts';
import { envelopeText, type ReadableEnvelope } from './envelope-text.ts';
import { taskContent } from './task-content.ts';
import type { Work } from './work.ts';

export interface ChildInboxOptions {
  readonly mailbox: Pick<
    ChildMailbox,
    'send' | 'ack' | 'bury' | 'attachmentPath' | 'readAttachment'
  >;
  readonly delivery: Pick<Delivery, 'deliver' | 'seen' | 'withdraw'>;
  readonly work: Work;
  /** Whether the model has a tool to read files with. */
  readonly canRead: () => boolean;
  /** Aborts the running turn. */
  readonly abort: () => void;
  /** Told of what went wrong while nobody waited for it. */
  readonly report: (error: unknown) => void;
}

/** Creates the handler of a child's incoming envelopes; it may be given the same one twice. */
export function createChildInbox(options: ChildInboxOptions): (envelope: Envelope) => void {
  const { mailbox, delivery, work, abort } = options;
  /** Message ids of tasks that the model may not have seen yet, by task id. */
  const unseenTasks = new Map<string, string>();
  /** Tasks that were given up before the model saw them. */
  const deadTasks = new Set<string>();

  async function show(
    envelope: ReadableEnvelope,
    how: Pick<DeliveryItem, 'wake' | 'onSend'> & { readonly deliverAs?: DeliveryItem['deliverAs'] },
  ): Promise<'delivered' | 'withdrawn' | 'dead' | 'session over'> {
    const { messageId } = envelope;
    let outcome;
    try {
      outcome = await delivery.deliver({
        id: messageId,
        customType: customTypes[envelope.kind],
        text: textOf(envelope),
        details: envelopeDetails(envelope),
        deliverAs: 'followUp',
        ...how,
      });
    } catch (error) {
      // The session ended first: the envelope stays claimed and comes again.
      if (ShepherdError.is(error) && error.code === 'session_closed') return 'session over';
      mailbox.bury(messageId, describeError(error));
      sendReceipt({ forMessageId: messageId, receipt: 'dead', error: describeError(error) });
      return 'dead';
    }
    mailbox.ack(messageId);
    if (outcome === 'delivered') {
      sendReceipt({ forMessageId: messageId, receipt: 'delivered' });
      noteSeen(messageId).catch(options.report);
    }
    return outcome;
  }

  function textOf(envelope: ReadableEnvelope): string {
    if (envelope.kind !== 'task') return envelopeText(envelope);
    const content = taskContent(envelope, { mailbox, canRead: options.canRead() });
    return envelopeText({ ...envelope, content });
  }

  async function noteSeen(messageId: string): Promise<void> {
    if (!(await delivery.seen(messageId))) return;
    sendReceipt({ forMessageId: messageId, receipt: 'seen' });
  }

  function sendReceipt(
    receipt: Pick<EnvelopeOf<'receipt'>, 'forMessageId' | 'receipt' | 'error'>,
  ): void {
    mailbox.send({ kind: 'receipt', targetId: SHEPHERD_ID, ...receipt });
  }

  /** The Shepherd waits for it; of a turn that is aborted it hears when that has ended. */
  function sendReleased(taskId: string): void {
    mailbox.send({ kind: 'runtime', targetId: SHEPHERD_ID, event: 'task_released', taskId });
  }

  async function takeTask(envelope: EnvelopeOf<'task'>): Promise<void> {
    const { taskId, messageId } = envelope;
    unseenTasks.set(taskId, messageId);
    const onSend = (): void => work.begin(taskId, messageId);
    const outcome = await show(envelope, { wake: true, onSend });
    unseenTasks.delete(taskId);
    if (outcome !== 'dead') return;
    work.forget(taskId);
    deadTasks.add(taskId);
  }

  async function closeTask(envelope: EnvelopeOf<'task_closed'>): Promise<void> {
    const { taskId, messageId } = envelope;
    const unseen = unseenTasks.get(taskId);
    const isWithdrawn = unseen !== undefined && delivery.withdraw(unseen);
    if (isWithdrawn || deadTasks.delete(taskId)) {
      sendReleased(taskId);
      mailbox.ack(messageId);
      return;
    }
    const running = work.isTurnOf(taskId);
    work.forget(taskId);
    if (running) abort();
    else sendReleased(taskId);
    await show(envelope, { wake: false });
  }

  async function takeVerdict(envelope: EnvelopeOf<'verdict'>): Promise<void> {
    if (!envelope.ok) {
      work.refused(envelope.forMessageId);
      await wake(envelope);
      return;
    }
    // Accepted after its tool had stopped waiting: the model was told that it is under way.
    work.accepted(envelope.forMessageId);
    mailbox.ack(envelope.messageId);
  }

  /** Shows what is the child's own affair. */
  async function wake(
    envelope: ReadableEnvelope,
    deliverAs?: DeliveryItem['deliverAs'],
  ): Promise<void> {
    const onSend = (): void => work.resume(envelope.messageId);
    await show(envelope, { wake: true, onSend, ...(deliverAs === undefined ? {} : { deliverAs }) });
  }

  async function takeMessage(envelope: EnvelopeOf<'message'>): Promise<void> {
    const { messageId, expectsReply = false, delivery: deliverAs } = envelope;
    const onSend = expectsReply ? () => work.answer(deliverAs, messageId) : undefined;
    await show(envelope, { wake: expectsReply, deliverAs, onSend });
  }

  async function takeNotice(envelope: EnvelopeOf<'notice'>): Promise<void> {
    const { code = '', messageId } = envelope;
    if (passiveNoticeCodes.has(code)) await show(envelope, { wake: false });
    else if (code !== promptCode) await wake(envelope);
    else await show(envelope, { wake: true, onSend: () => work.prompt(messageId) });
  }

  async function take(envelope: Envelope): Promise<void> {
    switch (envelope.kind) {
      case 'task':
        return takeTask(envelope);
      case 'message':
        return takeMessage(envelope);
      case 'reply':
        return wake(envelope, envelope.delivery);
      case 'verdict':
        return takeVerdict(envelope);
      case 'task_closed':
        return closeTask(envelope);
      case 'notice':
        return takeNotice(envelope);
      case 'task_done':
      case 'runtime':
      case 'hello':
      case 'heartbeat':
      case 'receipt':
      case 'roster':
        // Only children send these; a router that passes one on has a bug worth keeping.
        mailbox.bury(envelope.messageId, `A child does not take a ${envelope.kind}.`);
        return;
    }
  }

  return (envelope) => {
    take(envelope).catch(options.report);
  };
}

const customTypes: Readonly<Record<ReadableEnvelope['kind'], string>> = {
  task: 'shepherd.task',
  message: 'shepherd.message.incoming',
  reply: 'shepherd.message.reply',
  verdict: 'shepherd.refusal',
  task_closed: 'shepherd.task.closed',
  notice: 'shepherd.notice',
};

/** The envelope as it came, without what proves and orders it; its text is the message itself. */
function envelopeDetails(envelope: ReadableEnvelope): Readonly<Record<string, unknown>> {
  const { v, sessionId, brokerId, seq, mac, ...details } = envelope;
  if (!('content' in details)) return details;
  const { content, ...rest } = details;
  return rest;
}
