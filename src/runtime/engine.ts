/**
 * Runs a session: inputs become steps, committed steps become effects and changes.
 *
 * Owns: that listeners hear of a commit, in order (`changes.ts`), and that its effects follow. Never:
 * what an input or an effect means.
 *
 * G1. Nothing happens outside before the step that caused it is committed.
 * G2. A crashing chart is contained in a step of its own; the input that caused it is not repeated.
 */
import { ConfigError, isDiskError, ShepherdError, TaskError, describeError } from '../errors.ts';
import type { AgentHost } from '../hosts/host.ts';
import type { IdMaker } from '../ids.ts';
import type { Envelope } from '../mailbox/envelope.ts';
import type { Claimed, Mailbox } from '../mailbox/mailbox.ts';
import { tellOfAbsence, watchForAbsence } from './absence.ts';
import { createSessionBoxes, incarnationOf, isOver, type RetireEffect } from './boxes.ts';
import { createChangeFeed } from './changes.ts';
import { createActorClock, driveClock, type DueTimer } from './clock.ts';
import { createEffectQueue } from './effects.ts';
import { containCrash, refuseCrashed } from './envelopes.ts';
import { applyFact } from './facts.ts';
import { createInspectorFeed, type Inspector } from './inspector-feed.ts';
import { isNoteTroubleNew, tellNoteTrouble } from './fieldnotes.ts';
import { createHerd, type Frame, type Herd } from './herd.ts';
import type { EffectOutcome } from './effect-outcome.ts';
import { confirmEffect, handleExit, noteDialog } from './outcomes.ts';
import type { LivePolicy } from './live-options.ts';
import type { Policy, Retention } from './policy.ts';
import { isHeard, receiveEnvelope } from './receive.ts';
import { createPump } from './pump.ts';
import { forgetFinished } from './retention.ts';
import { sendPassiveNotice } from './notices.ts';
import type { Effect } from './records.ts';
import type { Change } from './shepherd.ts';
import { createSignsOfLife } from './signs-of-life.ts';
import type { Draft, Store } from './store.ts';

export interface EngineOptions {
  readonly sessionId: string;
  readonly store: Store;
  readonly mailbox: Mailbox;
  readonly host: AgentHost;
  readonly ids: IdMaker;
  readonly policy: Policy;
  readonly retention: Retention;
  /** Epoch ms. */
  readonly wall: () => number;
  /** Ms that only rise; undefined where time is not the host's own, which then is never away. */
  readonly monotonic: (() => number) | undefined;
  /** Does one effect outside (`perform.ts`). */
  readonly perform: (
    effect: Exclude<Effect, RetireEffect>,
  ) => EffectOutcome | Promise<EffectOutcome>;
  readonly inspect?: Inspector | undefined;
}

export interface Engine {
  readonly herd: Herd;
  /**
   * Runs a command as a step, begins its effects, and tells how those of a type went. Notices may take
   * until the parent's turn has ended.
   *
   * @throws what the command refused with; nothing has changed then.
   */
  command<T>(
    name: string,
    work: (frame: Frame) => T,
  ): {
    readonly answer: T;
    readonly outcomesOf: (type: Effect['type']) => Promise<readonly EffectOutcome[]>;
  };
  /**
   * Runs a step that has no caller to be told: a crash is contained; `unkept` when the disk would not
   * have it.
   */
  attempt(name: string, work: (frame: Frame) => void): 'done' | 'contained' | 'unkept';
  /** Changes the rules for what begins from now on, and for waits that nobody was reminded of. */
  configure(rules: Partial<LivePolicy>): void;
  /** Resolves with the first value that is not `undefined`, asked now and after each commit. */
  until<T>(read: () => T | undefined, signal?: AbortSignal): Promise<T>;
  on(listener: (change: Change) => void): () => void;
  /** Resolves when nothing is being started or ended any more. */
  placesIdle(): Promise<void>;
  /** Takes up what an earlier process left: boxes, places, and effects that were not confirmed. */
  resume(): Promise<void>;
  /** Ends timers, watches and actors; processes and files stay. Idempotent. */
  stop(): void;
}

/** What the step after a crash is to know and to do. */
interface CrashHandling {
  /** A timer crashed again: it would for ever, so what it belongs to has to end. */
  readonly isTimer?: boolean;
  /** Tells whoever caused the input. */
  readonly answer?: (frame: Frame) => void;
}

/** Timers that may crash one after the other before the rest has to wait for the next look. */
const maxCrashesInARow = 16;

/** Steps between two looks at what can be forgotten. */
const forgetEvery = 5_000;

/** Creates the engine over a store; actors that the store holds are restored. */
export function createEngine(options: EngineOptions): Engine {
  const { store, mailbox, host, ids, policy, wall } = options;
  const clock = createActorClock(wall());
  const feed = createChangeFeed({ store, wall });
  const outcomes = new Map<string, (outcome: EffectOutcome) => void>();
  let stopped = false;
  /** How often the disk has kept a step, or a batch of them, from being kept. */
  let unkept = 0;
  let stepsSinceForgetting = 0;
  let crashesInARow = 0;
  const boxes = createSessionBoxes({ store, mailbox });
  const signsOfLife = createSignsOfLife();
  const absence = watchForAbsence({ wall, monotonic: options.monotonic });

  const herd = createHerd({
    sessionId: options.sessionId,
    store,
    clock,
    ids,
    policy,
    applyFact,
    inspect:
      options.inspect &&
      createInspectorFeed({ inspector: options.inspect, onCutOff: noteInspectorCutOff }),
    unread: (agentId) => (herd.agent(agentId) === undefined ? 0 : boxes.depth(agentId)),
  });

  const effects = createEffectQueue({
    // Nobody waits for a note, also not who delegates its task.
    isAwaited: (effect) => effect.type !== 'note' && outcomes.has(effect.id),
    onTrouble(effect, error) {
      if (effect.type !== 'note' || !isNoteTroubleNew(store, effect.taskId)) return;
      attempt('note trouble', (frame) => tellNoteTrouble(frame, effect.taskId, error));
    },
    // Not within the step that ended the agent: it is closed when its outcome is kept.
    perform: (effect) =>
      effect.type === 'retire' ? Promise.resolve({ ok: true }) : options.perform(effect),
    confirm(effect, outcome) {
      const unread = isOver(effect, outcome) ? closeBoxes(effect) : [];
      if (unread === undefined) return false;
      const result = attempt(`effect ${effect.type}`, (frame) =>
        confirmEffect(frame, effect, outcome, unread),
      );
      if (result === 'unkept') return false;
      outcomes.get(effect.id)?.(outcome);
      outcomes.delete(effect.id);
      return true;
    },
  });

  function noteInspectorCutOff(reason: string): void {
    if (stopped) return;
    const text = `The inspector was cut off: ${reason}. The session goes on without it.`;
    attempt('inspector cut off', (frame) => {
      frame.noteError(text);
      sendPassiveNotice(frame, text, { code: 'inspector_cut_off' });
    });
  }

  /** Reads the outbox of an incarnation that is over once more and closes it; what lies there is late. */
  function closeBoxes(effect: Parameters<typeof boxes.close>[0]): readonly Envelope[] | undefined {
    const before = unkept;
    pump.drain();
    if (stopped || unkept > before || mailbox.isBehind()) return undefined;
    return boxes.close(effect);
  }

  const pump = createPump({
    mailbox,
    clock,
    wall,
    batch,
    onEnvelope: handleMail,
    onExit: ({ from, exit }) =>
      attempt('host exited', (frame) => handleExit(frame, from, exit)) !== 'unkept',
    onTimer: fireTimer,
    beforeTimers: (untilMs) => {
      const active = signsOfLife.dueBefore(untilMs, herd);
      if (active.length === 0) return true;
      const told = attempt('activity', (frame) => {
        for (const { agent, atMs } of active) frame.send(agent, { type: 'child.active', atMs });
      });
      return told !== 'unkept';
    },
  });
  const driver = driveClock({
    clock,
    wall,
    onDue() {
      lookForAbsence();
      pump.run();
    },
  });

  function step<T>(input: string, work: (frame: Frame) => T) {
    try {
      const { answer, effects: caused, draft } = herd.step(input, wall(), work);
      driver.arm();
      return { answer, caused, finish: () => finish(caused, draft) };
    } catch (error) {
      if (isDiskError(error)) unkept += 1;
      throw error;
    }
  }

  /** One that crashes fires once more, on what was kept; then it ends, or is left for later. */
  function fireTimer(due: DueTimer): boolean {
    const result = attempt('timer', (frame) => frame.fire(due), { isTimer: crashesInARow > 0 });
    crashesInARow = result === 'contained' ? crashesInARow + 1 : 0;
    return result !== 'unkept' && crashesInARow < maxCrashesInARow;
  }

  /** What follows the commits of a running batch; begun once it is kept. */
  let batched: (() => void)[] | undefined;
  /** What follows committed steps, in their order: also of those that a listener has caused. */
  const committed: { readonly caused: readonly Effect[]; readonly draft: Draft }[] = [];
  let isFollowing = false;

  function finish(caused: readonly Effect[], draft: Draft): void {
    if (batched !== undefined) {
      batched.push(() => finish(caused, draft));
      return;
    }
    committed.push({ caused, draft });
    if (isFollowing) return;
    isFollowing = true;
    try {
      for (let next = committed.shift(); next !== undefined; next = committed.shift()) {
        feed.emit(next.draft);
        if (!stopped) effects.add(next.caused);
        feed.recheck();
        stepsSinceForgetting += 1;
      }
    } finally {
      isFollowing = false;
    }
    if (stepsSinceForgetting >= forgetEvery) forget();
  }

  /** A turn that was to be stopped before a crash is not the one that runs now. */
  function dropInterrupts(): void {
    const stale = store.all('effect').filter(({ type }) => type === 'interrupt');
    if (stale.length === 0) return;
    attempt('interrupts dropped', ({ draft }) => {
      for (const { id } of stale) draft.remove('effect', id);
    });
  }

  /** Keeps the session bounded: at its opening, and now and then. */
  function forget(): void {
    stepsSinceForgetting = 0;
    attempt('retention', (frame) => forgetFinished(frame, options.retention));
  }

  /** Runs steps that share a commit; false when none of them was kept. */
  function batch(work: () => boolean): boolean {
    const following: (() => void)[] = [];
    batched = following;
    let isKept: boolean;
    try {
      isKept = herd.batch(work);
    } finally {
      batched = undefined;
    }
    driver.arm();
    if (isKept) for (const follow of following) follow();
    else unkept += 1;
    return isKept;
  }

  /** Runs a step that nobody can be told about: a crash is contained, a full disk is left. */
  function attempt(
    input: string,
    work: (frame: Frame) => void,
    onCrash: CrashHandling = {},
  ): 'done' | 'contained' | 'unkept' {
    try {
      step(input, work).finish();
      return 'done';
    } catch (error) {
      if (isDiskError(error)) return 'unkept';
      return contain(error, onCrash);
    }
  }

  /** One step: what crashed is made up for, and whoever asked for it is answered. */
  function contain(error: unknown, onCrash: CrashHandling = {}): 'contained' | 'unkept' {
    const { isTimer = false, answer } = onCrash;
    const data = ShepherdError.is(error) ? error.data : {};
    const actorId = typeof data['actorId'] === 'string' ? data['actorId'] : 'session';
    try {
      step('crash', (frame) => {
        frame.noteError(describeError(error));
        containCrash(frame, { actorId, error, isTimer });
        answer?.(frame);
      }).finish();
      return 'contained';
    } catch (second) {
      if (isDiskError(second)) return 'unkept';
    }
    // Even containing it failed: what was rolled back stays so, and the rest lives on.
    if (answer === undefined) return 'contained';
    const refused = attempt('crash refused', (frame) => {
      frame.noteError(describeError(error));
      answer(frame);
    });
    return refused === 'unkept' ? 'unkept' : 'contained';
  }

  /** A command's refusal goes to its caller; a crash is contained first. */
  function stepOfCommand<T>(name: string, work: (frame: Frame) => T) {
    try {
      return step(`command ${name}`, work);
    } catch (error) {
      if (ShepherdError.is(error) && error.code !== 'internal_error') throw error;
      contain(error);
      if (ShepherdError.is(error)) throw error;
      throw new TaskError('internal_error', `${name} failed: ${describeError(error)}`, {
        cause: error,
      });
    }
  }

  /** A sign of life makes no step, unless a child shows it that counts as stalled. */
  function noteActivity(agentId: string, atMs: number): boolean {
    const agent = herd.agent(agentId);
    if (agent?.getSnapshot().hasTag('stalled') !== true) {
      signsOfLife.note(agentId, atMs);
      return true;
    }
    const told = attempt('activity', (frame) => frame.send(agent, { type: 'child.active', atMs }));
    return told !== 'unkept';
  }

  /** Silence and waiting count from the return of a host that was away; no deadline moves. */
  function lookForAbsence(): void {
    const away = absence.look();
    if (away === undefined || stopped) return;
    const result = attempt('host away', (frame) => tellOfAbsence(frame, away));
    if (result === 'unkept') absence.again(away);
  }

  function handleMail(claimed: Claimed): boolean {
    const { from, envelope } = claimed;
    const agent = store.get('agent', from.agentId);
    if (agent === undefined) return true;
    if (envelope.kind === 'heartbeat')
      return !isHeard({ herd }, agent, from) || noteActivity(agent.id, envelope.createdAt);
    const result = attempt(
      `envelope ${envelope.kind}`,
      (frame) => receiveEnvelope(frame, agent, claimed),
      { answer: (frame) => refuseCrashed(frame, agent, envelope) },
    );
    return result !== 'unkept';
  }

  const stopMail = mailbox.onMail(() => {
    lookForAbsence();
    pump.run();
  });
  const stopHost = host.watch((event) => {
    const from = incarnationOf(event.ref.launchId);
    if (event.type === 'dialog_cancelled') {
      attempt('host dialog', (frame) => noteDialog(frame, from.agentId, event.title));
      return;
    }
    pump.addExit({ from, exit: event.exit });
  });

  return {
    herd,
    command(name, work) {
      if (stopped) throw sessionClosed();
      lookForAbsence();
      // What came in or fell due before this call counts before it.
      pump.runBefore();
      const { answer, caused, finish: proceed } = stepOfCommand(name, work);
      const promised = caused.map((effect) => ({
        type: effect.type,
        outcome: new Promise<EffectOutcome>((resolve) => {
          outcomes.set(effect.id, resolve);
        }),
      }));
      proceed();
      return {
        answer,
        outcomesOf: (type) =>
          Promise.all(promised.filter((one) => one.type === type).map(({ outcome }) => outcome)),
      };
    },
    attempt,
    configure(rules) {
      const before = { ...policy };
      // The one object that every step reads.
      Object.assign(policy, rules);
      const { staleAfterMs, stallAfterMs, stallRecovery, maxFreshDispatches } = policy;
      const stall = { stallAfterMs, stallRecovery, maxFreshDispatches };
      const isNew = (name: keyof LivePolicy): boolean => policy[name] !== before[name];
      const hasStallRules = Object.keys(stall).some((name) => isNew(name as keyof typeof stall));
      if (!hasStallRules && !isNew('staleAfterMs')) return;
      attempt('settings', (frame) => {
        for (const agent of herd.agents()) {
          if (hasStallRules) frame.send(agent, { type: 'stall.rules', ...stall });
          if (!isNew('staleAfterMs')) continue;
          const { taskId, queue } = agent.getSnapshot().context;
          for (const id of [taskId, ...queue]) {
            const task = id === null ? undefined : herd.task(agent.id, id);
            if (task !== undefined) frame.send(task, { type: 'stale.threshold', staleAfterMs });
          }
        }
      });
    },
    placesIdle: () => effects.placesIdle(),
    until: (read, signal) => feed.until(read, signal),
    on: (listener) => feed.on(listener),
    async resume() {
      if (!herd.session.getSnapshot().matches('open')) {
        attempt('session reopened', (frame) =>
          frame.send(herd.session, { type: 'session.reopened' }),
        );
      }
      // Every outbox first: nothing is decided before all of them can be read.
      const alive = herd.agents().flatMap(({ id }) => store.get('agent', id) ?? []);
      for (const agent of alive) boxes.reopen(agent);
      for (const effect of store.all('effect')) {
        const agent = effect.type === 'retire' ? store.get('agent', effect.agentId) : undefined;
        if (agent !== undefined) boxes.reopenEnded(agent);
      }
      for (const { place } of alive) {
        if (place === undefined) continue;
        const { presence, exit } = await host.adopt(place);
        if (presence !== 'gone' && presence !== 'dead') continue;
        const unknown = { code: null, signal: null, atMs: wall(), output: '' };
        pump.addExit({ from: incarnationOf(place.launchId), exit: exit ?? unknown });
      }
      // The process of an ended agent too, that is still to be ended: a host closes what it adopted.
      for (const effect of store.all('effect')) {
        if (effect.type !== 'end' || herd.agent(effect.agentId) !== undefined) continue;
        const place = store.get('agent', effect.agentId)?.place;
        if (place !== undefined) await host.adopt(place);
      }
      dropInterrupts();
      effects.add(store.all('effect').map(asRepeat));
      pump.open();
      // Not before: what lies in the outboxes may have been handled already, and not acked.
      forget();
      driver.arm();
    },
    stop() {
      if (stopped) return;
      stopped = true;
      effects.stop();
      for (const resolve of outcomes.values()) resolve({ ok: false, error: sessionClosed() });
      outcomes.clear();
      driver.stop();
      stopMail();
      stopHost();
      herd.stop();
    },
  };
}

/** A note that an earlier process may have made is looked for first. */
function asRepeat(effect: Effect): Effect {
  return effect.type === 'note' ? { ...effect, isAgain: true } : effect;
}

function sessionClosed(): ConfigError {
  return new ConfigError('session_closed', 'This session is closed; open it again.');
}
