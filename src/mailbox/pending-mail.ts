/**
 * What lies in the boxes of a session and is not done: read from outside, beside their readers.
 *
 * Owns the list, and the two moves that a person makes. Who may make them is the caller's question.
 *
 * PM1. Listing changes nothing, and a file that moves meanwhile is left out or listed once.
 * PM2. A letter goes from `dead` to `new` by one rename: were both there, its reader would drop it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MailboxError } from '../errors.ts';
import type { Envelope } from './envelope.ts';
import { readEnvelopeFile } from './envelope-file.ts';
import { boxesAt, fileNameOf, messageIdOf, type Box, type Incarnation } from './layout.ts';
import { errnoOf, lies, mailNames, onDisk, realFs } from './mail-fs.ts';
import { moveFile } from './moves.ts';

export type MailState = 'unread' | 'claimed' | 'dead' | 'quarantined';

/** A file that is not done. */
export interface PendingMail {
  readonly of: Incarnation;
  readonly end: 'inbox' | 'outbox';
  readonly state: MailState;
  readonly name: string;
  readonly path: string;
  /** The id that its name carries. */
  readonly messageId?: string;
  /** Undefined for what is no valid envelope. */
  readonly envelope?: Envelope;
  /** Why it was set aside, or what is wrong with it. */
  readonly reason?: string;
  /** Epoch ms at which it came to where it lies: a link and a rename set ctime. */
  readonly sinceAtMs: number;
}

const folders = [
  ['dead', 'dead'],
  ['bad', 'quarantined'],
  ['cur', 'claimed'],
  ['new', 'unread'],
] as const;

/** For a look at a file, whatever the limits of its session are. */
const maxEnvelopeBytes = 1024 * 1024;

/**
 * Lists what is not done, by incarnation and box, in name order; none when there is no mailbox.
 *
 * @throws MailboxError `disk_error` for a box that cannot be listed.
 */
export function listPendingMail(mailboxDir: string): readonly PendingMail[] {
  return namesIn(mailboxDir).flatMap((key) => {
    const of = incarnationOf(key);
    if (of === undefined) return [];
    const boxes = boxesAt(join(mailboxDir, key));
    return (['inbox', 'outbox'] as const).flatMap((end) =>
      // What is claimed is listed before what is unread, else a claim in between would show it twice.
      folders.flatMap(([folder, state]) => listFolder({ of, end, state }, boxes[end][folder])),
    );
  });
}

function listFolder(
  where: Pick<PendingMail, 'of' | 'end' | 'state'>,
  dir: string,
): readonly PendingMail[] {
  const names = namesIn(dir);
  const all = new Set(names);
  // A note belongs to a file; a file may itself be called `x.reason`.
  const files = names.filter(
    (name) => !name.endsWith('.reason') || !all.has(name.slice(0, -'.reason'.length)),
  );
  return files.flatMap((name) => {
    const path = join(dir, name);
    const found = realFs.lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    const file = readEnvelopeFile(path, { fs: realFs, maxEnvelopeBytes });
    if (file.is === 'missing') return [];
    const messageId = idOf(name);
    const reason = noteBeside(path) ?? flawOf(file);
    return {
      ...where,
      name,
      path,
      ...(messageId === undefined ? {} : { messageId }),
      ...(file.is === 'valid' ? { envelope: file.envelope } : {}),
      ...(reason === undefined ? {} : { reason }),
      sinceAtMs: found.ctimeMs,
    };
  });
}

function flawOf(file: ReturnType<typeof readEnvelopeFile>): string | undefined {
  switch (file.is) {
    case 'valid':
    case 'missing':
      return undefined;
    case 'unreadable':
      return `${file.error.code}: ${file.error.message}`;
    case 'partial':
    case 'bad':
      return `${file.refusal.code}: ${file.refusal.reason}`;
  }
}

function noteBeside(path: string): string | undefined {
  try {
    return realFs.readFileSync(`${path}.reason`, 'utf8').trim();
  } catch {
    // The note is an extra; its file is what matters.
    return undefined;
  }
}

/** A file set aside under a taken name has a number behind it. */
function idOf(name: string): string | undefined {
  return messageIdOf(name.replace(/\.\d+$/, ''));
}

function namesIn(dir: string): readonly string[] {
  return onDisk('list', dir, () => {
    try {
      return mailNames(realFs, dir);
    } catch (cause) {
      // Boxes go when their agent has ended.
      if (errnoOf(cause) === 'ENOENT' || errnoOf(cause) === 'ENOTDIR') return [];
      throw cause;
    }
  });
}

function incarnationOf(key: string): Incarnation | undefined {
  const dot = key.lastIndexOf('.');
  const launch = Number(key.slice(dot + 1));
  return dot > 0 && Number.isSafeInteger(launch)
    ? { agentId: key.slice(0, dot), launch }
    : undefined;
}

/** Deletes a dead or quarantined file and its note. @throws MailboxError `disk_error`. */
export function clearMail({ path }: PendingMail): void {
  onDisk('clear', path, () => {
    realFs.rmSync(path, { recursive: true, force: true });
    realFs.rmSync(`${path}.reason`, { force: true });
  });
}

/**
 * Puts a dead letter back in line; its reader takes it as if it had just come.
 *
 * @throws MailboxError `invalid_envelope` for what no reader would take, `duplicate_conflict` when its
 * box has another file of this id, `disk_error`.
 */
export function retryMail(mail: PendingMail, mailboxDir: string): void {
  const { of, end, path, messageId } = mail;
  if (messageId === undefined) {
    throw new MailboxError('invalid_envelope', `${mail.name} carries no message id.`);
  }
  const box: Box = boxesAt(join(mailboxDir, `${of.agentId}.${of.launch}`))[end];
  const name = fileNameOf(messageId);
  const taken = [box.new, box.cur, box.done, box.dead]
    .map((dir) => join(dir, name))
    .find((other) => other !== path && lies(realFs, other));
  if (taken !== undefined) {
    throw new MailboxError('duplicate_conflict', `${messageId} also lies at ${taken}; clear this.`);
  }
  onDisk('retry', path, () => {
    if (moveFile(realFs, path, join(box.new, name)) && existsSync(`${path}.reason`)) {
      realFs.rmSync(`${path}.reason`, { force: true });
    }
  });
}
