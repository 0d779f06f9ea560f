/** Real Pi children of a Shepherd that is this process: it sends, and looks into their sessions. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { AgentHost } from '../../src/hosts/host.ts';
import { readSpec, writeInput } from '../../src/hosts/launch.ts';
import { childEnvironment } from '../../src/hosts/pi-command.ts';
import { boxesOf, messageIdOf } from '../../src/mailbox/layout.ts';
import { createShepherd } from '../../src/runtime/create-shepherd.ts';
import { piChildCommand } from '../../src/runtime/launcher.ts';
import type { Policy } from '../../src/runtime/policy.ts';
import type { Shepherd } from '../../src/runtime/shepherd.ts';
import { makeIsolatedPi } from './isolated-pi.ts';
import { startPiRpc, type PiRpc } from './pi-rpc.ts';
import { startScriptedModel, type ModelRequest, type ModelStep } from './scripted-model.ts';

/** A custom message that a session has stored. */
export interface StoredMessage {
  readonly customType: string;
  readonly content: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface PiChildren {
  readonly shepherd: Shepherd;
  /** Has the model of an agent say more; by the agent's name, `summary` for compactions. */
  script(name: string, ...steps: readonly ModelStep[]): void;
  /** What the model of an agent was asked, oldest first. */
  requests(name: string): readonly ModelRequest[];
  /** Custom messages in a child's session, oldest first. */
  stored(agentId: string): readonly StoredMessage[];
  /** Waits until the child has taken these envelopes from its inbox and not acked them. */
  holds(agentId: string, messageIds: readonly string[]): Promise<void>;
  /** Has the child's Pi compact its session, as a user does. */
  compact(agentId: string): Promise<void>;
  /** Starts the Pi of a launch once more, as somebody with its files can; it reads its input. */
  revive(agentId: string, launch: number): Promise<PiRpc>;
  close(): Promise<void>;
}

export type Argv = ReturnType<typeof piChildCommand>['argv'];

/** Starts the Shepherd and the model; children are spawned by `shepherd.spawn`. */
export async function openPiChildren(
  policy: Partial<Policy> = {},
  {
    makeArgv = (argv) => argv,
    ...options
  }: {
    readonly host?: AgentHost;
    /** What is run in place of the child's own command line. */
    readonly makeArgv?: (argv: Argv) => Argv;
  } = {},
): Promise<PiChildren> {
  const model = await startScriptedModel({ route: ({ system }) => roleOf(system) });
  const isolated = await makeIsolatedPi({
    baseUrl: model.baseUrl,
    models: ['m'],
    settings: compactable,
  });
  const shepherd = await createShepherd({
    cwd: isolated.workDir,
    agentDir: isolated.agentDir,
    policy,
    ...options,
    makeCommand: (input) => ({
      argv: makeArgv(piChildCommand(input).argv),
      env: childEnvironment(isolated.env, input),
    }),
  });
  const processes: PiRpc[] = [];
  const launchDir = (agentId: string): string =>
    join(shepherd.sessionDir, 'launch', `${agentId}.1`);

  return {
    shepherd,
    script: (name, ...steps) => model.push(name, ...steps),
    requests: (name) => model.requests.filter(({ queue }) => queue === name),
    stored(agentId) {
      const dir = join(launchDir(agentId), 'session');
      return readdirSync(dir).flatMap((file) =>
        storedMessages(
          readFileSync(join(dir, file), 'utf8')
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line) as unknown),
        ),
      );
    },
    async holds(agentId, messageIds) {
      const mailbox = join(shepherd.sessionDir, 'mailbox');
      const { cur } = boxesOf(mailbox, { agentId, launch: 1 }).inbox;
      await vi.waitFor(() => {
        const held = readdirSync(cur).map(messageIdOf);
        for (const id of messageIds) if (!held.includes(id)) throw new Error(`${id} is not held`);
      }, limits);
    },
    compact: (agentId) => writeInput(launchDir(agentId), JSON.stringify({ type: 'compact' })),
    async revive(agentId, launch) {
      const spec = await readSpec(join(shepherd.sessionDir, 'launch', `${agentId}.${launch}`));
      const [node = '', cli = '', , , ...args] = spec?.argv ?? [];
      const revived = await startPiRpc({
        pi: { node, cli },
        isolated,
        args,
        env: spec?.env ?? {},
      });
      processes.push(revived);
      return revived;
    },
    async close() {
      for (const process of processes) await process.close();
      await shepherd.dispose();
      await model.close();
      await isolated.remove();
    },
  };
}

/** Pi settings with which also a short session has something to compact. */
export const compactable = { compaction: { enabled: false, keepRecentTokens: 1 } };

/** Whose request it is, by its system prompt. */
export function roleOf(system: string): string {
  if (system.includes('context summarization assistant')) return 'summary';
  return /You are (scout|planner|worker|reviewer)\b/.exec(system)?.[1] ?? 'shepherd';
}

/** The custom messages among a session's entries. */
export function storedMessages(entries: readonly unknown[]): readonly StoredMessage[] {
  return entries.filter(
    (entry): entry is StoredMessage =>
      typeof entry === 'object' &&
      entry !== null &&
      'type' in entry &&
      entry.type === 'custom_message',
  );
}

/** Limits that only a hang reaches. */
export const limits = { timeout: 30_000, interval: 20 };

/** A step of a model that waits until it is let go. */
export function heldStep(reply: ModelStep): {
  readonly step: ModelStep;
  readonly letGo: () => void;
} {
  let letGo!: () => void;
  const passed = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const step: ModelStep = async (request) => {
    await passed;
    return typeof reply === 'function' ? reply(request) : reply;
  };
  return { step, letGo };
}
