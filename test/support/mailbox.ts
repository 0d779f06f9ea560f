/** Builders for mailbox tests: real directories, sealed envelopes, and a disk that fails on demand. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createIdMaker, SHEPHERD_ID } from '../../src/ids.ts';
import {
  readIdentity,
  refusalOf,
  sealEnvelope,
  type UnsealedEnvelope,
} from '../../src/mailbox/capability.ts';
import { createChildMailbox, type ChildMailbox } from '../../src/mailbox/child-mailbox.ts';
import type { Envelope, EnvelopeOf } from '../../src/mailbox/envelope.ts';
import {
  createFilesystemMailbox,
  type FilesystemMailboxOptions,
} from '../../src/mailbox/filesystem-mailbox.ts';
import { openInbox, type BadFile, type Inbox, type InboxOptions } from '../../src/mailbox/inbox.ts';
import { boxesOf, createBoxes, type Box, type Incarnation } from '../../src/mailbox/layout.ts';
import { realFs, type MailFs } from '../../src/mailbox/mail-fs.ts';
import type { Mailbox } from '../../src/mailbox/mailbox.ts';

export const sessionId = 'session-1';
export const brokerId = 'broker-1';
export const secret = 's'.repeat(64);
export const alice: Incarnation = { agentId: 'shepherd-agent-alice0000000', launch: 1 };
export const bob: Incarnation = { agentId: 'shepherd-agent-bob000000000', launch: 1 };

export const ids = createIdMaker();

/** A directory that is gone when the test is over. */
export function makeTempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-mailbox-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

/** Alice's boxes on disk, without a mailbox around them. */
export function makeBox(end: 'inbox' | 'outbox' = 'inbox'): Box {
  const boxes = boxesOf(makeTempDir(), alice);
  createBoxes(boxes);
  return boxes[end];
}

/** A plain message from the Shepherd to Alice, without its proof. */
export function buildMessage(changes: Partial<EnvelopeOf<'message'>> = {}): UnsealedEnvelope {
  return {
    v: 1,
    kind: 'message',
    sessionId,
    brokerId,
    messageId: ids.messageId(Date.now()),
    senderId: SHEPHERD_ID,
    targetId: alice.agentId,
    createdAt: Date.now(),
    seq: 0,
    hops: 0,
    content: 'Counted the flock.',
    delivery: 'followUp',
    ...changes,
  };
}

/** The same with its proof. */
export function sealMessage(changes: Partial<EnvelopeOf<'message'>> = {}): Envelope {
  return sealEnvelope(buildMessage(changes), secret);
}

export interface OpenedBox {
  readonly box: Box;
  readonly reader: Inbox;
  readonly bad: BadFile[];
  /** Moves the reader's clock; it starts at the real time. */
  readonly pass: (ms: number) => void;
  /** Opens the same box once more, as the next process would. */
  readonly reopen: () => Inbox;
}

/** Alice's inbox, new or given, with a reader whose clock stands still. */
export function openBox({
  box = makeBox(),
  ...options
}: Partial<InboxOptions> & { readonly box?: Box } = {}): OpenedBox {
  const bad: BadFile[] = [];
  let nowMs = Date.now();
  const expected = { sessionId, brokerId, secret, targetId: alice.agentId, senderId: SHEPHERD_ID };
  const reopen = (): Inbox =>
    openInbox(box, {
      now: () => nowMs,
      refusalOf: (envelope) => refusalOf(envelope, expected),
      onBad: (file) => bad.push(file),
      ...options,
    });
  return {
    box,
    bad,
    reader: reopen(),
    reopen,
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

/** Ids of the envelopes that a reader takes now. */
export function claimIds(reader: Inbox): string[] {
  return reader.claim().map(({ envelope }) => envelope.messageId);
}

export interface Herd {
  readonly dir: string;
  readonly mailbox: Mailbox;
  readonly bad: (BadFile & { readonly from: Incarnation })[];
  /** Opens an incarnation and returns the child's own end. */
  readonly hatch: (incarnation: Incarnation) => ChildMailbox;
}

/** A session's mailbox on disk, and children that live in the same process. */
export function openHerd(
  options: Partial<FilesystemMailboxOptions> = {},
  child: { readonly fs?: MailFs; readonly sweepMs?: number } = {},
): Herd {
  const dir = options.dir ?? join(makeTempDir(), 'mailbox');
  const bad: (BadFile & { readonly from: Incarnation })[] = [];
  const mailbox = createFilesystemMailbox({
    sessionId,
    brokerId,
    now: Date.now,
    onBad: (file) => bad.push(file),
    ...options,
    dir,
  });
  onTestFinished(() => {
    mailbox.dispose();
  });
  const hatch = (incarnation: Incarnation): ChildMailbox => {
    const path = mailbox.open(incarnation, { secret, label: 'one', agent: 'collie' });
    const end = createChildMailbox(readIdentity(path), { now: Date.now, ids, ...child });
    onTestFinished(() => {
      end.dispose();
    });
    return end;
  };
  return { dir, mailbox, bad, hatch };
}

export interface FailingFs {
  readonly fs: MailFs;
  /** How often the call was refused. */
  readonly refused: () => number;
  /** Ends the failure. */
  readonly heal: () => void;
}

/** A disk on which one call fails with this errno, where `where` (of its first argument) says so. */
export function failOn(
  call: keyof MailFs,
  errno: string,
  where: (first: unknown) => boolean = () => true,
): FailingFs {
  let ill = true;
  let refused = 0;
  const real = realFs[call] as (...args: unknown[]) => unknown;
  const replaced = (...args: unknown[]): unknown => {
    if (!ill || !where(args[0])) return real(...args);
    refused += 1;
    throw Object.assign(new Error(`${errno}: ${call} fails here`), { code: errno });
  };
  return {
    fs: { ...realFs, [call]: replaced },
    refused: () => refused,
    heal: () => {
      ill = false;
    },
  };
}

/** A disk whose calls are noted by name, in order. */
export function recordCalls(): { readonly fs: MailFs; readonly calls: string[] } {
  const calls: string[] = [];
  const entries = Object.entries(realFs)
    .filter(([, value]) => typeof value === 'function')
    .map(([name, value]) => [
      name,
      (...args: unknown[]): unknown => {
        calls.push(name);
        return (value as (...all: unknown[]) => unknown)(...args);
      },
    ]);
  return { fs: Object.fromEntries(entries) as MailFs, calls };
}

const watchInSilence = (): unknown => ({ on: () => undefined, close: () => undefined });

/** A disk whose fs.watch accepts every directory and never says a word. */
export function muteFs(): MailFs {
  return { ...realFs, watch: watchInSilence as unknown as MailFs['watch'] };
}

/** Names in each folder of a box that has any. */
export function listBox(box: Box): Record<string, string[]> {
  const { dir, ...folders } = box;
  return Object.fromEntries(
    Object.entries(folders)
      .map(([name, path]) => [name, readdirSync(path).toSorted()] as const)
      .filter(([, names]) => names.length > 0),
  );
}

/** The error that `call` throws; undefined when it throws none. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}
