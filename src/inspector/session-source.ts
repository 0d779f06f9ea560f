/**
 * What a session's store says, in the shapes of the page; also while its owner writes to it.
 *
 * SS1. It only reads, and never needs the session's lock.
 * SS2. Secrets and places stay in the store.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeOwner } from '../hosts/owner.ts';
import { findEnvelope } from '../mailbox/find-envelope.ts';
import { excerpt, nameOf } from '../runtime/router.ts';
import { notePathInSession } from '../runtime/session-dir.ts';
import type { ActorState, JournalRow, Store } from '../runtime/store.ts';
import { viewMessage, viewRequest, viewTask } from '../runtime/views.ts';
import { machineOf, underOf } from './actors.ts';
import type {
  ActorReport,
  ContextReport,
  EnvelopeReport,
  NamesReport,
  RowReport,
  SessionReport,
  TaskReport,
} from './report.ts';

export interface SessionSource {
  /** Steps after `after`, oldest first, at most `limit`. */
  rows(after: number, limit: number): readonly RowReport[];
  session(): Promise<SessionReport>;
  names(): NamesReport;
  /** The actor as the step `seq` left it; undefined for a step that did not touch it. */
  actor(id: string, seq: number): ContextReport | undefined;
  task(id: string): TaskReport | undefined;
  /** Undefined for one that lies nowhere any more. */
  envelope(messageId: string): EnvelopeReport | undefined;
}

export interface SessionSourceOptions {
  readonly store: Store;
  /** Name of the session's directory, and the directory. */
  readonly name: string;
  readonly dir: string;
  /** Epoch ms. */
  readonly now: () => number;
}

const descriptionCharacters = 200;

export function createSessionSource(options: SessionSourceOptions): SessionSource {
  const { store, name, dir, now } = options;

  return {
    rows: (after, limit) => store.journal({ after, limit }).map(toReport),

    async session() {
      const owner = store.owner();
      if (owner === undefined) return { name, dir, isLive: false, owner: 'no owner' };
      const verdict = owner.state === 'held' ? await judgeOwner(owner.identity) : undefined;
      return {
        name,
        dir,
        isLive: verdict === 'alive' || verdict === 'unknown',
        owner: verdict === undefined ? owner.state : `held by ${owner.identity.pid} (${verdict})`,
      };
    },

    names: () => ({
      agents: store.all('agent').map(({ id, definition, label, state }) => ({
        id,
        agent: definition.name,
        label,
        state,
      })),
      tasks: store.all('task').map(({ id, agentId, description, state }) => ({
        id,
        agentId,
        description: excerpt(description.split('\n', 1)[0] ?? '', descriptionCharacters),
        state,
      })),
    }),

    actor(id, seq) {
      const [row] = store.journal({ after: seq - 1, limit: 1 });
      const state = row?.actors.find((actor) => actor.id === id);
      if (row?.seq !== seq || state === undefined) return undefined;
      return { id, seq, value: state.value, context: state.context };
    },

    task(id) {
      const record = store.get('task', id);
      if (record === undefined) return undefined;
      const task = viewTask(store, record, now());
      return {
        task,
        agentName: nameOf(store, record.agentId),
        messages: store
          .all('message')
          .filter(({ taskId }) => taskId === id)
          .map((message) => viewMessage(store, message)),
        requests: store
          .all('request')
          .filter(({ taskId }) => taskId === id)
          .map((request) => viewRequest(store, request)),
        note: noteText(store.get('note', id)?.file ?? undefined),
      };
    },

    envelope(messageId) {
      const found = findEnvelope(join(dir, 'mailbox'), messageId);
      if (found === undefined) return undefined;
      const { mac, ...envelope } = found;
      return { messageId, envelope };
    },
  };

  function noteText(file: string | undefined): string | null {
    if (file === undefined) return null;
    try {
      return readFileSync(join(dir, notePathInSession(file)), 'utf8');
    } catch {
      // A note is the user's to move or delete.
      return null;
    }
  }
}

function toReport(row: JournalRow & { readonly seq: number }): RowReport {
  const { seq, atMs, input, error, actors, taken = [], moves, receipts = [] } = row;
  return {
    seq,
    atMs,
    input,
    ...(error === undefined ? {} : { error }),
    actors: actors.map(toActor),
    taken,
    moves,
    receipts,
  };
}

function toActor({ id, value, context }: ActorState): ActorReport {
  const machine = machineOf(id);
  return { id, machine, under: underOf(machine, context), value };
}
