/**
 * `createShepherd`: opens a session on real files and processes, and wires it to its ports.
 *
 * Everything has a default that works for a headless program; the Pi extension and the CLI pass what
 * they know better. What a session does is decided in steps (`herd.ts`), never here.
 */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { InspectionEvent } from 'xstate';
import { discoverAgents, findAgent, type AgentScope } from '../agents/catalog.ts';
import { HostError, MailboxError, TaskError } from '../errors.ts';
import type { AgentHost } from '../hosts/host.ts';
import { createProcessHost } from '../hosts/process.ts';
import { createIdMaker, SHEPHERD_ID, type IdMaker } from '../ids.ts';
import { createFilesystemMailbox } from '../mailbox/filesystem-mailbox.ts';
import type { Limits } from '../mailbox/limits.ts';
import { closeAgent, delegateTask, sayAsShepherd, spawnAgent, watchTasks } from './commands.ts';
import { createEngine, type Engine } from './engine.ts';
import { reportBadMail } from './envelopes.ts';
import { piChildCommand, type MakeChildCommand } from './launcher.ts';
import type { EffectOutcome } from './outcomes.ts';
import { createPerformer } from './perform.ts';
import { defaultPolicy, type Policy } from './policy.ts';
import type { AgentRecord, TaskRecord } from './records.ts';
import { nameOf, resolveTarget } from './router.ts';
import { openSessionDir } from './session-dir.ts';
import { openSessionStore } from './session-store.ts';
import type { Change, Notice, Shepherd, TaskStatus } from './shepherd.ts';
import type { Store } from './store.ts';
import { viewAgent, viewTask } from './views.ts';

export interface ShepherdOptions {
  /** Where agents work and project definitions are looked for. Default: the process's own. */
  readonly cwd?: string | undefined;
  /** Finds the session again: Pi's session id, or a name. Default: a new session. */
  readonly sessionKey?: string | undefined;
  /** What people see in the directory's name. */
  readonly sessionName?: string | undefined;
  /** Default `.shepherd/sessions` of `cwd`. */
  readonly stateDir?: string | undefined;
  /** Pi's own directory. Default `~/.pi/agent`. */
  readonly agentDir?: string | undefined;
  /** Which definitions count besides the bundled ones. Default `both`. */
  readonly agentScope?: AgentScope | undefined;
  /**
   * Hands a notice to the parent's session; resolves once it is there. A notice may come again after
   * a crash, with the same id. Default: notices are changes only.
   */
  readonly notify?: ((notice: Notice) => Promise<void>) | undefined;
  /** `provider/model` of the parent now, for definitions that name none. */
  readonly model?: (() => string | null) | undefined;
  readonly host?: AgentHost | undefined;
  /** How a child is started. Default: Pi in rpc mode. */
  readonly makeCommand?: MakeChildCommand | undefined;
  readonly policy?: Partial<Policy> | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly ids?: IdMaker | undefined;
  /** Epoch ms. Default `Date.now`. */
  readonly wall?: (() => number) | undefined;
  readonly inspect?: ((event: InspectionEvent) => void) | undefined;
}

/**
 * Opens a session and takes up what it left behind.
 *
 * @throws ConfigError `unsupported_node`, `invalid_setting`; MailboxError `disk_error`.
 */
export async function createShepherd(options: ShepherdOptions = {}): Promise<Shepherd> {
  const cwd = resolve(options.cwd ?? process.cwd());
  const wall = options.wall ?? Date.now;
  const ids = options.ids ?? createIdMaker();
  const agentDir = options.agentDir ?? join(homedir(), '.pi', 'agent');
  const sessionDir = openSessionDir({
    stateDir: options.stateDir ?? join(cwd, '.shepherd', 'sessions'),
    key: options.sessionKey ?? ids.secret(),
    name: options.sessionName ?? 'shepherd',
  });
  const store = openSessionStore(sessionDir.storePath);
  const host = options.host ?? createProcessHost();
  const policy = { ...defaultPolicy, ...options.policy };
  const mailbox = createFilesystemMailbox({
    dir: sessionDir.mailboxDir,
    sessionId: sessionDir.sessionId,
    brokerId: sessionDir.brokerId,
    now: wall,
    limits: { maxUnread: policy.maxUnread, ...options.limits },
    keepAlive: true,
    onBad: (bad) => engine.attempt('quarantine', (frame) => reportBadMail(frame, bad)),
  });
  const engine = createEngine({
    sessionId: sessionDir.sessionId,
    store,
    mailbox,
    host,
    ids,
    policy,
    wall,
    inspect: options.inspect,
    perform: createPerformer({
      store,
      mailbox,
      host,
      sessionDir,
      makeCommand: options.makeCommand ?? piChildCommand,
      notify: options.notify ?? (() => Promise.resolve()),
    }),
  });
  await engine.resume();

  return createSurface({
    engine,
    store,
    host,
    wall,
    sessionId: sessionDir.sessionId,
    sessionDir: sessionDir.dir,
    cwd,
    findDefinition: (name) =>
      findAgent(
        discoverAgents({
          cwd,
          agentDir,
          homeDir: homedir(),
          scope: options.agentScope ?? 'both',
          includeBundled: true,
        }),
        name,
      ),
    model: options.model ?? (() => null),
    async release() {
      engine.stop();
      mailbox.dispose();
      host.dispose();
      store.close();
    },
  });
}

interface Surface {
  readonly engine: Engine;
  readonly store: Store;
  readonly host: AgentHost;
  readonly wall: () => number;
  readonly sessionId: string;
  readonly sessionDir: string;
  readonly cwd: string;
  readonly findDefinition: (name: string) => AgentRecord['definition'];
  readonly model: () => string | null;
  readonly release: () => Promise<void>;
}

/** How long `dispose` waits for the children to end; each has its own, shorter grace. */
const disposeLimitMs = 15_000;

function createSurface(surface: Surface): Shepherd {
  const { engine, store, host, wall } = surface;
  const { herd } = engine;
  const ended = new AbortController();
  let disposing: Promise<void> | undefined;

  function agentRecord(target: string): AgentRecord {
    const known = store.get('agent', target);
    if (known !== undefined) return known;
    const id = resolveTarget(herd, store, target);
    const agent = store.get('agent', id);
    if (agent !== undefined) return agent;
    throw new MailboxError('invalid_target', `"${target}" is ${SHEPHERD_ID}, not an agent.`);
  }

  function taskRecord(taskId: string): TaskRecord {
    const task = store.get('task', taskId);
    if (task !== undefined) return task;
    throw new TaskError('unknown_task', `There is no task ${taskId} in this session.`);
  }

  const viewOfTask = (task: TaskRecord): TaskStatus => viewTask(store, task, wall());

  async function outputOf(agent: AgentRecord): Promise<string> {
    if (agent.place === undefined) return '';
    return host.read(agent.place, { lines: 40 }).catch(() => '');
  }

  /** The error of an agent that did not become ready, with what it printed. */
  async function spawnError(agent: AgentRecord): Promise<HostError> {
    const [code, ...rest] = (agent.error ?? 'agent_not_ready: it was closed.').split(': ');
    const known = code === 'launch_failed' || code === 'spawn_deadline';
    const output = code === 'spawn_deadline' ? await outputOf(agent) : '';
    const message = known ? rest.join(': ') : (agent.error ?? `${agent.id} was closed.`);
    return new HostError(
      known ? code : 'agent_not_ready',
      output.trim() === '' ? message : `${message} It printed:\n${output.trim()}`,
      { data: { agentId: agent.id } },
    );
  }

  async function close(target: string): Promise<{ readonly id: string }> {
    const { id } = agentRecord(target);
    engine.command('close', (frame) => closeAgent(frame, id));
    return engine.until(() => {
      const agent = store.get('agent', id);
      if (agent?.endedAtMs !== undefined) return { id };
      if (agent?.error?.startsWith('close_unconfirmed') !== true) return undefined;
      throw new HostError('close_unconfirmed', `${nameOf(store, id)}: ${agent.error}`, {
        retryable: true,
        data: { agentId: id },
      });
    });
  }

  async function endSession(): Promise<void> {
    engine.command('session close', (frame) =>
      frame.send(herd.session, { type: 'session.close', atMs: frame.nowMs }),
    );
    const limit = AbortSignal.timeout(disposeLimitMs);
    await engine
      .until(() => (herd.agents().length === 0 ? true : undefined), limit)
      .catch(() => undefined);
    ended.abort();
    await surface.release();
  }

  return {
    sessionId: surface.sessionId,
    sessionDir: surface.sessionDir,
    async spawn({ agent: name, label, placement, cwd }, signal) {
      signal?.throwIfAborted();
      const definition = surface.findDefinition(name);
      const { answer: agent } = engine.command('spawn', (frame) =>
        spawnAgent(frame, {
          definition,
          label,
          placement,
          model: definition.model ?? surface.model(),
          cwd: resolve(surface.cwd, cwd ?? '.'),
        }),
      );
      const ready = engine.until(() => {
        const now = store.get('agent', agent.id);
        return now === undefined || now.state === 'starting' ? undefined : now;
      }, signal);
      const now = await ready.catch(async (error: unknown) => {
        await close(agent.id).catch(() => undefined);
        throw error;
      });
      if (now.state !== 'idle' && now.state !== 'working') throw await spawnError(now);
      return { id: agent.id, agent: name, label, model: agent.model };
    },
    async delegate({ target, task, timeoutMs }) {
      const { answer, outcomes } = engine.command('delegate', (frame) =>
        delegateTask(frame, { target, task, timeoutMs }),
      );
      await allDone(outcomes);
      return { taskId: answer.id, agentId: answer.agentId, state: taskRecord(answer.id).state };
    },
    async message(said) {
      const { answer, outcomes } = engine.command('message', (frame) =>
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
      await allDone(outcomes);
      const { messageId, targetId, deadlineAtMs } = answer;
      const taskId = store.get('agent', targetId)?.taskId;
      const task = taskId === undefined ? undefined : store.get('task', taskId);
      return {
        messageId,
        accepted: true,
        delivery: 'queued',
        targetId,
        ...(deadlineAtMs === undefined ? {} : { requestId: messageId, deadlineAtMs }),
        ...(task === undefined ? {} : { targetTaskState: task.state }),
      };
    },
    watch: (wanted) =>
      engine.command('watch', (frame) =>
        watchTasks(frame, typeof wanted === 'string' ? [wanted] : wanted),
      ).answer,
    status: (target) => viewAgent(store, agentRecord(target), wall()),
    task: (taskId) => viewOfTask(taskRecord(taskId)),
    agents: () => store.all('agent').map((agent) => viewAgent(store, agent, wall())),
    tasks: () => store.all('task').map(viewOfTask),
    async settled(taskId, signal) {
      taskRecord(taskId);
      return engine.until(() => store.get('task', taskId)?.result, signal);
    },
    close,
    async interrupt(target) {
      const { id } = agentRecord(target);
      const { outcomes } = engine.command('interrupt', (frame) =>
        frame.effect({ type: 'interrupt', agentId: id }),
      );
      await allDone(outcomes);
    },
    async read(target, { lines = 40 } = {}) {
      const agent = agentRecord(target);
      if (agent.place === undefined) throw new HostError('not_found', `${agent.id} has no place.`);
      return host.read(agent.place, { lines });
    },
    on: (listener) => engine.on(listener),
    changes: () => changesOf(engine, ended.signal),
    dispose: () => (disposing ??= endSession()),
  };
}

/** Throws the first failure among the effects of a command. */
async function allDone(outcomes: readonly Promise<EffectOutcome>[]): Promise<void> {
  for (const outcome of await Promise.all(outcomes)) {
    if (!outcome.ok) throw outcome.error;
  }
}

/** An endless stream of changes, kept while its reader is busy, until `signal` ends it. */
async function* changesOf(engine: Engine, signal: AbortSignal): AsyncGenerator<Change> {
  const kept: Change[] = [];
  let wake: (() => void) | undefined;
  const stop = engine.on((change) => {
    kept.push(change);
    wake?.();
  });
  signal.addEventListener('abort', () => wake?.());
  try {
    for (;;) {
      for (let change = kept.shift(); change !== undefined; change = kept.shift()) yield change;
      if (signal.aborted) return;
      await new Promise<void>((proceed) => {
        wake = proceed;
      });
    }
  } finally {
    stop();
  }
}
