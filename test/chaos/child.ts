/**
 * A child agent without a model: a process that speaks the mailbox and does what a task tells it.
 *
 * Writes down each envelope, durably, before it acts on it and before it acks it, so that a lost or
 * repeated one is seen. Works on while its parent is dead, as a Pi child does.
 */
import { appendLine, childRecord, type ChildLine } from './record.ts';
import { deafLabel, heldQuestions, lastWords, type Order } from './order.ts';
import { aheadMsOf, isTold, readTold, type Told } from './scene.ts';
import { createIdMaker, SHEPHERD_ID } from '../../src/ids.ts';
import { readIdentity } from '../../src/mailbox/capability.ts';
import { createChildMailbox } from '../../src/mailbox/child-mailbox.ts';
import type { Envelope, EnvelopeDraft, EnvelopeOf } from '../../src/mailbox/envelope.ts';

/** No child outlives a harness that was killed for longer. */
const lifeLimitMs = 180_000;
const thinkMs = 100;
const lookMs = 10;

const identity = readIdentity(process.env['SHEEPFOLD_CHILD'] ?? '');
const record = childRecord(identity.label);
/** What the next envelope is dated with, in place of the play's clock. */
let dateAtMs: number | undefined;
const mailbox = createChildMailbox(identity, {
  now: () => dateAtMs ?? Date.now() + aheadMsOf('.'),
  ids: createIdMaker(),
  keepAlive: true,
});

function note(line: Partial<ChildLine>): void {
  appendLine(record, { pid: process.pid, atMs: Date.now(), ...line });
}

function send(draft: EnvelopeDraft): void {
  mailbox.send(draft);
}

function turn(event: 'turn_started' | 'turn_settled'): void {
  send({ kind: 'runtime', targetId: SHEPHERD_ID, event });
}

function say(targetId: string, content: string, more: { taskId?: string } = {}): void {
  send({ kind: 'message', targetId, content, delivery: 'followUp', ...more });
}

function ask(targetId: string, content: string, taskId: string): void {
  const expectsReply = true;
  send({ kind: 'message', targetId, content, delivery: 'followUp', taskId, expectsReply });
}

function complete(taskId: string): void {
  send({ kind: 'task_done', targetId: SHEPHERD_ID, taskId, status: 'completed', summary: 'done' });
}

function answer(to: string, replyTo: string, atMs?: number): void {
  dateAtMs = atMs;
  send({ kind: 'reply', targetId: to, content: 'the answer', delivery: 'followUp', replyTo });
  dateAtMs = undefined;
}

/** Acts once it is told to, also while its parent is dead. */
function whenTold(what: string, act: (told: Told) => void): void {
  const look = setInterval(() => {
    if (!isTold('.', what)) return;
    clearInterval(look);
    act(readTold('.', what));
  }, lookMs);
}

let task: { readonly id: string; readonly order: Order } | undefined;

function begin({ taskId, content }: EnvelopeOf<'task'>): void {
  const order = JSON.parse(content) as Order;
  task = { id: taskId, order };
  turn('turn_started');
  switch (order.do) {
    case 'write':
      for (let n = 0; n < order.count; n += 1) say(order.to, String(n));
      complete(taskId);
      break;
    case 'ask':
      ask(order.of, 'ignore me', taskId);
      break;
    case 'early':
    case 'late':
    case 'patient':
      ask(order.of, order.do, taskId);
      break;
    case 'die':
      process.stdout.write(`${lastWords}\n`);
      whenTold('die', () => process.kill(process.pid, 'SIGKILL'));
      break;
    case 'consult':
    case 'sleep':
    case 'nothing':
      break;
  }
  turn('turn_settled');
}

function hear({ content, messageId, senderId }: EnvelopeOf<'message'>): void {
  if (content === 'go' && task?.order.do === 'consult') {
    turn('turn_started');
    say(task.order.of, 'first');
    ask(task.order.of, 'answer me', task.id);
    turn('turn_settled');
  }
  if (content === 'answer me') {
    turn('turn_started');
    setTimeout(() => {
      answer(senderId, messageId);
      turn('turn_settled');
    }, thinkMs);
  }
  if (heldQuestions.some((question) => question === content)) {
    whenTold(content, ({ atMs }) => {
      answer(senderId, messageId, atMs);
      note({ what: `said ${content}` });
    });
  }
}

function goOn(): void {
  if (task === undefined) return;
  if (task.order.do !== 'consult') return complete(task.id);
  turn('turn_started');
  say(task.order.of, 'second');
  say(SHEPHERD_ID, 'nearly done');
  complete(task.id);
  turn('turn_settled');
}

function describe(envelope: Envelope): string {
  switch (envelope.kind) {
    case 'task':
      return `task ${(JSON.parse(envelope.content) as Order).do}`;
    case 'message':
    case 'reply':
      return `${envelope.kind} ${envelope.content}`;
    case 'task_closed':
      return `task_closed ${envelope.status}`;
    case 'notice':
      return `notice ${envelope.code ?? ''}`;
    case 'verdict':
      return envelope.ok ? 'verdict' : `refused ${envelope.code ?? ''}`;
    case 'task_done':
    case 'runtime':
    case 'hello':
    case 'heartbeat':
    case 'receipt':
    case 'roster':
      return envelope.kind;
  }
}

note({ what: 'started' });
function receive(envelope: Envelope): void {
  const { messageId, kind, senderId: from } = envelope;
  note({ messageId, kind, from, what: describe(envelope) });
  if (kind === 'task') begin(envelope);
  if (kind === 'message') hear(envelope);
  if (kind === 'reply') goOn();
  mailbox.ack(messageId);
}

if (identity.label === deafLabel) {
  process.once('SIGTERM', () => {
    send({ kind: 'task_done', targetId: SHEPHERD_ID, status: 'failed', summary: 'too late' });
    process.exit(0);
  });
} else {
  mailbox.receive(receive);
}
send({
  kind: 'hello',
  targetId: SHEPHERD_ID,
  pid: process.pid,
  tools: ['shepherd_message', 'shepherd_done'],
});
setTimeout(() => process.exit(3), lifeLimitMs);
