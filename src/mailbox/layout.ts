/**
 * Where everything of the mailbox lies.
 *
 * `<mailbox dir>/<agent id>.<launch>/{inbox,outbox}/{tmp,new,cur,done,bad,dead}`. Owns paths, names
 * and modes; does not own what lies in the files or who may move them.
 *
 * L1. Each incarnation has boxes of its own; a fresh dispatch never reads its predecessor's mail.
 * L2. Directories are 0700, whatever the umask and whoever made them before.
 * L3. A file's name is its message id with `.json`, so name order is the order of a sender's ids.
 */
import { dirname, join } from 'node:path';
import { messageIdSchema } from '../ids.ts';
import { onDisk, realFs, type MailFs } from './mail-fs.ts';

/** One launch of one agent: what owns a pair of boxes and a secret. */
export interface Incarnation {
  readonly agentId: string;
  /** Counts the launches of this agent; a fresh dispatch has the next one. */
  readonly launch: number;
}

/** A maildir, as absolute paths. */
export interface Box {
  readonly dir: string;
  /** Being written; nobody reads here. */
  readonly tmp: string;
  /** Published, unread. */
  readonly new: string;
  /** Claimed by the reader, not yet acked. */
  readonly cur: string;
  readonly done: string;
  /** Quarantine: unreadable or forged, each with a `.reason` beside it. */
  readonly bad: string;
  /** Dead letters: valid, but nobody could take them; each with a `.reason` beside it. */
  readonly dead: string;
}

/** Both ends of one incarnation: it reads `inbox` and writes `outbox`. */
export interface Boxes {
  readonly dir: string;
  readonly inbox: Box;
  readonly outbox: Box;
}

const folders = ['tmp', 'new', 'cur', 'done', 'bad', 'dead'] as const;

/** Names an incarnation in paths and maps. */
export function incarnationKey({ agentId, launch }: Incarnation): string {
  return `${agentId}.${String(launch)}`;
}

function boxAt(dir: string): Box {
  return {
    dir,
    tmp: join(dir, 'tmp'),
    new: join(dir, 'new'),
    cur: join(dir, 'cur'),
    done: join(dir, 'done'),
    bad: join(dir, 'bad'),
    dead: join(dir, 'dead'),
  };
}

/** The boxes in an incarnation's own directory; makes nothing. */
export function boxesAt(dir: string): Boxes {
  return { dir, inbox: boxAt(join(dir, 'inbox')), outbox: boxAt(join(dir, 'outbox')) };
}

/** The boxes of an incarnation in a mailbox directory; makes nothing. */
export function boxesOf(mailboxDir: string, incarnation: Incarnation): Boxes {
  return boxesAt(join(mailboxDir, incarnationKey(incarnation)));
}

/**
 * Makes the boxes and the mailbox directory above them; what is there already stays.
 *
 * @throws MailboxError `disk_error`.
 */
export function createBoxes({ dir, inbox, outbox }: Boxes, fs: MailFs = realFs): void {
  const inner = [inbox, outbox].flatMap((box) => [box.dir, ...folders.map((name) => box[name])]);
  for (const path of [dirname(dir), dir, ...inner]) {
    onDisk('make directory', path, () => {
      fs.mkdirSync(path, { recursive: true, mode: 0o700 });
      fs.chmodSync(path, 0o700);
    });
  }
}

/**
 * Deletes an incarnation's boxes with all mail in them; none there is fine.
 *
 * @throws MailboxError `disk_error`.
 */
export function removeBoxes({ dir }: Boxes, fs: MailFs = realFs): void {
  onDisk('remove', dir, () => {
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  });
}

/** The name of an envelope's file. */
export function fileNameOf(messageId: string): string {
  return `${messageId}.json`;
}

/** The message id that a file name carries, or undefined when it is not a name of an envelope. */
export function messageIdOf(fileName: string): string | undefined {
  if (!fileName.endsWith('.json')) return undefined;
  const parsed = messageIdSchema.safeParse(fileName.slice(0, -'.json'.length));
  return parsed.success ? parsed.data : undefined;
}
