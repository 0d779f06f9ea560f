/**
 * `createShepherd`: opens a session on real files and processes, and wires it to its ports.
 *
 * Everything has a default that works for a headless program; the Pi extension and the CLI pass what
 * they know better. What a session does is decided in steps (`herd.ts`), never here.
 */
import { homedir } from 'node:os';
import { basename, resolve } from 'node:path';
import {
  discoverAgents,
  findAgent,
  type AgentCatalog,
  type AgentScope,
} from '../agents/catalog.ts';
import { isDiskError, ShepherdError } from '../errors.ts';
import type { AgentHost } from '../hosts/host.ts';
import { writeOwner } from '../hosts/owner.ts';
import { createHosts } from '../hosts/hosts.ts';
import { createIdMaker, type IdMaker } from '../ids.ts';
import { agentDirOf, stateDirOf } from '../settings/places.ts';
import { createFilesystemMailbox } from '../mailbox/filesystem-mailbox.ts';
import { createEngine } from './engine.ts';
import type { Inspector } from './inspector-feed.ts';
import { piChildCommand, type MakeChildCommand } from './launcher.ts';
import type { LiveOptions } from './live-options.ts';
import { createPerformer } from './perform.ts';
import { defaultPolicy, limitsOf, type Policy, type Retention } from './policy.ts';
import { createQuarantine } from './quarantine.ts';
import { createApproval, type ApproveAgent } from './approval.ts';
import { adoptSession, openSessionDir } from './session-dir.ts';
import { releaseAgainMs, takeSession, type SessionLock } from './session-lock.ts';
import { openSessionStore } from './session-store.ts';
import type { Notice, Shepherd } from './shepherd.ts';
import type { Store } from './store.ts';
import { createSurface } from './surface.ts';

export interface ShepherdOptions {
  /** Where agents work and project definitions are looked for. Default: the process's own. */
  readonly cwd?: string | undefined;
  /** Finds the session again: Pi's session id, or a name. Default: a new session. */
  readonly sessionKey?: string | undefined;
  /**
   * Name of the directory of a session that is taken up: from then on the key means that one. One
   * that cannot be opened leaves what the key means as it was.
   */
  readonly adopt?: string | undefined;
  /** Whether somebody with this key can come back once this process has gone. Default true. */
  readonly canReturn?: boolean | undefined;
  /** What people see in the directory's name. */
  readonly sessionName?: string | undefined;
  /** Default: as the user's settings say, `.shepherd/sessions` of `cwd` unless changed. */
  readonly stateDir?: string | undefined;
  /** Pi's own directory. Default: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`. */
  readonly agentDir?: string | undefined;
  /** Which definitions count besides the bundled ones. Default `user`. */
  readonly agentScope?: AgentScope | undefined;
  /** Whether the definitions that come with the package count. Default true. */
  readonly includeBundledAgents?: boolean | undefined;
  /** Asked before an agent of the project runs, once for each content. Default: it is refused. */
  readonly approveAgent?: ApproveAgent | undefined;
  /** False: agents of the project run unasked. Default true. */
  readonly confirmProjectAgents?: boolean | undefined;
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
  /** How long children live on without a living owner, in ms. Default 10 min. */
  readonly orphanGraceMs?: number | undefined;
  /** Whether each delegated task gets a note in the session's directory. Default true. */
  readonly fieldnotes?: boolean | undefined;
  readonly policy?: Partial<Policy> | undefined;
  /** What is kept of finished things. Default 1,000 of each for 30 days. */
  readonly retention?: Partial<Retention> | undefined;
  readonly ids?: IdMaker | undefined;
  /** Epoch ms. Default `Date.now`. */
  readonly wall?: (() => number) | undefined;
  /**
   * Ms that only rise: with `wall` it shows that the host slept. Default `performance.now`; with a
   * `wall` of one's own none, and then no sleep is looked for.
   */
  readonly monotonic?: (() => number) | undefined;
  /**
   * Sees what XState shows of every actor, after each step; `toStatelyInspector` makes one for Stately's tools.
   * One that throws or cannot keep up is cut off, and the session goes on.
   */
  readonly inspect?: Inspector | undefined;
  /** Opens the session's file. Default: SQLite. */
  readonly openStore?:
    ((path: string, options: { readonly mayCreate: boolean }) => Store) | undefined;
  /**
   * Aborted: lets go of the session at once, without ending it. Children and tasks stay as they are
   * for whoever opens it next.
   */
  readonly signal?: AbortSignal | undefined;
}

const defaultRetention: Retention = { keep: 1_000, keepMs: 30 * 24 * 60 * 60_000 };

const defaultOrphanGraceMs = 10 * 60_000;

/**
 * Opens a session and takes up what it left behind.
 *
 * @throws ConfigError `unsupported_node`, `invalid_setting`, `session_damaged`, `session_owned` while
 * another process has it; MailboxError `disk_error`.
 */
export async function createShepherd(options: ShepherdOptions = {}): Promise<Shepherd> {
  options.signal?.throwIfAborted();
  const cwd = resolve(options.cwd ?? process.cwd());
  const wall = options.wall ?? Date.now;
  const ids = options.ids ?? createIdMaker();
  const agentDir = options.agentDir ?? agentDirOf();
  const key = options.sessionKey ?? ids.secret();
  const stateDir = options.stateDir ?? stateDirOf(cwd, agentDir);
  const sessionDir = openSessionDir({
    stateDir,
    key,
    name: options.sessionName ?? 'shepherd',
    adopt: options.adopt,
  });
  const store = (options.openStore ?? openSessionStore)(sessionDir.storePath, {
    mayCreate: sessionDir.isNew,
  });
  const lock = await takeSession({
    store,
    key,
    canReturn: options.canReturn ?? true,
    makeToken: () => ids.secret(),
    wall,
  }).catch((error: unknown) => {
    store.close();
    throw error;
  });
  const approval = createApproval(options.approveAgent);
  /** What can change while the session is open. */
  let live: Omit<LiveOptions, 'policy' | 'retention'> = options;
  /** What a session that cannot be opened leaves behind is taken back, the last thing first. */
  const undo = [() => letGoOf(lock, store, 'parked')];
  try {
    if (options.adopt !== undefined) undo.push(adoptSession(stateDir, key, options.adopt));
    return await openHeld();
  } catch (error) {
    for (const step of undo.toReversed()) {
      try {
        step();
      } catch (second) {
        // It says less than what led here.
        if (!ShepherdError.is(second)) throw second;
      }
    }
    throw error;
  }

  async function openHeld(): Promise<Shepherd> {
    await publishOwner(false);
    const host = options.host ?? createHosts('process');
    undo.push(() => host.dispose());
    const retention = { ...defaultRetention, ...options.retention };
    const { fieldnotes = defaultPolicy.fieldnotes } = options;
    const policy = { ...defaultPolicy, fieldnotes, ...options.policy };
    const mailbox = createFilesystemMailbox({
      dir: sessionDir.mailboxDir,
      sessionId: sessionDir.sessionId,
      brokerId: sessionDir.brokerId,
      now: wall,
      limits: limitsOf(policy),
      keepAlive: true,
      onBad: (bad) => quarantine.add(bad),
    });
    undo.push(() => mailbox.dispose());
    const engine = createEngine({
      sessionId: sessionDir.sessionId,
      store,
      mailbox,
      host,
      ids,
      policy,
      retention,
      wall,
      monotonic:
        options.monotonic ?? (options.wall === undefined ? () => performance.now() : undefined),
      inspect: options.inspect,
      perform: createPerformer({
        store,
        mailbox,
        host,
        sessionDir,
        makeCommand: options.makeCommand ?? piChildCommand,
        orphanGraceMs: options.orphanGraceMs ?? defaultOrphanGraceMs,
        notify: options.notify ?? (() => Promise.resolve()),
      }),
    });
    undo.push(() => engine.stop());
    const quarantine = createQuarantine({
      store,
      mailboxDir: sessionDir.mailboxDir,
      attempt: (name, work) => engine.attempt(name, work),
    });
    await engine.resume();
    options.signal?.throwIfAborted();
    // Its senders are answered into boxes that are open by now.
    quarantine.tell();
    mailbox.onMail(() => quarantine.tell());

    return createSurface({
      engine,
      store,
      host,
      wall,
      sessionId: sessionDir.sessionId,
      sessionDir: sessionDir.dir,
      cwd,
      catalog: discover,
      approve: (definition, signal) =>
        live.confirmProjectAgents === false ? undefined : approval.of(definition, signal),
      configure({ policy: rules = {}, retention: bounds = {}, ...rest }) {
        live = { ...live, ...rest };
        Object.assign(retention, bounds);
        engine.configure(rules);
      },
      findDefinition(name) {
        const catalog = discover();
        const definition = findAgent(catalog, name);
        const broken = catalog.problems.filter(({ path }) => basename(path) === `${name}.md`);
        return { definition, warnings: broken.map(({ message }) => message) };
      },
      model: options.model ?? (() => null),
      signal: options.signal,
      keepOpen: () => publishOwner(true),
      release(state) {
        engine.stop();
        mailbox.dispose();
        host.dispose();
        letGoOf(lock, store, state);
      },
    });
  }

  function discover(): AgentCatalog {
    return discoverAgents({
      cwd,
      agentDir,
      homeDir: homedir(),
      scope: live.agentScope ?? 'user',
      includeBundled: live.includeBundledAgents ?? true,
    });
  }

  /** What the runners of this session's children look at: without an owner they end their child. */
  function publishOwner(stayOpen: boolean): Promise<void> {
    return writeOwner(sessionDir.ownerFile, {
      v: 1,
      owner: lock.identity,
      takenAtMs: wall(),
      ...(stayOpen ? { stayOpen } : {}),
    });
  }
}

/**
 * Lets go of the session, later where the disk does not allow it now: this process lives on, and what
 * it seems to hold nobody could have, not even itself (SL4).
 */
function letGoOf(lock: SessionLock, store: Store, state: 'parked' | 'released'): void {
  try {
    lock.release(state);
  } catch (error) {
    if (isDiskError(error)) {
      setTimeout(() => letGoOf(lock, store, state), releaseAgainMs).unref();
      return;
    }
    store.close();
    throw error;
  }
  store.close();
}
