/**
 * The live actors of one session, and the one way to change them: a step.
 *
 * Owns: creating, restoring, rolling back and reaping actors; that a step is kept whole or not at
 * all. Never: what an input means (`commands.ts`, `envelopes.ts`), what happens outside (`effects.ts`).
 *
 * HD1. A step takes one input to changed records, snapshots and a list of effects, committed at once.
 * HD2. A step that throws leaves everything as it was: refused calls have changed nothing.
 * HD3. An actor that throws is rolled back; what it owned fails in a step of its own.
 * HD4. Time stands still within a step.
 */
import {
  createActor,
  type ActorRefFrom,
  type AnyActorRef,
  type InspectedMicrostepEvent,
  type InspectionEvent,
} from 'xstate';
import type {
  AgentInput,
  RequestInput,
  SessionActor,
  PromptActor,
  TaskActor,
  WatcherInput,
} from '../../machines/index.ts';
import { ShepherdError, TaskError } from '../errors.ts';
import type { IdMaker } from '../ids.ts';
import { createCharts, type Charts, type Fact } from './charts.ts';
import type { ActorClock, DueTimer } from './clock.ts';
import { describeMove } from './describe-move.ts';
import type { Policy } from './policy.ts';
import type { Effect, EffectBody } from './records.ts';
import {
  createDraft,
  type ActorState,
  type Draft,
  type JournalRow,
  type Move,
  type Store,
  type Taken,
} from './store.ts';

export type LiveAgent = ActorRefFrom<Charts['agent']>;
export type LiveRequest = ActorRefFrom<Charts['request']>;

const sessionActorId = 'session';

/** The step that runs: what its handlers read, change and cause. */
export interface Frame {
  readonly herd: Herd;
  readonly nowMs: number;
  readonly draft: Draft;
  /** Sends and then applies every fact that charts recorded on the way. */
  send(actor: AnyActorRef, event: Parameters<AnyActorRef['send']>[0]): void;
  /** Lets a due timer reach its actor; otherwise like `send`. */
  fire(due: DueTimer): void;
  /** Adds to what happens after commit; the journal has each envelope that is sent. */
  effect(body: EffectBody): Effect;
  /** Notes an envelope's way in the journal, where it is not sent. */
  move(move: Move): void;
  /** Says in the journal that what came in from there was late. */
  noteLate(senderId: string): void;
  /** Says in the journal how far a message has come. */
  noteReceipt(receipt: NonNullable<JournalRow['receipts']>[number]): void;
  /** Says in the journal what went wrong and led to this step. */
  noteError(error: string): void;
  /** Why charts refused something in this step; the sender's verdict. */
  readonly refusals: ShepherdError[];
}

export interface Herd {
  readonly store: Store;
  readonly clock: ActorClock;
  readonly ids: IdMaker;
  readonly policy: Policy;
  /** Envelopes that lie unread in an agent's inbox. */
  readonly unread: (agentId: string) => number;
  readonly session: SessionActor;
  /** A live agent; ended ones have records only. */
  agent(id: string): LiveAgent | undefined;
  agents(): readonly LiveAgent[];
  /** The actor of an open task of a live agent. */
  task(agentId: string, taskId: string): TaskActor | undefined;
  /** The actor of an open prompt of a live agent. */
  prompt(agentId: string, promptId: string): PromptActor | undefined;
  /** The actor of an open request, wherever it hangs. */
  request(id: string): LiveRequest | undefined;
  /** Ids of every open request of the session. */
  openRequestIds(): readonly string[];
  watchers(): readonly ActorRefFrom<Charts['watcher']>[];
  startAgent(input: AgentInput): void;
  startRequest(input: RequestInput): void;
  startWatcher(input: WatcherInput): void;
  /** Marks a finished top-level actor: it is stopped with the commit of this step. */
  reap(actorId: string): void;
  /**
   * Runs one step; returns what `work` returned and the effects that are to follow.
   *
   * @throws what `work` threw, or MailboxError `disk_error` when the commit failed: nothing has
   * changed then (HD2). TaskError `internal_error` when a chart threw; it has been contained (HD3).
   */
  step<T>(
    input: string,
    nowMs: number,
    work: (frame: Frame) => T,
  ): { readonly answer: T; readonly effects: readonly Effect[]; readonly draft: Draft };
  /**
   * Has the steps within `work` share a commit; `work` returns false to lose them all.
   *
   * Returns whether they were kept; if not, every actor is as it was before (HD2). Their effects must
   * wait until this has returned.
   */
  batch(work: () => boolean): boolean;
  stop(): void;
}

export interface HerdOptions {
  readonly sessionId: string;
  readonly store: Store;
  readonly clock: ActorClock;
  readonly ids: IdMaker;
  readonly policy: Policy;
  readonly unread: (agentId: string) => number;
  /** Applies one fact of the charts to the running step. */
  readonly applyFact: (frame: Frame, fact: Fact) => void;
  readonly inspect?: ((event: InspectionEvent) => void) | undefined;
}

interface RunningStep {
  readonly frame: Frame;
  readonly facts: Fact[];
  readonly effects: Effect[];
  readonly moves: Move[];
  readonly receipts: NonNullable<JournalRow['receipts']>[number][];
  readonly taken: Taken[];
  readonly touched: Set<string>;
  readonly reaped: Set<string>;
  /** Actors below others that have ended, by id: they are gone before the commit. */
  readonly finished: Map<string, ActorState>;
  error: string | undefined;
  crash: { readonly actorId: string; readonly error: unknown } | undefined;
}

type TopLevel = 'agent' | 'request' | 'watcher';

function kindOf(id: string): TopLevel {
  if (id.startsWith('shepherd-agent-')) return 'agent';
  return id.startsWith('shepherd-watch-') ? 'watcher' : 'request';
}

/** Creates the herd of a session, or restores it when the store has snapshots. */
export function createHerd(options: HerdOptions): Herd {
  const { store, clock, ids } = options;
  const actors = new Map<string, AnyActorRef>();
  let running: RunningStep | undefined;
  /** Actors that the steps of the running batch touched. */
  let batched: Set<string> | undefined;

  const charts = createCharts({
    record: (fact) => {
      if (fact.type === 'actor.crashed' && running !== undefined) {
        running.crash ??= { actorId: fact.actorId, error: fact.error };
      }
      running?.facts.push(fact);
    },
    now: () => clock.now(),
    find: (actorId) => actors.get(actorId),
  });

  /** The journal names the transitions of a step; XState tells of them here only. */
  function inspect(event: InspectionEvent): void {
    if (event.type === '@xstate.microstep') running?.taken.push(...transitionsOf(event));
    options.inspect?.(event);
  }

  let session = startSession(store.snapshot(sessionActorId));

  function startSession(snapshot: unknown): SessionActor {
    const actor = createActor(charts.session, {
      id: sessionActorId,
      clock,
      input: { sessionId: options.sessionId },
      ...(snapshot === undefined ? {} : { snapshot: snapshot as never }),
      inspect,
    });
    observe(sessionActorId, actor);
    actor.start();
    return actor;
  }

  /** Marks the top-level actor as touched whenever it or an actor below it changes. */
  function observe(topId: string, actor: AnyActorRef): void {
    actor.subscribe({
      next: (snapshot: ReturnType<AnyActorRef['getSnapshot']>) => {
        if (running === undefined) return;
        running.touched.add(topId);
        // Also one that begins and ends within this step.
        observeBelow(topId, actor);
        if (snapshot.status === 'active') return;
        const { value, context } = actor.getPersistedSnapshot() as PersistedActor;
        running.finished.set(actor.id, { id: actor.id, value, context });
      },
      error: (error) => {
        if (running === undefined) return;
        running.touched.add(topId);
        running.crash ??= { actorId: topId, error };
      },
    });
  }

  const observedBelow = new WeakSet<AnyActorRef>();
  function observeBelow(topId: string, actor: AnyActorRef): void {
    for (const child of Object.values(childrenOf(actor))) {
      if (!observedBelow.has(child)) {
        observedBelow.add(child);
        observe(topId, child);
      }
      observeBelow(topId, child);
    }
  }

  function start(kind: TopLevel, id: string, from: { input?: unknown; snapshot?: unknown }): void {
    const actor = createActor(charts[kind] as Charts['agent'], {
      parent: session,
      id,
      ...(from as { input: AgentInput }),
    });
    actors.set(id, actor);
    observe(id, actor);
    actor.start();
    observeBelow(id, actor);
    running?.touched.add(id);
  }

  function restore(id: string, snapshot: unknown): void {
    start(kindOf(id), id, { snapshot });
    actors.get(id)?.send({ type: 'session.resumed' });
  }

  /** Stops an actor and forgets it. A session that has closed is past stopping anything. */
  function discard(id: string): void {
    if (session.getSnapshot().status === 'active')
      session.send({ type: 'actor.reap', actorId: id });
    actors.delete(id);
  }

  /** Actors that are rolled back as soon as the disk gives their snapshots. */
  const spoiled = new Set<string>();

  function rollBack(touched: ReadonlySet<string>): void {
    for (const id of touched) spoiled.add(id);
    rebuildSpoiled();
  }

  /** @throws MailboxError `disk_error`; the next step tries again, before anything else. */
  function rebuildSpoiled(): void {
    if (spoiled.size === 0) return;
    // Every actor holds its parent: a new session needs new ones below it. Rare, so simple.
    const isWhole = spoiled.has(sessionActorId);
    // All of it is read before anything is discarded.
    const snapshots = new Map(
      isWhole ? store.snapshots() : [...spoiled].map((id) => [id, store.snapshot(id)]),
    );
    for (const id of isWhole ? [...actors.keys()] : spoiled) discard(id);
    if (isWhole) {
      session.stop();
      session = startSession(snapshots.get(sessionActorId));
    }
    spoiled.clear();
    for (const [id, snapshot] of snapshots) {
      if (id !== sessionActorId && snapshot !== undefined) restore(id, snapshot);
    }
  }

  function drain(step: RunningStep): void {
    for (let fact = step.facts.shift(); fact !== undefined; fact = step.facts.shift()) {
      options.applyFact(step.frame, fact);
    }
  }

  function begin(nowMs: number): RunningStep {
    const draft = createDraft(store);
    const effects: Effect[] = [];
    const moves: Move[] = [];
    const receipts: RunningStep['receipts'] = [];
    let draining = false;

    function advance(move: () => void): void {
      move();
      if (draining) return;
      draining = true;
      try {
        drain(step);
      } finally {
        draining = false;
      }
    }

    const step: RunningStep = {
      facts: [],
      effects,
      moves,
      receipts,
      taken: [],
      touched: new Set(),
      reaped: new Set(),
      finished: new Map(),
      error: undefined,
      crash: undefined,
      frame: {
        herd,
        nowMs,
        draft,
        send: (actor, event) => advance(() => actor.send(event)),
        fire: (due) => advance(due.fire),
        effect(body) {
          const effect = { ...body, id: ids.effectId(nowMs) };
          effects.push(effect);
          draft.put('effect', effect);
          if (effect.type === 'publish') {
            const { messageId, senderId, agentId } = effect;
            moves.push({
              messageId,
              ...describeMove(effect.draft),
              from: senderId,
              to: agentId,
            });
          }
          return effect;
        },
        move: (move) => moves.push(move),
        noteLate(senderId) {
          const [incoming] = moves;
          if (incoming?.from === senderId) moves[0] = { ...incoming, isLate: true };
        },
        noteReceipt: (receipt) => receipts.push(receipt),
        noteError(error) {
          step.error = error;
        },
        refusals: [],
      },
    };
    return step;
  }

  /** Of every touched actor that is there: a reaped one for the last time. */
  function snapshotsOf(step: RunningStep): Map<string, unknown> {
    const taken = new Map<string, unknown>();
    for (const id of step.touched) {
      const actor = id === sessionActorId ? session : actors.get(id);
      if (actor === undefined) continue;
      observeBelow(id, actor);
      taken.set(id, actor.getPersistedSnapshot());
    }
    return taken;
  }

  /** The states of every touched actor, and the last ones of those below them that have ended. */
  function journaled(step: RunningStep, snapshots: ReadonlyMap<string, unknown>) {
    const states = [...snapshots].flatMap(([id, snapshot]) => statesOf(id, snapshot));
    const there = new Set(states.map(({ id }) => id));
    return [...states, ...[...step.finished.values()].filter(({ id }) => !there.has(id))];
  }

  const herd: Herd = {
    store,
    clock,
    ids,
    policy: options.policy,
    unread: options.unread,
    get session() {
      return session;
    },
    agent: (id) => (kindOf(id) === 'agent' ? (actors.get(id) as LiveAgent | undefined) : undefined),
    agents: () =>
      [...actors].flatMap(([id, actor]) => (kindOf(id) === 'agent' ? [actor as LiveAgent] : [])),
    task(agentId, taskId) {
      const agent = herd.agent(agentId);
      return agent && (childrenOf(agent)[taskId] as TaskActor | undefined);
    },
    prompt(agentId, promptId) {
      const agent = herd.agent(agentId);
      return agent && (childrenOf(agent)[promptId] as PromptActor | undefined);
    },
    request(id) {
      const own = actors.get(id);
      if (own !== undefined) return own as LiveRequest;
      for (const agent of herd.agents()) {
        const below = childrenOf(agent);
        const { taskId } = agent.getSnapshot().context;
        const task = taskId === null ? undefined : below[taskId];
        const found = below[id] ?? (task && childrenOf(task)[id]);
        if (found !== undefined) return found as LiveRequest;
      }
      return undefined;
    },
    openRequestIds() {
      const open = [...actors.keys()].filter((id) => kindOf(id) === 'request');
      for (const agent of herd.agents()) {
        const { context } = agent.getSnapshot();
        open.push(...context.requestIds);
        const task = context.taskId === null ? undefined : herd.task(agent.id, context.taskId);
        for (const request of task?.getSnapshot().context.requests ?? []) {
          open.push(request.requestId);
        }
      }
      return open;
    },
    watchers: () =>
      [...actors].flatMap(([id, actor]) =>
        kindOf(id) === 'watcher' ? [actor as ActorRefFrom<Charts['watcher']>] : [],
      ),
    startAgent: (input) => start('agent', input.agentId, { input }),
    startRequest: (input) => start('request', input.requestId, { input }),
    startWatcher: (input) => start('watcher', input.watcherId, { input }),
    reap: (actorId) => running?.reaped.add(actorId),
    step(input, nowMs, work) {
      if (running !== undefined) throw new Error(`step within a step: ${input}`);
      rebuildSpoiled();
      clock.moveTo(nowMs);
      const step = begin(nowMs);
      running = step;
      try {
        const answer = work(step.frame);
        if (step.crash !== undefined) throw crashError(step.crash);
        const snapshots = snapshotsOf(step);
        store.commit({
          ...step.frame.draft.changes(),
          snapshots: new Map(
            [...snapshots].map(([id, snapshot]) => [id, step.reaped.has(id) ? null : snapshot]),
          ),
          journal: {
            atMs: nowMs,
            input,
            actors: journaled(step, snapshots),
            moves: step.moves,
            ...(step.taken.length === 0 ? {} : { taken: step.taken }),
            ...(step.receipts.length === 0 ? {} : { receipts: step.receipts }),
            ...(step.error === undefined ? {} : { error: step.error }),
          },
        });
        for (const id of step.touched) batched?.add(id);
        for (const id of step.reaped) discard(id);
        return { answer, effects: step.effects, draft: step.frame.draft };
      } catch (error) {
        rollBack(step.touched);
        throw error;
      } finally {
        running = undefined;
      }
    },
    batch(work) {
      const touched = new Set<string>();
      batched = touched;
      try {
        store.transaction(() => {
          if (!work()) throw new BatchLost();
        });
        return true;
      } catch (error) {
        rollBack(touched);
        if (error instanceof BatchLost || ShepherdError.is(error)) return false;
        throw error;
      } finally {
        batched = undefined;
      }
    },
    stop() {
      for (const id of actors.keys()) discard(id);
      session.stop();
    },
  };

  for (const [id, snapshot] of store.snapshots()) {
    if (id !== sessionActorId) restore(id, snapshot);
  }
  return herd;
}

/** Thrown and caught within `batch`, to have the store lose it. */
class BatchLost extends Error {}

function childrenOf(actor: AnyActorRef): Readonly<Record<string, AnyActorRef>> {
  return (actor.getSnapshot() as { children?: Record<string, AnyActorRef> }).children ?? {};
}

function crashError(crash: { readonly actorId: string; readonly error: unknown }): TaskError {
  const reason = crash.error instanceof Error ? crash.error.message : String(crash.error);
  return new TaskError('internal_error', `The actor ${crash.actorId} failed: ${reason}`, {
    cause: crash.error,
    data: { actorId: crash.actorId },
  });
}

function transitionsOf(event: InspectedMicrostepEvent): readonly Taken[] {
  const { actorRef, event: cause, _transitions: transitions } = event;
  if (cause.type === 'xstate.init') return [];
  const actorId = 'id' in actorRef && typeof actorRef.id === 'string' ? actorRef.id : '';
  return transitions.map(({ source, target }) => ({
    actorId,
    event: cause.type,
    from: source.id,
    to: target?.map(({ id }) => id) ?? [],
  }));
}

interface PersistedActor {
  readonly value?: unknown;
  readonly context?: unknown;
  readonly children?: Record<string, { readonly snapshot: PersistedActor }>;
}

/** An actor's state and those of the actors below it, as the journal keeps them. */
function statesOf(id: string, snapshot: unknown): readonly ActorState[] {
  const { value, context, children } = snapshot as PersistedActor;
  return [
    { id, value, context },
    ...Object.entries(children ?? {}).flatMap(([childId, child]) =>
      statesOf(childId, child.snapshot),
    ),
  ];
}
