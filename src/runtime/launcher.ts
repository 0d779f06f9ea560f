/**
 * Turns an agent's record into a launch: boxes, identity, prompt file, command line, environment.
 *
 * Repeating it is harmless: the same record gives the same files and the same launch id.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentDefinition } from '../agents/definition.ts';
import type { Launch } from '../hosts/host.ts';
import { buildPiCommand, childEnvironment, resolvePi } from '../hosts/pi-command.ts';
import type { Mailbox } from '../mailbox/mailbox.ts';
import type { AgentRecord } from './records.ts';
import type { SessionDir } from './session-dir.ts';

/** The tools that every child has, whatever its definition allows. */
const childTools = ['shepherd_message', 'shepherd_done', 'shepherd_roster'] as const;

/** What a child's command line is made of. */
export interface ChildCommandInput {
  readonly definition: AgentDefinition;
  readonly model: string | null;
  readonly cwd: string;
  /** 0600 file that makes the child who it is; it reaches the child by `SHEEPFOLD_CHILD`. */
  readonly identityPath: string;
  /** A file with the definition's body. */
  readonly promptFile: string;
  /** Where the child keeps its own session. */
  readonly childSessionDir: string;
  /** The host gives it a terminal. */
  readonly inTerminal: boolean;
}

export interface ChildCommand {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

/** How a child is started; a program that embeds Sheepfold may bring its own kind of child. */
export type MakeChildCommand = (input: ChildCommandInput) => ChildCommand;

/** The child extension that belongs to this copy of the code, from sources or built. */
function childExtensionPath(): string {
  const extension = extname(fileURLToPath(import.meta.url));
  return fileURLToPath(new URL(`../pi/child-extension${extension}`, import.meta.url));
}

/** Starts Pi with the child extension, in rpc mode where there is no terminal. @throws HostError `launch_failed` without Pi. */
export const piChildCommand: MakeChildCommand = (input) => ({
  argv: buildPiCommand({
    pi: resolvePi(),
    definition: input.definition,
    childExtension: childExtensionPath(),
    sessionDir: input.childSessionDir,
    promptFile: input.promptFile,
    childTools,
    inTerminal: input.inTerminal,
    ...(input.model === null ? {} : { model: input.model }),
  }),
  env: childEnvironment(process.env, { identityPath: input.identityPath }),
});

/** Everything of one launch lies below it. */
export function launchDirOf(
  sessionDir: Pick<SessionDir, 'launchDir'>,
  agentId: string,
  launch: number,
): string {
  return join(sessionDir.launchDir, `${agentId}.${launch}`);
}

/** Prepares everything that a host needs to open the agent's place. */
export function prepareLaunch(options: {
  readonly orphanGraceMs: number;
  readonly agent: AgentRecord;
  readonly sessionDir: SessionDir;
  readonly mailbox: Mailbox;
  readonly makeCommand: MakeChildCommand;
  readonly inTerminal: boolean;
}): Launch {
  const { agent, sessionDir, mailbox, makeCommand, orphanGraceMs, inTerminal } = options;
  const launchId = `${agent.id}.${agent.launch}`;
  const launchDir = launchDirOf(sessionDir, agent.id, agent.launch);
  const childSessionDir = join(launchDir, 'session');
  mkdirSync(childSessionDir, { recursive: true, mode: 0o700 });
  const promptFile = join(launchDir, 'prompt.md');
  writeFileSync(promptFile, agent.definition.body, { mode: 0o600 });
  const identityPath = openBoxes({ agent, mailbox, launchDir });
  const { argv, env } = makeCommand({
    definition: agent.definition,
    model: agent.model,
    cwd: agent.cwd,
    identityPath,
    promptFile,
    childSessionDir,
    inTerminal,
  });
  const label = `${agent.definition.name}: ${agent.label}`;
  return {
    launchId,
    launchDir,
    argv,
    cwd: agent.cwd,
    env,
    label,
    placement: agent.placement,
    ownerFile: sessionDir.ownerFile,
    orphanGraceMs,
  };
}

/** Opens an agent's boxes, also those that an earlier parent made; returns its identity file. */
export function openBoxes(options: {
  readonly agent: AgentRecord;
  readonly mailbox: Mailbox;
  readonly launchDir: string;
}): string {
  const { agent, mailbox, launchDir } = options;
  return mailbox.open(
    { agentId: agent.id, launch: agent.launch },
    {
      secret: agent.secret,
      label: agent.label,
      agent: agent.definition.name,
      identityPath: join(launchDir, 'identity.json'),
    },
  );
}
