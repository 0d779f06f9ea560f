/**
 * Tells of files that were put aside, each once, whatever comes between: a full disk or a kill.
 *
 * Owns what is still to be told. Never: why a file is bad (`mailbox/inbox.ts`), or what its sender and
 * the Shepherd hear (`envelopes.ts`).
 *
 * QT1. A file is told in the step that notes it as told; one that is not kept is tried again.
 * QT2. What an earlier process has put aside and not told, for an agent that still has boxes, is told
 *      when the session is opened.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { MailboxErrorCode } from '../errors.ts';
import type { BadFile } from '../mailbox/inbox.ts';
import { boxesOf, incarnationKey, messageIdOf, type Incarnation } from '../mailbox/layout.ts';
import { lies, onDisk, realFs } from '../mailbox/mail-fs.ts';
import type { Engine } from './engine.ts';
import { reportBadMail } from './envelopes.ts';
import type { Frame } from './herd.ts';
import type { Store } from './store.ts';

type Untold = BadFile & { readonly from: Incarnation };

export interface Quarantine {
  /** Tells of a file now, or as soon as that can be kept. */
  add(bad: Untold): void;
  /** Tells of what could not be kept yet; at each look for mail. */
  tell(): void;
}

/**
 * Collects what is to be told.
 *
 * @throws MailboxError `disk_error` when what an earlier process left cannot be read.
 */
export function createQuarantine(options: {
  readonly store: Store;
  readonly mailboxDir: string;
  /** The session's, once it is there. */
  readonly attempt: Engine['attempt'];
}): Quarantine {
  const { store, mailboxDir, attempt } = options;
  let untold = leftUntold(store, mailboxDir);

  function tell(): void {
    const now = untold;
    untold = [];
    const unkept = now.filter(
      (bad) => attempt('quarantine', (frame) => tellOnce(frame, bad)) === 'unkept',
    );
    untold = [...unkept, ...untold];
  }

  return {
    tell,
    add(bad) {
      untold = [...untold, bad];
      tell();
    },
  };
}

/** Names the file among what has been seen: of its box there is one with this name for ever. */
function noteIdOf({ from, path }: Pick<Untold, 'from' | 'path'>): string {
  return `bad/${incarnationKey(from)}/${basename(path)}`;
}

function tellOnce(frame: Frame, bad: Untold): void {
  const id = noteIdOf(bad);
  if (frame.draft.get('seen', id) !== undefined) return;
  reportBadMail(frame, bad);
  frame.draft.put('seen', { id, hash: bad.code });
}

function leftUntold(store: Store, mailboxDir: string): readonly Untold[] {
  const retiring = store.all('effect').flatMap((one) => (one.type === 'retire' ? one.agentId : []));
  return store
    .all('agent')
    .filter(({ id, endedAtMs }) => endedAtMs === undefined || retiring.includes(id))
    .flatMap(({ id, launch }) => badFilesOf(mailboxDir, { agentId: id, launch }))
    .filter((bad) => store.get('seen', noteIdOf(bad)) === undefined);
}

function badFilesOf(mailboxDir: string, from: Incarnation): readonly Untold[] {
  const { bad } = boxesOf(mailboxDir, from).outbox;
  // Its boxes are made by its launch.
  if (!lies(realFs, bad)) return [];
  const names = onDisk('list', bad, () => readdirSync(bad));
  return names
    .filter((name) => !name.endsWith(reasonSuffix) && !name.startsWith('.'))
    .map((at) => {
      const name = at.replace(/\.\d+$/, '');
      const messageId = messageIdOf(name);
      const path = join(bad, at);
      return {
        from,
        name,
        path,
        ...reasonOf(path, names.includes(`${at}${reasonSuffix}`)),
        ...(messageId === undefined ? {} : { messageId }),
      };
    });
}

const reasonSuffix = '.reason';

function reasonOf(path: string, isNoted: boolean): Pick<BadFile, 'code' | 'reason'> {
  const note = isNoted
    ? onDisk('read', path, () => readFileSync(`${path}${reasonSuffix}`, 'utf8')).trim()
    : '';
  const [, code = 'invalid_envelope', reason = 'nothing was noted about it.'] =
    /^([a-z_]+): (.+)$/s.exec(note) ?? [];
  return { code: code as MailboxErrorCode, reason };
}
