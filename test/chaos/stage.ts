/**
 * The session of one parent, and what its scenes are made of.
 *
 * It knows nothing but what the session tells and what lies in the play's directory: what has been
 * done is looked up, not remembered.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ShepherdError } from '../../src/errors.ts';
import { createProcessHost } from '../../src/hosts/process.ts';
import { createShepherd } from '../../src/runtime/create-shepherd.ts';
import type { RequestRecord } from '../../src/runtime/records.ts';
import type { Retention } from '../../src/runtime/policy.ts';
import { openSessionStore } from '../../src/runtime/session-store.ts';
import type { Shepherd } from '../../src/runtime/shepherd.ts';
import type { Store } from '../../src/runtime/store.ts';
import { makeCommand, type Order } from './order.ts';
import type { Path } from './path.ts';
import { readChild, readLines } from './record.ts';
import { aheadMsOf, noticesFile, rules, type End, type Mode, type NoticeLine } from './scene.ts';
import { createWitness, nameOf } from './witness.ts';

export interface StageOptions {
  readonly dir: string;
  readonly mode: Mode;
  readonly path: Path;
  readonly retention?: Retention | undefined;
}

export interface Stage {
  readonly dir: string;
  readonly shepherd: Shepherd;
  readonly path: Path;
  readonly rules: (typeof rules)[Mode];
  /** The agent with this label, ready: found, else begun. */
  agent(label: string): Promise<string>;
  /** Several of them, begun at the same time. */
  agentsOf<L extends readonly string[]>(...labels: L): Promise<{ [I in keyof L]: string }>;
  /** Hands out a task and watches it: unless that is done, or its outcome has been told. */
  delegate(target: string, order: Order, timeoutMs?: number): Promise<string>;
  /** Sends the one message that an agent gets. */
  send(target: string, message: string): Promise<void>;
  /** Resolves when a child has written down that it has heard this. */
  heard(label: string, what: string): Promise<void>;
  /** Resolves when the Shepherd has been told. */
  told(what: string): Promise<void>;
  settled(taskId: string): Promise<void>;
  question(text: string): RequestRecord;
  close(agentId: string): Promise<void>;
  /** Goes by the play's clock as it is now, and looks what is due. */
  lookAtClock(): void;
  /** Lets go of the session and takes it up again, in this process. */
  park(next?: Partial<StageOptions>): Promise<Stage>;
  /** Waits until all is done, and says how it ended. */
  finish(): Promise<End>;
  /** Waits until the effects are done, and says how many agents have files. */
  countFiles(): Promise<End>;
}

const pollMs = 20;

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await wait(pollMs);
}

/** Opens the session, or takes up what an earlier parent left of it. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const { dir, mode, path, retention } = options;
  const witness = createWitness({ dir, mode });
  let opened: Store | undefined;
  let aheadMs = aheadMsOf(dir);
  const shepherd = await createShepherd({
    cwd: dir,
    agentDir: join(dir, 'pi'),
    sessionKey: 'chaos',
    host: path.host(createProcessHost({ sweepMs: 250 })),
    makeCommand,
    notify: path.notify((notice) => witness.keepNotice(storeOf(), notice)),
    policy: { ...rules[mode], spawnTimeoutMs: 60_000 },
    orphanGraceMs: 60_000,
    retention,
    wall: () => Date.now() + aheadMs,
    openStore: (file) => (opened = path.store(witness.watchSettling(openSessionStore(file)))),
  });
  const store = storeOf();

  function storeOf(): Store {
    if (opened === undefined) throw new Error('the session has no store yet');
    return opened;
  }

  async function agent(label: string): Promise<string> {
    const known = shepherd.agents().find((one) => one.label === label);
    if (known === undefined) return (await shepherd.spawn({ agent: 'scout', label })).id;
    await until(() => shepherd.status(known.id).state !== 'starting');
    return known.id;
  }

  /** Nothing is on its way any more: no effect, no watcher, no mail of an agent that lives. */
  function isQuiet(): boolean {
    if (store.all('effect').length > 0) return false;
    if (store.snapshots().some(([id]) => id.startsWith('shepherd-watch-'))) return false;
    const live = store.all('agent').filter(({ endedAtMs }) => endedAtMs === undefined);
    return live.every(({ id, launch }) =>
      ['inbox/new', 'inbox/cur', 'outbox/new', 'outbox/cur'].every(
        (box) =>
          readdirSync(join(shepherd.sessionDir, 'mailbox', `${id}.${launch}`, box)).length === 0,
      ),
    );
  }

  return {
    dir,
    shepherd,
    path,
    rules: rules[mode],
    agent,
    agentsOf: (...labels) => Promise.all(labels.map(agent)) as never,
    async delegate(target: string, order: Order, timeoutMs?: number): Promise<string> {
      const known = store.all('task').find((one) => nameOf(store, one.id) === order.do);
      const task = JSON.stringify(order);
      const taskId = known?.id ?? (await shepherd.delegate({ target, task, timeoutMs })).taskId;
      const isWatched = store
        .snapshots()
        .some(
          ([id, snapshot]) =>
            id.startsWith('shepherd-watch-') && JSON.stringify(snapshot).includes(taskId),
        );
      if (!isWatched && shepherd.task(taskId).result === undefined) shepherd.watch(taskId);
      return taskId;
    },
    async send(target: string, message: string): Promise<void> {
      const sent = store
        .all('message')
        .some(
          (one) => one.senderId === 'shepherd' && one.kind === 'message' && one.targetId === target,
        );
      if (!sent) await shepherd.message({ target, message });
    },
    heard: (label: string, what: string) =>
      until(() => readChild(dir, label).some((line) => line.what === what)),
    told: (what: string) =>
      until(() =>
        (readLines(join(dir, noticesFile)) as readonly NoticeLine[]).some(({ tells }) =>
          tells.includes(what),
        ),
      ),
    settled: (taskId: string) => until(() => shepherd.task(taskId).result !== undefined),
    question: (text: string) => {
      const found = store.all('request').find(({ question }) => question === text);
      if (found === undefined) throw new Error(`nobody asked ${text}`);
      return found;
    },
    async close(agentId: string): Promise<void> {
      const stateOf = () => shepherd.status(agentId).state;
      while (stateOf() !== 'closed') {
        // An earlier parent may have begun it, and this one goes on with it.
        if (stateOf() === 'closing') await wait(pollMs);
        else await shepherd.close(agentId);
      }
    },
    lookAtClock(): void {
      aheadMs = aheadMsOf(dir);
      try {
        shepherd.watch([]);
      } catch (error) {
        // Any call does it, one that is refused changes nothing else.
        if (!ShepherdError.is(error) || error.code !== 'invalid_argument') throw error;
      }
    },
    async park(next: Partial<StageOptions> = {}): Promise<Stage> {
      await shepherd.release({ stayOpen: true });
      return openStage({ ...options, ...next });
    },
    async finish(): Promise<End> {
      await until(() => shepherd.tasks().every(({ result }) => result !== undefined));
      await until(isQuiet);
      const tasks = shepherd.tasks().map(({ id, result }) => {
        const { status = 'open', error, lateEvents = [] } = result ?? {};
        const late = lateEvents.map(({ kind }) => `, late ${kind}`).join('');
        return [nameOf(store, id), `${status}${error === undefined ? '' : ` ${error}`}${late}`];
      });
      const agents = shepherd
        .agents()
        .map(({ label, state }) => [
          `agent ${label}`,
          state === 'idle' || state === 'working' ? 'lives' : state,
        ]);
      return Object.fromEntries([...tasks, ...agents]) as End;
    },
    async countFiles(): Promise<End> {
      await until(() => store.all('effect').length === 0);
      const [mailboxes, launches] = ['mailbox', 'launch'].map(
        (name) => readdirSync(join(shepherd.sessionDir, name)).length,
      );
      return { files: `${mailboxes} mailboxes, ${launches} launches` };
    },
  };
}
