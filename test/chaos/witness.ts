/** What a parent writes down of its session: notices, as Pi's entries are, and when tasks settled. */
import { join } from 'node:path';
import type { Notice } from '../../src/runtime/shepherd.ts';
import type { Store } from '../../src/runtime/store.ts';
import type { Order } from './order.ts';
import { appendLine, readLines } from './record.ts';
import { noticesFile, settledFile, type Mode, type NoticeLine, type SettledLine } from './scene.ts';

/** What a task is called in every play: no scene has two with the same order. */
export function nameOf(store: Store, taskId: string): string {
  const task = store.get('task', taskId);
  return task === undefined ? taskId : (JSON.parse(task.description) as Order).do;
}

export function createWitness({ dir, mode }: { readonly dir: string; readonly mode: Mode }) {
  const noticesPath = join(dir, noticesFile);
  const openedAtMs = Date.now();

  return {
    /** One that is there is not written again. */
    keepNotice(store: Store, notice: Notice): void {
      const earlier = readLines(noticesPath) as readonly NoticeLine[];
      if (earlier.some(({ id }) => id === notice.id)) return;
      appendLine(noticesPath, {
        id: notice.id,
        tells: tellsOf(store, notice),
      } satisfies NoticeLine);
    },
    watchSettling(inner: Store): Store {
      return {
        ...inner,
        commit(commit) {
          const before = new Map(inner.all('task').map((task) => [task.id, task.result]));
          inner.commit(commit);
          for (const settled of inner.all('task')) {
            if (settled.result === undefined || before.get(settled.id) !== undefined) continue;
            const request = inner.get('request', settled.requestIds[0] ?? '');
            const deadlineAtMs = {
              reply_deadline: request?.deadlineAtMs ?? null,
              task_deadline: settled.deadlineAtMs,
            }[String(settled.cause)];
            appendLine(join(dir, settledFile), {
              task: nameOf(inner, settled.id),
              atMs: Date.now(),
              // Of a clock that was put ahead it says nothing.
              deadlineAtMs: mode === 'instants' ? null : (deadlineAtMs ?? null),
              openedAtMs,
            } satisfies SettledLine);
          }
        },
      };
    },
  };
}

function tellsOf(store: Store, { kind, details, text }: Notice): readonly string[] {
  const results = (details['results'] ?? []) as readonly { taskId: string; status: string }[];
  if (results.length > 0) {
    return results.map(({ taskId, status }) => `outcome ${nameOf(store, taskId)} ${status}`);
  }
  const about = nameOf(store, String(details['taskId']));
  if (kind === 'shepherd.stale.wait') return [`stale ${about}`];
  if (kind === 'shepherd.notice' && typeof details['status'] === 'string') {
    return [`outcome ${about} ${details['status']}`];
  }
  const last = text.split('\n').at(-1) ?? '';
  return [`${kind} ${last.replaceAll(/shepherd-(\w+)-\w+/g, 'that $1')}`];
}
