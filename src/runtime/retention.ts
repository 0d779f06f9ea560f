/**
 * What a session forgets: finished things that everybody has heard of, oldest first.
 *
 * RN1. Nothing live, unread or unreported is removed, however old.
 * RN2. A task goes together with its requests and its message; an ended agent with its files, and only
 *      once none of its tasks is kept, its process is proven gone and its outbox is read to the end.
 * RN3. What is kept is bounded: `keep` of each kind of record, and a multiple of it of the rest.
 * RN4. However little is kept: an envelope that may come again is remembered.
 */
import { SHEPHERD_ID } from '../ids.ts';
import type { Frame } from './herd.ts';
import { minuteMs } from './limits.ts';
import type { Retention } from './policy.ts';
import type { AgentRecord, MessageRecord, Table, Tables, TaskRecord } from './records.ts';

/** Handled envelopes for each task that is kept. */
const seenFactor = 10;
/** And at least as many as an inbox keeps of its `done`: up to 64 share a commit before their acks. */
const leastSeen = 2_000;
/** Journal rows for each task that is kept, and at least those of one. */
const rowFactor = 100;

/** Removes what is over the bounds; returns how many records went. */
export function forgetFinished(frame: Frame, retention: Retention): number {
  const { draft } = frame;
  const tasks = forgetTasks(frame, retention);
  const notices = finished(frame, 'notice', retention, (record) =>
    record.delivered || record.isDead === true ? record.notice.atMs : undefined,
  );
  const isUnread = unreadOf(frame);
  const messages = finished(frame, 'message', retention, (message) =>
    message.receipt === 'queued' && isUnread(message) ? undefined : message.atMs,
  );
  const requests = finished(frame, 'request', retention, (request) =>
    request.taskId === null ? request.settledAtMs : undefined,
  );
  const untold = unreportedText(frame);
  const prompts = finished(frame, 'prompt', retention, ({ result }) => result?.settledAtMs).filter(
    ({ id }) => !untold.includes(id),
  );
  const seen = draft.all('seen').slice(0, -Math.max(leastSeen, retention.keep * seenFactor));
  for (const [table, records] of [
    ['notice', notices],
    ['message', messages],
    ['request', requests],
    ['prompt', prompts],
    ['seen', seen],
  ] as const) {
    for (const { id } of records) draft.remove(table, id);
  }
  forgetKeys(frame);
  forgetRates(frame);
  const agents = forgetAgents(frame, retention);
  draft.forgetJournal(Math.max(1, retention.keep) * rowFactor);
  const lists = [tasks, notices, messages, requests, prompts, seen, agents];
  return lists.reduce((sum, list) => sum + list.length, 0);
}

/** Records that have ended, `endedAtMs` says when, and that are over the bounds; oldest first. */
function finished<K extends Table>(
  frame: Frame,
  table: K,
  { keep, keepMs }: Retention,
  endedAtMs: (record: Tables[K]) => number | undefined,
): readonly Tables[K][] {
  const ended = frame.draft
    .all(table)
    .flatMap((record) => {
      const atMs = endedAtMs(record);
      return atMs === undefined ? [] : [{ record, atMs }];
    })
    .toSorted((a, b) => a.atMs - b.atMs);
  const over = ended.length - keep;
  return ended
    .filter(({ atMs }, index) => index < over || atMs < frame.nowMs - keepMs)
    .map(({ record }) => record);
}

/**
 * Whether somebody may still read a message: not what an agent had that has ended, and not what one
 * has taken in that sends no receipts.
 */
function unreadOf({ draft, herd }: Frame): (message: MessageRecord) => boolean {
  const isUnderWay = new Set(
    draft.all('effect').flatMap((effect) => (effect.type === 'publish' ? effect.messageId : [])),
  );
  const hasUnread = new Map(
    draft.all('agent').map(({ id, endedAtMs }) => {
      return [id, endedAtMs === undefined && herd.unread(id) > 0] as const;
    }),
  );
  return ({ id, targetId }) =>
    targetId === SHEPHERD_ID || isUnderWay.has(id) || hasUnread.get(targetId) === true;
}

/** Removes finished tasks that are over the bounds, except those that `isKept` names. */
export function forgetTasks(
  frame: Frame,
  retention: Retention,
  isKept: (task: TaskRecord) => boolean = () => false,
): readonly TaskRecord[] {
  const unreported = unreportedText(frame);
  const tasks = finished(frame, 'task', retention, (task) => task.result?.settledAtMs).filter(
    (task) => !unreported.includes(task.id) && !isKept(task),
  );
  for (const task of tasks) forgetTask(frame, task);
  return tasks;
}

/** Everything that is still to be told, as one text to look ids up in. */
function unreportedText(frame: Frame): string {
  const undelivered = frame.draft
    .all('notice')
    .filter(({ delivered, isDead }) => !delivered && isDead !== true);
  const held = frame.herd.watchers().flatMap((watcher) => watcher.getSnapshot().context.settled);
  return JSON.stringify([undelivered, held]);
}

function forgetTask(frame: Frame, task: TaskRecord): void {
  const { draft } = frame;
  const launch = task.attempts.at(-1)?.launch;
  if (task.attachment !== undefined && launch !== undefined) {
    const { file } = task.attachment;
    frame.effect({ type: 'detach', agentId: task.agentId, launch, file });
  }
  draft.remove('task', task.id);
  // Only what is known of it: the file is for people, and stays.
  draft.remove('note', task.id);
  draft.remove('message', task.messageId);
  for (const id of task.requestIds) draft.remove('request', id);
}

/** A key lives as long as its task. */
export function forgetKeys({ draft }: Frame): void {
  for (const { id, taskId } of draft.all('key')) {
    if (draft.get('task', taskId) === undefined) draft.remove('key', id);
  }
}

/** A pair that has been quiet for a minute has nothing to be counted. */
function forgetRates({ draft, nowMs }: Frame): void {
  for (const { id, sentAtMs } of draft.all('rate')) {
    if ((sentAtMs.at(-1) ?? 0) < nowMs - minuteMs) draft.remove('rate', id);
  }
}

/** Removes ended agents that are over the bounds, with their files (RN2). */
export function forgetAgents(frame: Frame, retention: Retention): readonly AgentRecord[] {
  const { draft, herd } = frame;
  const unreported = unreportedText(frame);
  const needed = new Set(draft.all('task').map((task) => task.agentId));
  // What is still to be done about it, as reading its outbox once more, needs what is known of it.
  for (const effect of draft.all('effect')) if ('agentId' in effect) needed.add(effect.agentId);
  const forgotten = finished(frame, 'agent', retention, (agent) => agent.endedAtMs).filter(
    (agent) =>
      !needed.has(agent.id) &&
      !unreported.includes(agent.id) &&
      herd.agent(agent.id) === undefined &&
      agent.error?.code !== 'close_unconfirmed',
  );
  for (const { id, launch: last, superseded = [] } of forgotten) {
    draft.remove('agent', id);
    for (const { launch } of [...superseded, { launch: last }]) {
      frame.effect({ type: 'remove', agentId: id, launch });
    }
  }
  return forgotten;
}
