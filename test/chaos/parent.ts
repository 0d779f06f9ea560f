/**
 * A parent that plays the scene from wherever an earlier one was killed, and ends it.
 *
 * It knows nothing but what the session tells: what it has done is looked up, not remembered.
 *
 * The scene: `one` has a task, sends a message, asks `two`, gets the answer, is done. `two` or `three`
 * has a task that a deadline ends. Both are watched. Messages go to the Shepherd as well.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createProcessHost } from '../../src/hosts/process.ts';
import { createShepherd } from '../../src/runtime/create-shepherd.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Notice, TaskStatus } from '../../src/runtime/shepherd.ts';
import type { Store } from '../../src/runtime/store.ts';
import { makeCommand, type Order } from './order.ts';
import { layPath, type Kill } from './points.ts';
import { appendLine, readLines } from './record.ts';
import {
  endFile,
  noticesFile,
  passedFile,
  replyTimeoutMs,
  settledFile,
  taskTimeoutMs,
  type NoticeLine,
  type ParentArgs,
  type SettledLine,
} from './scene.ts';

const { dir, mode, kill } = JSON.parse(process.argv[2] ?? '{}') as ParentArgs;
const path = layPath(kill as Kill | undefined);
const openedAtMs = Date.now();
const noticesPath = join(dir, noticesFile);
let store: Store | undefined;

const shepherd = await createShepherd({
  cwd: dir,
  agentDir: join(dir, 'pi'),
  sessionKey: 'chaos',
  host: path.host(createProcessHost({ sweepMs: 250 })),
  makeCommand,
  notify: path.notify(keepNotice),
  policy: { replyTimeoutMs, spawnTimeoutMs: 60_000 },
  orphanGraceMs: 60_000,
  openStore: (file) => (store = path.store(watchSettling(openSessionStore(file)))),
});
const kept = store as unknown as Store;

/** As Pi's entries are: one that is there is not written again. */
function keepNotice(notice: Notice): void {
  const earlier = readLines(noticesPath) as readonly NoticeLine[];
  if (earlier.some(({ id }) => id === notice.id)) return;
  appendLine(noticesPath, { id: notice.id, tells: tellsOf(notice) } satisfies NoticeLine);
}

function tellsOf({ kind, details, text }: Notice): readonly string[] {
  const results = (details['results'] ?? []) as readonly { taskId: string; status: string }[];
  if (results.length > 0) {
    return results.map(({ taskId, status }) => `outcome ${nameOf(taskId)} ${status}`);
  }
  if (kind === 'shepherd.notice' && typeof details['status'] === 'string') {
    return [`outcome ${nameOf(String(details['taskId']))} ${details['status']}`];
  }
  return [`${kind} ${text.split('\n').at(-1) ?? ''}`];
}

function nameOf(taskId: string): string {
  const task = store?.get('task', taskId);
  return task === undefined ? taskId : (JSON.parse(task.description) as Order).do;
}

function watchSettling(inner: Store): Store {
  return {
    ...inner,
    commit(commit) {
      const before = new Map(inner.all('task').map((task) => [task.id, task.result]));
      inner.commit(commit);
      for (const settled of inner.all('task')) {
        if (settled.result === undefined || before.get(settled.id) !== undefined) continue;
        const request = inner.get('request', settled.requestIds[0] ?? '');
        const isReply = settled.cause === 'reply_deadline';
        appendLine(join(dir, settledFile), {
          task: nameOf(settled.id),
          atMs: Date.now(),
          deadlineAtMs: isReply
            ? (request?.deadlineAtMs ?? null)
            : settled.cause === 'task_deadline'
              ? settled.deadlineAtMs
              : null,
          openedAtMs,
        } satisfies SettledLine);
      }
    },
  };
}

async function findOrSpawn(label: string): Promise<string> {
  const known = shepherd.agents().find((one) => one.label === label);
  if (known === undefined) return (await shepherd.spawn({ agent: 'scout', label })).id;
  while (shepherd.status(known.id).state === 'starting') await wait(10);
  return known.id;
}

async function delegate(target: string, order: Order, timeoutMs?: number): Promise<string> {
  const known = shepherd.tasks().find((one) => nameOf(one.id) === order.do);
  if (known !== undefined) return known.id;
  return (await shepherd.delegate({ target, task: JSON.stringify(order), timeoutMs })).taskId;
}

/** Begins a watch unless there is one, or the outcome has been told. */
function watch(taskId: string): void {
  const isWatched = kept
    .snapshots()
    .some(
      ([id, snapshot]) =>
        id.startsWith('shepherd-watch-') && JSON.stringify(snapshot).includes(taskId),
    );
  if (!isWatched && shepherd.task(taskId).result === undefined) shepherd.watch(taskId);
}

async function send(target: string, message: string): Promise<void> {
  const sent = kept
    .all('message')
    .some(
      (one) => one.senderId === 'shepherd' && one.kind === 'message' && one.targetId === target,
    );
  if (!sent) await shepherd.message({ target, message });
}

const isSettled = ({ result }: TaskStatus): boolean => result !== undefined;

/** Nothing is on its way any more: no effect, no watcher, no mail. */
function isQuiet(): boolean {
  if (kept.all('effect').length > 0) return false;
  if (kept.snapshots().some(([id]) => id.startsWith('shepherd-watch-'))) return false;
  const mailbox = join(shepherd.sessionDir, 'mailbox');
  return readdirSync(mailbox).every((name) =>
    ['inbox/new', 'inbox/cur', 'outbox/new', 'outbox/cur'].every(
      (box) => readdirSync(join(mailbox, name, box)).length === 0,
    ),
  );
}

async function play(): Promise<void> {
  const [one, two] = await Promise.all([findOrSpawn('one'), findOrSpawn('two')]);
  const consult = await delegate(one, { do: 'consult', of: two });
  watch(consult);
  const bounded =
    mode === 'task_deadline'
      ? await delegate(two, { do: 'nothing' }, taskTimeoutMs)
      : await delegate(await findOrSpawn('three'), { do: 'ask', of: one });
  watch(bounded);
  await send(one, 'go');
  while (!shepherd.tasks().every(isSettled)) await wait(20);
  while (!isQuiet()) await wait(20);
}

// An earlier parent may have been killed while it ended the session: the scene is over then.
const isOver = shepherd.tasks().length === 2 && shepherd.tasks().every(isSettled);
const isWhole = shepherd.agents().every(({ state }) => state === 'idle' || state === 'working');
if (!isOver) await play();
else if (isWhole) while (!isQuiet()) await wait(20);
const end = shepherd
  .tasks()
  .map(({ id, result }) => [nameOf(id), result?.status ?? 'open'] as const);
await shepherd.dispose();
appendLine(join(dir, endFile), Object.fromEntries(end));
appendLine(join(dir, passedFile), path.passed);
