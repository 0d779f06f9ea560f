/**
 * Who hears of committed changes: listeners, and calls that wait for something to become true.
 *
 * CF1. Changes are told in the order of their commits, and only once they are committed.
 * CF2. A listener that throws is cut off; the session goes on.
 */
import type { Table, Tables } from './records.ts';
import type { Change } from './shepherd.ts';
import type { Draft, Store } from './store.ts';
import { viewAgent, viewRequest, viewTask } from './views.ts';

export interface ChangeFeed {
  on(listener: (change: Change) => void): () => void;
  /** Resolves with the first value that is not `undefined`, asked now and at each `recheck`. */
  until<T>(read: () => T | undefined, signal?: AbortSignal): Promise<T>;
  /** Tells what a committed draft has changed. */
  emit(draft: Draft): void;
  recheck(): void;
}

/** Creates the feed of one session. */
export function createChangeFeed(ports: {
  readonly store: Store;
  /** Epoch ms. */
  readonly wall: () => number;
}): ChangeFeed {
  const { store, wall } = ports;
  const listeners = new Set<(change: Change) => void>();
  const checks = new Set<() => void>();

  function changesOf(put: { readonly table: Table; readonly record: Tables[Table] }): Change[] {
    const { table, record } = put;
    const atMs = wall();
    switch (table) {
      case 'agent':
        return [{ type: table, atMs, agent: viewAgent(store, record as never, atMs) }];
      case 'task':
        return [{ type: table, atMs, task: viewTask(store, record as never, atMs) }];
      case 'request':
        return [{ type: table, atMs, request: viewRequest(store, record as never) }];
      case 'notice': {
        const found = store.get('notice', record.id);
        return found === undefined || found.delivered || found.isDead === true
          ? []
          : [{ type: table, atMs, notice: found.notice }];
      }
      case 'message':
      case 'seen':
      case 'effect':
      case 'rate':
      case 'key':
      case 'prompt':
      case 'note':
        return [];
    }
  }

  return {
    on(listener) {
      const own = (change: Change) => listener(change);
      listeners.add(own);
      return () => listeners.delete(own);
    },
    until(read, signal) {
      return new Promise((resolve, reject) => {
        const stop = () => {
          checks.delete(check);
          signal?.removeEventListener('abort', abort);
        };
        const abort = () => {
          stop();
          reject(signal?.reason as Error);
        };
        const check = () => {
          try {
            const value = read();
            if (value === undefined) return;
            stop();
            resolve(value);
          } catch (error) {
            stop();
            reject(error);
          }
        };
        if (signal?.aborted === true) return abort();
        signal?.addEventListener('abort', abort);
        checks.add(check);
        check();
      });
    },
    emit(draft) {
      if (listeners.size === 0) return;
      const changes = draft.changes().puts.flatMap(changesOf);
      for (const listener of listeners) {
        try {
          for (const change of changes) listener(change);
        } catch {
          listeners.delete(listener);
        }
      }
    },
    recheck() {
      for (const check of checks) check();
    },
  };
}
