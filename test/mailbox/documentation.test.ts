import { execFile, execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { readIdentity, sealEnvelope, type UnsealedEnvelope } from '../../src/mailbox/capability.ts';
import { canonicalJson, envelopeSchema } from '../../src/mailbox/envelope.ts';
import { boxesOf } from '../../src/mailbox/layout.ts';
import { defaultLimits } from '../../src/mailbox/limits.ts';
import {
  alice,
  brokerId,
  ids,
  listBox,
  makeTempDir,
  openHerd,
  secret,
  sessionId,
  thrownBy,
} from '../support/mailbox.ts';

const page = readFileSync(new URL('../../docs/mailbox.md', import.meta.url), 'utf8');

/** The text of the code block that the page marks with this name. */
function block(name: string): string {
  const found = new RegExp(`\`\`\`\\w+ ${name}\\n([\\s\\S]*?)\\n\`\`\``).exec(page);
  if (found === null) throw new Error(`docs/mailbox.md has no block ${name}`);
  return found[1]!;
}

const identity = JSON.parse(block('identity')) as { secret: string; limits: object };
const envelope = JSON.parse(block('envelope')) as UnsealedEnvelope;

it('shows an identity file that a child accepts, with the default limits', () => {
  const path = join(makeTempDir(), 'identity.json');
  writeFileSync(path, block('identity'));

  expect(readIdentity(path)).toEqual(identity);
  expect(identity.limits).toEqual(defaultLimits);
});

it('shows the right canonical JSON and mac for its envelope', () => {
  expect(canonicalJson(envelope)).toBe(block('canonical'));
  expect(sealEnvelope(envelope, identity.secret).mac).toBe(block('mac'));
  const byHand = createHmac('sha256', identity.secret).update(block('canonical')).digest('hex');
  expect(byHand).toBe(block('mac'));
});

it('shows a valid example of every kind', () => {
  const examples = JSON.parse(block('kinds')) as { kind: string }[];
  const { sessionId: session, brokerId: broker, messageId, senderId, targetId } = envelope;
  const head = { v: 1, sessionId: session, brokerId: broker, messageId, senderId, targetId };
  const order = { createdAt: 0, seq: 0, hops: 0, mac: '0'.repeat(64) };

  const problems = examples.map((own) => {
    const parsed = envelopeSchema.safeParse({ ...head, ...order, ...own });
    return parsed.success ? undefined : `${own.kind}: ${parsed.error.message}`;
  });

  expect(problems).toEqual(examples.map(() => undefined));
  const kinds = envelopeSchema.options.map(({ shape }) => shape.kind.value);
  expect(examples.map(({ kind }) => kind).toSorted()).toEqual(kinds.toSorted());
});

it('names every limit with its default', () => {
  for (const [name, value] of Object.entries(defaultLimits)) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\``));
    expect(row).toContain(value.toLocaleString('en'));
  }
});

const hasPython = thrownBy(() => execFileSync('python3', ['--version'])) === undefined;

it.skipIf(!hasPython)('shows a child in Python that sends, is judged and acks', async () => {
  const { mailbox, dir, bad } = openHerd();
  const path = mailbox.open(alice, { secret, label: 'one', agent: 'collie' });
  const kinds: string[] = [];
  mailbox.onMail(() => {
    for (const claimed of mailbox.take()) {
      const { kind, messageId } = claimed.envelope;
      kinds.push(kind);
      mailbox.ack(claimed);
      if (kind !== 'message') continue;
      mailbox.send(alice, {
        v: 1,
        kind: 'verdict',
        sessionId,
        brokerId,
        messageId: ids.messageId(Date.now()),
        senderId: SHEPHERD_ID,
        targetId: alice.agentId,
        createdAt: Date.now(),
        seq: 0,
        hops: 0,
        forMessageId: messageId,
        ok: false,
        code: 'queue_full',
        error: 'Größe: „1.000“',
        data: { unread: 1_000, names: ['collie: one'], nested: { b: null, a: true } },
      });
    }
  });

  const { stdout } = await promisify(execFile)('python3', ['-c', block('child')], {
    env: { ...process.env, SHEEPFOLD_CHILD: path },
  });

  expect(stdout).toBe('queue_full\n');
  expect(kinds).toEqual(['hello', 'message']);
  expect(bad).toEqual([]);
  expect(Object.keys(listBox(boxesOf(dir, alice).inbox))).toEqual(['done']);
});
