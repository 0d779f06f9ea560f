/**
 * Reads a running session from its store, from outside, and tells what happened in order.
 *
 * Read-only: the session's own process is the only one that writes.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SHEPHERD_ID } from '../../ids.ts';
import type { RequestRecord } from '../../runtime/records.ts';
import { excerpt, nameOf } from '../../runtime/router.ts';
import { openSessionStore } from '../../runtime/session-store.ts';
import type { JournalRow, Store } from '../../runtime/store.ts';
import { readRefusals } from './conversation.ts';

/** One thing that happened, for people; `atMs` is epoch ms. */
export interface StoryLine {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
  /** Of a task's change: its new state. */
  readonly state?: string;
}

export interface Story {
  /** Absolute path of the session's directory; undefined until there is one. */
  readonly sessionDir: string | undefined;
  readonly store: Store | undefined;
  /** What has happened since the last call, oldest first. */
  read(): readonly StoryLine[];
  close(): void;
}

/** Follows the session that begins in `stateDir`. */
export function followStory(stateDir: string): Story {
  let store: Store | undefined;
  let sessionDir: string | undefined;
  let lastRow = 0;
  const told = new Set<string>();
  const agentStates = new Map<string, string>();
  const recoveries = new Map<string, string>();

  function open(): Store | undefined {
    if (store !== undefined) return store;
    const names = existsSync(stateDir) ? readdirSync(stateDir) : [];
    const dir = names.find((name) => existsSync(join(stateDir, name, 'session.db-wal')));
    if (dir === undefined) return undefined;
    try {
      store = openSessionStore(join(stateDir, dir, 'session.db'), { readOnly: true });
      sessionDir = join(stateDir, dir);
    } catch {
      // Made this instant, and not complete yet: the next look finds it.
    }
    return store;
  }

  function once(key: string, line: StoryLine): readonly StoryLine[] {
    if (told.has(key)) return [];
    told.add(key);
    return [line];
  }

  /** What the journal has since the last call. */
  function newRows(session: Store): readonly JournalRow[] {
    const rows = session.journal({ after: lastRow, limit: 1_000 });
    lastRow = rows.at(-1)?.seq ?? lastRow;
    return rows;
  }

  function agentLines(session: Store, rows: readonly JournalRow[]): StoryLine[] {
    return rows.flatMap((row) =>
      row.actors.flatMap((actor) => {
        const line = { atMs: row.atMs, who: nameOf(session, actor.id) };
        const recovery = recoveryTexts.get(regionOf(actor.value, 'recovery') ?? '');
        const isNews = recovery !== undefined && recoveries.get(actor.id) !== recovery;
        if (recovery !== undefined) recoveries.set(actor.id, recovery);
        const stall = isNews ? [{ ...line, what: recovery }] : [];
        const state = regionOf(actor.value, 'process');
        if (state === undefined || agentStates.get(actor.id) === state) return stall;
        const before = agentStates.get(actor.id);
        agentStates.set(actor.id, state);
        return [...stall, { ...line, what: describeProcess(before, state) }];
      }),
    );
  }

  function taskLines(session: Store): StoryLine[] {
    return session.all('task').flatMap((task) => {
      const who = nameOf(session, task.agentId);
      const { summary, error } = task.result ?? {};
      const end = summary ?? error;
      const late = task.lateEvents.flatMap(({ kind, fromId, atMs, text }, index) =>
        once(`${task.id}/late/${index}`, {
          atMs,
          who,
          what: `task has settled: ${kind} of ${nameOf(session, fromId)} is kept as late: “${text}”`,
        }),
      );
      const changes = task.states.flatMap(({ state, atMs }, index) =>
        once(`${task.id}/${index}`, {
          atMs,
          who,
          what:
            index === 0
              ? `is given a task by the Shepherd: “${task.description}”`
              : `task is ${state}${state === task.state && end !== undefined ? `: “${end}”` : ''}`,
          state,
        }),
      );
      return [...changes, ...late];
    });
  }

  function requestLines(session: Store): StoryLine[] {
    return session.all('request').flatMap((request) => {
      const asker = nameOf(session, request.askerId);
      const recipient = nameOf(session, request.recipientId);
      const asked = once(`${request.id}/open`, {
        atMs: request.openedAtMs,
        who: asker,
        what: `asks ${recipient}: “${request.question}”`,
      });
      if (request.state === 'open') return asked;
      const settled = {
        atMs: request.settledAtMs ?? request.openedAtMs,
        who: recipient,
        what: settledTexts[request.state](asker),
      };
      return [...asked, ...once(`${request.id}/settled`, settled)];
    });
  }

  /** What is neither a task nor a question nor the answer to one. */
  function messageLines(session: Store): StoryLine[] {
    return session.all('message').flatMap(({ id, kind, senderId, targetId, atMs, hops }) => {
      const isAnswer = kind === 'reply' && hops === 0;
      if (kind === 'task' || isAnswer || session.get('request', id) !== undefined) return [];
      const row = hops > 1 ? ` (number ${hops} in a row)` : '';
      const to = nameOf(session, targetId);
      return once(id, { atMs, who: nameOf(session, senderId), what: `writes to ${to}${row}` });
    });
  }

  function refusalLines(session: Store, rows: readonly JournalRow[]): StoryLine[] {
    return readRefusals(session, rows).flatMap(({ messageId, fromId, atMs, code, message }) =>
      once(`${messageId}/refused`, {
        atMs,
        who: nameOf(session, fromId),
        what: `is refused: ${code}: ${message}`,
        state: 'failed',
      }),
    );
  }

  function noticeLines(session: Store): StoryLine[] {
    return session.all('notice').flatMap(({ notice, delivered }) => {
      const { id, kind, atMs, text } = notice;
      const isMessage = kind === 'shepherd.message.incoming' || kind === 'shepherd.message.reply';
      if (!delivered || isMessage) return [];
      const [line = ''] = text.split('\n');
      const what =
        kind === 'shepherd.task.completion'
          ? 'is woken with the result'
          : `is told, and not woken: ${excerpt(line, 200)}`;
      return once(id, { atMs, who: nameOf(session, SHEPHERD_ID), what });
    });
  }

  return {
    get sessionDir() {
      return sessionDir;
    },
    get store() {
      return store;
    },
    read() {
      const session = open();
      if (session === undefined) return [];
      const rows = newRows(session);
      return [
        ...agentLines(session, rows),
        ...taskLines(session),
        ...requestLines(session),
        ...messageLines(session),
        ...refusalLines(session, rows),
        ...noticeLines(session),
      ].toSorted((a, b) => a.atMs - b.atMs);
    },
    close() {
      store?.close();
      store = undefined;
    },
  };
}

/** What became of a question, of its recipient. */
const settledTexts: Readonly<Record<RequestRecord['state'], (asker: string) => string>> = {
  open: (asker) => `is asked by ${asker}`,
  answered: (asker) => `answers ${asker}`,
  expired: (asker) => `has not answered ${asker} in time`,
  recipient_gone: (asker) => `is gone (recipient_gone): ${asker} is told`,
  cancelled: (asker) => `need not answer ${asker} any more: the question is cancelled`,
};

/** What the chart does about a silent child, in words. */
const recoveryTexts = new Map([
  ['suspected', 'shows nothing any more: it has stalled'],
  ['verifying', 'is looked at: its process, its transcript'],
  ['bailing', 'is ended: its turn is aborted, then its process'],
  ['dispatching', 'is replaced: a fresh child gets its task, with a brief'],
  ['recovered', 'has recovered'],
  ['surfaced', 'is left to the Shepherd'],
]);

/** The state in a region of an agent's value; undefined for other actors. */
function regionOf(value: unknown, region: 'process' | 'recovery'): string | undefined {
  if (typeof value !== 'object' || value === null || !('process' in value)) return undefined;
  const state: unknown = Reflect.get(value, region);
  if (typeof state === 'string') return state;
  return typeof state === 'object' && state !== null && 'ready' in state
    ? String(state.ready)
    : undefined;
}

function describeProcess(before: string | undefined, state: string): string {
  if (before === undefined) return 'is spawned';
  if (before === 'starting' && state === 'idle') return 'says hello and is ready';
  if (state === 'working') return 'works (a turn begins)';
  if (state === 'idle') return 'is idle (the turn has ended)';
  return `is ${state}`;
}
