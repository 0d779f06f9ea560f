/** What tests of conversations look at, and how they get past a child's mailbox. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createIdMaker, SHEPHERD_ID } from '../../src/ids.ts';
import { sealEnvelope, type UnsealedEnvelope } from '../../src/mailbox/capability.ts';
import type { TestChild } from './child.ts';
import { openHerd, startMs, type TestHerd } from './herd.ts';

export const ids = createIdMaker();

/** All that a refused call must leave as it was. */
export function stateOf(herd: TestHerd): unknown {
  const { shepherd, notices } = herd;
  return structuredClone({ agents: shepherd.agents(), tasks: shepherd.tasks(), notices });
}

/** What a child was sent by others, verdicts aside. */
export function mailOf(child: TestChild): readonly string[] {
  return child.received.flatMap((envelope) =>
    envelope.kind === 'message' || envelope.kind === 'reply' ? envelope.content : [],
  );
}

/** Two scouts and a planner, each with a name to be called by. */
export async function openPasture() {
  const herd = await openHerd();
  const north = await herd.hatch('north pasture');
  const south = await herd.hatch('south pasture');
  const shearer = await herd.hatch('shearing', 'planner');
  return { herd, north, south, shearer };
}

/** Forgets that it was handled, as the box does after a day. */
export function forget(child: TestChild, messageId: string): void {
  rmSync(join(child.identity.boxesDir, 'outbox', 'done', `${messageId}.json`));
}

/** Puts a file into a child's outbox, past its mailbox. */
export function slipIn(child: TestChild, messageId: string, text: string): void {
  const outbox = join(child.identity.boxesDir, 'outbox');
  writeFileSync(join(outbox, 'tmp', messageId), text);
  renameSync(join(outbox, 'tmp', messageId), join(outbox, 'new', `${messageId}.json`));
}

/** What would complete the child's task, without its proof. */
export function buildDone(child: TestChild, messageId: string): UnsealedEnvelope {
  const { sessionId, brokerId } = child.identity;
  return {
    v: 1,
    kind: 'task_done',
    status: 'completed',
    sessionId,
    brokerId,
    messageId,
    senderId: child.id,
    targetId: SHEPHERD_ID,
    createdAt: startMs,
    seq: 0,
    hops: 0,
  };
}

export const seal = (envelope: UnsealedEnvelope, secret: string): string =>
  JSON.stringify(sealEnvelope(envelope, secret));
