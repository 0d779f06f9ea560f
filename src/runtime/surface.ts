/**
 * The public face of a session: calls become commands, records become views.
 *
 * Decides nothing: what a call may do is in `commands.ts`, what follows from it in the charts.
 */
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { AgentCatalog } from '../agents/catalog.ts';
import type { AgentDefinition } from '../agents/definition.ts';
import {
  ConfigError,
  describeError,
  HostError,
  MailboxError,
  ShepherdError,
  TaskError,
} from '../errors.ts';
import type { AgentHost } from '../hosts/host.ts';
import { SHEPHERD_ID } from '../ids.ts';
import { cancel } from './cancel.ts';
import { viewCatalog } from './definitions.ts';
import { closeAgent, sayAsShepherd, spawnAgent, watchTasks } from './commands.ts';
import { delegateTask } from './delegate.ts';
import type { Engine } from './engine.ts';
import type { LiveOptions } from './live-options.ts';
import type { EffectOutcome } from './effect-outcome.ts';
import {
  cancelOptions,
  delegateOptions,
  messageOptions,
  messagesOptions,
  parseOptions,
  promptOptions,
  readOptions,
  spawnOptions,
  targetOptions,
  taskOptions,
  watchOptions,
} from './options.ts';
import { promptAgent, watchPrompts } from './prompts.ts';
import { pruneFinished } from './prune.ts';
import { noteSeen } from './receipts.ts';
import type { AgentRecord, MessageRecord, TaskRecord } from './records.ts';
import { nameOf, resolveTarget } from './router.ts';
import type { Change, MessageStatus, Shepherd, TaskStatus } from './shepherd.ts';
import type { Store } from './store.ts';
import { viewAgent, viewMessage, viewTask } from './views.ts';

export interface SurfaceOptions {
  readonly engine: Engine;
  readonly store: Store;
  readonly host: AgentHost;
  readonly wall: () => number;
  readonly sessionId: string;
  readonly sessionDir: string;
  readonly cwd: string;
  /** @throws ConfigError `unknown_agent`. */
  readonly findDefinition: (name: string) => {
    readonly definition: AgentDefinition;
    /** About files of that name which were skipped. */
    readonly warnings: readonly string[];
  };
  /** Undefined when nobody has to be asked; rejects when it must not run. */
  readonly approve: (
    definition: AgentDefinition,
    signal: AbortSignal | undefined,
  ) => Promise<void> | undefined;
  readonly configure: (changes: LiveOptions) => void;
  /** Reads the definitions that count now. */
  readonly catalog: () => AgentCatalog;
  readonly model: () => string | null;
  readonly signal: AbortSignal | undefined;
  /** Tells the children's runners that they need no living owner. */
  readonly keepOpen: () => Promise<void>;
  /** Lets go of everything the session holds. */
  readonly release: (state: 'parked' | 'released') => void;
}

/** How long `dispose` waits for the children to end; each has its own, shorter grace. */
const disposeLimitMs = 15_000;

/** Creates the public face of a session over its engine. */
export function createSurface(surface: SurfaceOptions): Shepherd {
  const { engine, store, host, wall } = surface;
  const { herd } = engine;
  const ended = new AbortController();
  let disposing: Promise<void> | undefined;

  /** Waits no longer than the session is open. */
  function until<T>(read: () => T | undefined, signal?: AbortSignal): Promise<T> {
    const signals = signal === undefined ? [ended.signal] : [ended.signal, signal];
    return engine.until(read, AbortSignal.any(signals));
  }

  /** @throws ConfigError `session_closed` once the session has been let go. */
  function refuseEnded(): void {
    if (ended.signal.aborted) throw sessionClosed();
  }

  function agentRecord(target: string): AgentRecord {
    refuseEnded();
    const known = store.get('agent', target);
    if (known !== undefined) return known;
    const id = resolveTarget(herd, store, target);
    const agent = store.get('agent', id);
    if (agent !== undefined) return agent;
    throw new MailboxError('invalid_target', `"${target}" is ${SHEPHERD_ID}, not an agent.`);
  }

  function taskRecord(taskId: string): TaskRecord {
    refuseEnded();
    const task = store.get('task', taskId);
    if (task !== undefined) return task;
    throw new TaskError('unknown_task', `There is no task ${taskId} in this session.`);
  }

  function latestMessages(of: string | undefined, limit: number): readonly MessageStatus[] {
    refuseEnded();
    const isMeant = messageFilter(of);
    return store
      .all('message')
      .filter(isMeant)
      .slice(-limit)
      .toReversed()
      .map((message) => viewMessage(store, message));
  }

  function messageFilter(of: string | undefined): (message: MessageRecord) => boolean {
    if (of === undefined) return () => true;
    if (store.get('message', of) !== undefined) return ({ id }) => id === of;
    if (store.get('task', of) !== undefined) return ({ taskId }) => taskId === of;
    if (of.startsWith('shepherd-message-')) {
      throw new TaskError('unknown_request', `There is no message ${of} in this session.`);
    }
    const { id } = agentRecord(of);
    return ({ senderId, targetId }) => senderId === id || targetId === id;
  }

  const viewOfTask = (task: TaskRecord): TaskStatus => viewTask(store, task, wall());

  async function outputOf(agent: AgentRecord): Promise<string> {
    if (agent.place === undefined) return '';
    return host.read(agent.place, { lines: 40 }).catch(() => '');
  }

  /** The error of an agent that did not become ready, with what it printed. */
  async function spawnError(agent: AgentRecord): Promise<HostError> {
    const { code, message } = agent.error ?? {
      code: 'agent_not_ready' as const,
      message: `${nameOf(store, agent.id)} was closed before it was ready.`,
    };
    const output = code === 'spawn_deadline' ? await outputOf(agent) : '';
    return new HostError(
      code,
      output.trim() === '' ? message : `${message} It printed:\n${output.trim()}`,
      { data: { agentId: agent.id } },
    );
  }

  async function close(wanted: string): Promise<{ readonly id: string }> {
    const { target } = parseOptions('close', targetOptions, { target: wanted });
    const { id } = agentRecord(target);
    const { outcomesOf } = engine.command('close', (frame) => closeAgent(frame, id));
    for (const outcome of await outcomesOf('end')) {
      if (outcome.ok && outcome.closed !== 'unconfirmed') continue;
      if (!outcome.ok && isSessionClosed(outcome.error)) throw outcome.error;
      const why = outcome.ok ? 'a process may be left' : describeError(outcome.error);
      throw new HostError('close_unconfirmed', `${nameOf(store, id)}: ${why}; try it again.`, {
        retryable: true,
        data: { agentId: id },
      });
    }
    return { id };
  }

  async function endSession(): Promise<void> {
    try {
      engine.command('session close', (frame) =>
        frame.send(herd.session, { type: 'session.close', atMs: frame.nowMs }),
      );
      // Also of an agent that failed a moment ago a process may still be ending.
      const limit = AbortSignal.timeout(disposeLimitMs);
      await Promise.race([allEnded(), once(limit, 'abort')]);
      // Nobody is left who could look at it.
      await host.tidy?.(store.all('agent').flatMap(({ place }) => place ?? []));
    } finally {
      letGo('released');
    }
  }

  async function allEnded(): Promise<void> {
    await until(() => (herd.agents().length === 0 ? true : undefined));
    await engine.placesIdle();
  }

  /** Also while a dispose still waits for children to end. Idempotent. */
  function letGo(state: 'parked' | 'released'): void {
    if (ended.signal.aborted) return;
    ended.abort(sessionClosed());
    surface.release(state);
  }

  surface.signal?.addEventListener('abort', () => {
    letGo('parked');
    disposing ??= Promise.resolve();
  });

  return {
    sessionId: surface.sessionId,
    sessionDir: surface.sessionDir,
    async spawn(options, signal) {
      const { agent: name, label, placement, cwd } = parseOptions('spawn', spawnOptions, options);
      signal?.throwIfAborted();
      const { definition, warnings } = surface.findDefinition(name);
      const asking = surface.approve(definition, signal);
      if (asking !== undefined) {
        await asking;
        signal?.throwIfAborted();
      }
      const { answer: agent } = engine.command('spawn', (frame) =>
        spawnAgent(frame, {
          definition,
          label,
          placement,
          model: definition.model ?? surface.model(),
          cwd: resolve(surface.cwd, cwd ?? '.'),
        }),
      );
      const ready = until(() => {
        const now = store.get('agent', agent.id);
        return now === undefined || now.state === 'starting' ? undefined : now;
      }, signal);
      const now = await ready.catch(async (error: unknown) => {
        await close(agent.id).catch(() => undefined);
        throw error;
      });
      if (now.state !== 'idle' && now.state !== 'working') throw await spawnError(now);
      return {
        id: agent.id,
        agent: name,
        label,
        model: agent.model,
        ...(warnings.length === 0 ? {} : { warnings }),
      };
    },
    async delegate(options) {
      const asked = parseOptions('delegate', delegateOptions, options);
      const { target, task, timeoutMs, queue = false, idempotencyKey } = asked;
      const { answer, outcomesOf } = engine.command('delegate', (frame) =>
        delegateTask(frame, { target, task, timeoutMs, queue, idempotencyKey }),
      );
      await allDone(outcomesOf('publish'));
      const { id: taskId, agentId, state, queuePosition } = viewOfTask(taskRecord(answer.id));
      const position = queuePosition === undefined ? {} : { position: queuePosition };
      return { taskId, agentId, state, ...position };
    },
    async message(options) {
      const said = parseOptions('message', messageOptions, options);
      const { answer, outcomesOf } = engine.command('message', (frame) =>
        sayAsShepherd(frame, {
          target: said.target,
          content: said.message,
          delivery: said.delivery ?? 'followUp',
          taskId: said.taskId,
          threadId: said.threadId,
          replyTo: said.replyTo,
          expectsReply: said.expectsReply ?? false,
        }),
      );
      if ('tooLate' in answer) throw answer.tooLate;
      await allDone(outcomesOf('publish'));
      const { messageId, targetId, request } = answer;
      const taskId = store.get('agent', targetId)?.taskId;
      const task = taskId === undefined ? undefined : store.get('task', taskId);
      return {
        messageId,
        accepted: true,
        delivery: 'queued',
        targetId,
        ...request,
        ...(task === undefined ? {} : { targetTaskState: task.state }),
      };
    },
    watch(wanted) {
      const { ids } = parseOptions('watch', watchOptions, { ids: wanted });
      return engine.command('watch', (frame) =>
        watchTasks(frame, typeof ids === 'string' ? [ids] : ids),
      ).answer;
    },
    prompt(options) {
      const { target, message } = parseOptions('prompt', promptOptions, options);
      return engine.command('prompt', (frame) => promptAgent(frame, { target, message })).answer;
    },
    watchPrompts(wanted) {
      const { ids } = parseOptions('watchPrompts', watchOptions, { ids: wanted });
      return engine.command('watch prompts', (frame) =>
        watchPrompts(frame, typeof ids === 'string' ? [ids] : ids),
      ).answer;
    },
    cancel(wanted, why) {
      const { id, reason } = parseOptions('cancel', cancelOptions, { id: wanted, reason: why });
      return engine.command('cancel', (frame) => cancel(frame, id, reason)).answer;
    },
    messages(wanted, options) {
      const { of, limit = 20 } = parseOptions('messages', messagesOptions, {
        ...options,
        of: wanted,
      });
      return latestMessages(of, limit);
    },
    seen(noticeIds) {
      refuseEnded();
      engine.attempt('notices seen', (frame) => {
        for (const id of noticeIds) noteSeen(frame, id);
      });
    },
    status(wanted) {
      const { target } = parseOptions('status', targetOptions, { target: wanted });
      return viewAgent(store, agentRecord(target), wall());
    },
    task(wanted) {
      const { taskId } = parseOptions('task', taskOptions, { taskId: wanted });
      return viewOfTask(taskRecord(taskId));
    },
    agents() {
      refuseEnded();
      return store.all('agent').map((agent) => viewAgent(store, agent, wall()));
    },
    tasks() {
      refuseEnded();
      return store.all('task').map(viewOfTask);
    },
    async settled(wanted, signal) {
      const { taskId } = parseOptions('settled', taskOptions, { taskId: wanted });
      taskRecord(taskId);
      return until(() => store.get('task', taskId)?.result, signal);
    },
    definitions() {
      refuseEnded();
      return viewCatalog(surface.catalog());
    },
    prune: () => engine.command('prune', pruneFinished).answer,
    configure(changes) {
      refuseEnded();
      surface.configure(changes);
    },
    close,
    async interrupt(wanted) {
      const { target } = parseOptions('interrupt', targetOptions, { target: wanted });
      const { id } = agentRecord(target);
      const { outcomesOf } = engine.command('interrupt', (frame) =>
        frame.effect({ type: 'interrupt', agentId: id }),
      );
      await allDone(outcomesOf('interrupt'));
    },
    async read(wanted, options) {
      const { target, lines = 40 } = parseOptions('read', readOptions, {
        ...options,
        target: wanted,
      });
      const { id, place, state } = agentRecord(target);
      if (place === undefined) {
        throw new HostError(
          'not_found',
          `${nameOf(store, id)} has printed nothing: it is ${state}, and no process of it was seen.`,
          { data: { agentId: id } },
        );
      }
      return (await host.read(place, { lines })).toWellFormed();
    },
    on: (listener) => engine.on(listener),
    changes: () => streamChanges(engine, ended.signal),
    async release({ stayOpen = false } = {}) {
      if (stayOpen && !ended.signal.aborted) await surface.keepOpen();
      letGo('parked');
      await (disposing ??= Promise.resolve());
    },
    dispose: () => (disposing ??= endSession()),
  };
}

function sessionClosed(): ConfigError {
  return new ConfigError('session_closed', 'This session is closed; open it again.');
}

const isSessionClosed = (error: unknown): boolean =>
  ShepherdError.is(error) && error.code === 'session_closed';

/** Throws the first failure among the effects of a command. */
async function allDone(outcomes: Promise<readonly EffectOutcome[]>): Promise<void> {
  for (const outcome of await outcomes) {
    if (!outcome.ok) throw outcome.error;
  }
}

/** Changes from now on, kept while their reader is busy, until `signal` ends them. */
function streamChanges(engine: Engine, signal: AbortSignal): AsyncIterable<Change> {
  const kept: Change[] = [];
  const wake = new EventTarget();
  let isEnded = false;
  const stop = engine.on((change) => {
    kept.push(change);
    wake.dispatchEvent(new Event('change'));
  });
  const end = (): IteratorResult<Change, undefined> => {
    isEnded = true;
    kept.length = 0;
    stop();
    return { done: true, value: undefined };
  };
  // By hand: a generator that was never begun would not hear of its end.
  const iterator: AsyncIterator<Change, undefined> = {
    async next() {
      for (;;) {
        const value = kept.shift();
        if (value !== undefined) return { done: false, value };
        if (isEnded || signal.aborted) return end();
        await once(wake, 'change', { signal }).catch(() => undefined);
      }
    },
    return: () => Promise.resolve(end()),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
