/**
 * The event format of `@statelyai/inspect`, for Stately's own tools: from a running session's actors, or from the
 * journal of any session.
 *
 * ST1. Every actor is announced before anything is said of it.
 * ST2. From the journal there is one snapshot for each actor and step, after the events that led to it; of an event
 *      there is the type, since its content is not kept.
 */
import type {
  ActorRefLike,
  AnyEventObject,
  AnyStateMachine,
  InspectionEvent,
  Snapshot,
} from 'xstate';
import {
  agentMachine,
  promptMachine,
  requestMachine,
  sessionMachine,
  taskMachine,
  watcherMachine,
} from '../../machines/index.ts';
import type { JournalRow } from '../runtime/store.ts';
import type { MachineName } from './report.ts';
import { machineOf, underOf } from './actors.ts';

/** Version of `@statelyai/inspect` whose format this is. */
const version = '0.7.2';

interface Head {
  readonly sessionId: string;
  readonly rootId: string;
  /** Epoch ms, as text. */
  readonly createdAt: string;
  readonly id: string;
  readonly _version: string;
}

interface ShownSnapshot {
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly value?: unknown;
  readonly context?: unknown;
}

export type StatelyEvent =
  | (Head & {
      readonly type: '@xstate.actor';
      readonly name: string;
      readonly parentId: string | undefined;
      /** The machine's config, as JSON. */
      readonly definition: string;
      readonly snapshot: ShownSnapshot;
    })
  | (Head & {
      readonly type: '@xstate.event';
      readonly sourceId: string | undefined;
      readonly event: { readonly type: string };
    })
  | (Head & {
      readonly type: '@xstate.snapshot';
      readonly event: { readonly type: string };
      readonly snapshot: ShownSnapshot;
    });

const machines: Readonly<Record<MachineName, AnyStateMachine>> = {
  session: sessionMachine,
  agent: agentMachine,
  task: taskMachine,
  request: requestMachine,
  prompt: promptMachine,
  watcher: watcherMachine,
};

/** Plain data: actors by their id, functions by their name. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'function') return { type: inner.name };
    if (typeof inner === 'number' && !Number.isFinite(inner)) return String(inner);
    return inner;
  });
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

const definitionOf = (machine: AnyStateMachine): string => JSON.stringify(plain(machine.config));

/**
 * Makes an inspector for `createShepherd({ inspect })` that hands on events in the format of `@statelyai/inspect`.
 *
 * @param send takes each event; what it throws has the inspector cut off, and the session goes on.
 * @param options `now`: epoch ms; default the wall clock.
 */
export function toStatelyInspector(
  send: (event: StatelyEvent) => void,
  options: { readonly now?: () => number } = {},
): (event: InspectionEvent) => void {
  const { now = Date.now } = options;
  let count = 0;
  return (event) => {
    const { actorRef } = event;
    const head = {
      sessionId: actorRef.sessionId,
      rootId: event.rootId,
      createdAt: String(now()),
      id: String((count += 1)),
      _version: version,
    };
    switch (event.type) {
      case '@xstate.actor': {
        const name = nameOf(actorRef);
        send({
          ...head,
          type: event.type,
          name,
          parentId: parentOf(actorRef),
          definition: definitionOf(machines[machineOf(name)]),
          snapshot: shown(actorRef.getSnapshot()),
        });
        return;
      }
      case '@xstate.event': {
        const sourceId = event.sourceRef?.sessionId;
        send({ ...head, type: event.type, sourceId, event: plainEvent(event.event) });
        return;
      }
      case '@xstate.snapshot': {
        const snapshot = shown(event.snapshot);
        send({ ...head, type: event.type, event: plainEvent(event.event), snapshot });
        return;
      }
      case '@xstate.microstep':
      case '@xstate.action':
      case '@xstate.transition':
    }
  };
}

/** XState's type leaves out what every actor of a statechart has. */
function nameOf(actor: ActorRefLike): string {
  return 'id' in actor && typeof actor.id === 'string' ? actor.id : actor.sessionId;
}

function parentOf(actor: ActorRefLike): string | undefined {
  const parent: unknown = Reflect.get(actor, '_parent');
  const id: unknown = Object(parent) === parent ? Reflect.get(Object(parent), 'sessionId') : '';
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function plainEvent(event: AnyEventObject): { readonly type: string } {
  const parts = Object.entries(event).map(([name, value]) => [name, plain(value)]);
  return { ...Object.fromEntries(parts), type: event.type };
}

function shown(snapshot: Snapshot<unknown>): ShownSnapshot {
  const { status } = snapshot;
  return {
    status,
    ...('value' in snapshot ? { value: plain(snapshot.value) } : {}),
    ...('context' in snapshot ? { context: plain(snapshot.context) } : {}),
  };
}

/** Turns journal rows, in their order, into events. */
export function createStatelyHistory(): (
  row: JournalRow & { readonly seq: number },
) => readonly StatelyEvent[] {
  const known = new Set<string>();
  let count = 0;

  return ({ atMs, actors, taken = [] }) =>
    actors.flatMap(({ id, value, context }): readonly StatelyEvent[] => {
      const machine = machineOf(id);
      const head = (): Head => ({
        sessionId: id,
        rootId: 'session',
        createdAt: String(atMs),
        id: String((count += 1)),
        _version: version,
      });
      const snapshot = { status: statusOf(machine, value), value, context };
      const events = taken.filter(({ actorId }) => actorId === id).map(({ event }) => event);
      const isNew = !known.has(id);
      known.add(id);
      return [
        ...(isNew
          ? [
              {
                ...head(),
                type: '@xstate.actor' as const,
                name: id,
                parentId: underOf(machine, context) ?? undefined,
                definition: definitionOf(machines[machine]),
                snapshot,
              },
            ]
          : []),
        ...events.map((type) => ({
          ...head(),
          type: '@xstate.event' as const,
          sourceId: undefined,
          event: { type },
        })),
        {
          ...head(),
          type: '@xstate.snapshot' as const,
          event: { type: events.at(-1) ?? 'xstate.init' },
          snapshot,
        },
      ];
    });
}

/** A chart that is in a final state of its root is done. */
function statusOf(machine: MachineName, value: unknown): ShownSnapshot['status'] {
  const state = typeof value === 'string' ? machines[machine].root.states[value] : undefined;
  return state?.type === 'final' ? 'done' : 'active';
}
