/**
 * Whether an agent of the project may run: a repository must not bring its own agents unasked.
 *
 * AP1. Only definitions of the project are asked about; the user's own and the bundled ones are not.
 * AP2. An answer is for the very bytes of the file: changed ones are asked about again.
 * AP3. Yes holds for the session; no holds for this one time.
 */
import type { AgentDefinition } from '../agents/definition.ts';
import { ConfigError } from '../errors.ts';

/** Asks whether this definition may run; resolves with the answer. */
export type ApproveAgent = (definition: AgentDefinition, signal?: AbortSignal) => Promise<boolean>;

export interface Approval {
  /**
   * Undefined when nothing has to be asked.
   *
   * @throws (rejects) ConfigError `agent_not_approved`.
   */
  of(definition: AgentDefinition, signal?: AbortSignal): Promise<void> | undefined;
}

/** @param ask default: there is nobody to ask, and every definition of the project is refused. */
export function createApproval(ask: ApproveAgent | undefined): Approval {
  const approved = new Set<string>();
  return {
    of(definition, signal) {
      const { source, contentHash, name, path } = definition;
      if (source !== 'project' || approved.has(contentHash)) return undefined;
      return decide();

      async function decide(): Promise<void> {
        if (ask !== undefined && (await ask(definition, signal))) {
          approved.add(contentHash);
          return;
        }
        const why =
          ask === undefined
            ? 'there is nobody here who could be asked'
            : 'it was not allowed to run';
        throw new ConfigError(
          'agent_not_approved',
          `The agent "${name}" comes with the project (${path}), and ${why}. ` +
            'Copy it to your own agents, or set confirmProjectAgents to false in your own settings.',
          { data: { name, path, contentHash } },
        );
      }
    },
  };
}
