/**
 * The parent's mailbox on files: a pair of maildirs for each incarnation.
 *
 * Owns which incarnations are open or fenced, their identity files and the watch over their outboxes.
 * What happens in one pair of boxes is `parent-end.ts`. Invariants: `mailbox.ts`.
 */
import { join, resolve } from 'node:path';
import { MailboxError } from '../errors.ts';
import { attachmentPath, writeAttachment } from './attachment.ts';
import { writeIdentity } from './capability.ts';
import type { BadFile } from './inbox.ts';
import {
  boxesOf,
  createBoxes,
  incarnationKey,
  removeBoxes,
  type Boxes,
  type Incarnation,
} from './layout.ts';
import { limitsSchema, type LimitsInput } from './limits.ts';
import { onDisk, realFs, type MailFs } from './mail-fs.ts';
import { mergeOldestFirst, type Mailbox } from './mailbox.ts';
import { openParentEnd, type ParentEnd } from './parent-end.ts';
import { watchBoxes } from './watch.ts';

export interface FilesystemMailboxOptions {
  /** The session's mailbox directory; made when the first incarnation is opened. */
  readonly dir: string;
  readonly sessionId: string;
  readonly brokerId: string;
  /** Epoch ms. */
  readonly now: () => number;
  readonly limits?: LimitsInput | undefined;
  /** Hears of quarantined files, after the `take` that found them. */
  readonly onBad?: ((bad: BadFile & { readonly from: Incarnation }) => void) | undefined;
  /** Hears of a failed call of the disk that is retried: once a path, until it works again. */
  readonly onTrouble?: ((error: MailboxError) => void) | undefined;
  /** Between two sweeps, in ms; at most and by default 1,000. */
  readonly sweepMs?: number | undefined;
  /** Whether waiting for mail keeps the process alive. Default false. */
  readonly keepAlive?: boolean | undefined;
  readonly fs?: MailFs | undefined;
}

interface Opened {
  readonly from: Incarnation;
  readonly boxes: Boxes;
  readonly secret: string;
  readonly end: ParentEnd;
  identityPath: string;
  hinted: boolean;
}

/** Creates the mailbox of one session; touches the disk only when an incarnation is opened. */
export function createFilesystemMailbox(options: FilesystemMailboxOptions): Mailbox {
  const { sessionId, brokerId, now, onBad, onTrouble, fs = realFs } = options;
  const dir = resolve(options.dir);
  const limits = limitsSchema.parse(options.limits ?? {});
  const opened = new Map<string, Opened>();
  const fenced = new Set<string>();
  const listeners = new Set<{ readonly call: () => void }>();
  let disposed = false;

  const watch = watchBoxes({
    sweepMs: options.sweepMs,
    keepAlive: options.keepAlive,
    fs,
    onMail(dirs) {
      const hints = new Set(dirs);
      for (const state of opened.values()) {
        if (hints.has(state.boxes.outbox.new)) state.hinted = true;
      }
      for (const listener of listeners) listener.call();
    },
  });

  const find = (incarnation: Incarnation): Opened | undefined =>
    opened.get(incarnationKey(incarnation));

  const openedAs = (incarnation: Incarnation): Opened => {
    const state = find(incarnation);
    if (state !== undefined) return state;
    throw new MailboxError(
      'invalid_target',
      `${incarnationKey(incarnation)} has no open mailbox.`,
      {
        data: { ...incarnation },
      },
    );
  };

  const refuseFenced = (incarnation: Incarnation): void => {
    if (!fenced.has(incarnationKey(incarnation))) return;
    throw new MailboxError(
      'superseded',
      `${incarnationKey(incarnation)} is closed or was replaced; mail goes to the agent's live launch.`,
      { data: { ...incarnation } },
    );
  };

  const refuseDisposed = (): void => {
    if (disposed) throw new MailboxError('broker_unavailable', 'The mailbox is disposed.');
  };

  const fence = (incarnation: Incarnation): void => {
    fenced.add(incarnationKey(incarnation));
    watch.remove(boxesOf(dir, incarnation).outbox.new);
  };

  return {
    open(incarnation, { secret, label, agent, identityPath }) {
      refuseDisposed();
      refuseFenced(incarnation);
      const known = find(incarnation);
      if (known !== undefined && known.secret !== secret) {
        const key = incarnationKey(incarnation);
        throw new MailboxError('invalid_capability', `${key} was opened with another secret.`);
      }
      const { agentId, launch } = incarnation;
      const boxes = boxesOf(dir, incarnation);
      const path = identityPath ?? known?.identityPath ?? join(boxes.dir, 'identity.json');
      const herd = { sessionId, brokerId };
      const child = { agentId, launch, secret, label, agent };
      createBoxes(boxes, fs);
      writeIdentity(path, { v: 1, ...herd, ...child, boxesDir: boxes.dir, limits }, fs);
      if (known !== undefined) {
        known.identityPath = path;
        return path;
      }
      const from = { agentId, launch };
      const end = openParentEnd({
        incarnation: from,
        boxes,
        ...herd,
        secret,
        limits,
        now,
        onBad: (bad) => onBad?.({ ...bad, from }),
        onTrouble,
        fs,
      });
      const state = { from, boxes, secret, end, identityPath: path, hinted: true };
      opened.set(incarnationKey(from), state);
      watch.add(boxes.outbox.new);
      return path;
    },
    send(to, envelope, sending = {}) {
      refuseDisposed();
      refuseFenced(to);
      return openedAs(to).end.send(envelope, sending);
    },
    attach(to, attachment, text) {
      refuseDisposed();
      refuseFenced(to);
      writeAttachment(attachmentPath(openedAs(to).boxes.dir, attachment), text, fs);
    },
    detach(to, attachment) {
      const path = attachmentPath(boxesOf(dir, to).dir, attachment);
      onDisk('remove', path, () => {
        fs.rmSync(path, { force: true });
      });
    },
    take({ all = false } = {}) {
      const due = [...opened].filter(([key, { hinted }]) => !fenced.has(key) && (all || hinted));
      return mergeOldestFirst(
        due.map(([, state]) => {
          state.hinted = false;
          return state.end.outbox.claim().map((file) => ({ from: state.from, ...file }));
        }),
      );
    },
    isBehind: () => [...opened].some(([key, { end }]) => !fenced.has(key) && end.outbox.isBehind),
    ack({ from, envelope }) {
      find(from)?.end.outbox.ack(envelope.messageId);
    },
    bury({ from, envelope }, reason) {
      find(from)?.end.outbox.bury(envelope.messageId, reason);
    },
    retry({ from, envelope }) {
      const state = find(from);
      if (state === undefined) return;
      state.end.outbox.retry(envelope.messageId);
      state.hinted = true;
    },
    depth: (to) => openedAs(to).end.depth(),
    unacked: (to) => openedAs(to).end.unacked(),
    empty: (to) => find(to)?.end.empty(),
    onMail(call) {
      const listener = { call };
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    fence,
    remove(incarnation) {
      fence(incarnation);
      const identityPath = find(incarnation)?.identityPath;
      if (identityPath !== undefined) {
        onDisk('remove', identityPath, () => {
          fs.rmSync(identityPath, { force: true });
        });
      }
      removeBoxes(boxesOf(dir, incarnation), fs);
      opened.delete(incarnationKey(incarnation));
    },
    dispose() {
      disposed = true;
      watch.close();
      listeners.clear();
      opened.clear();
    },
  };
}
