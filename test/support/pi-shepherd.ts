/** A real Pi session with our extension installed, a scripted model, and children that are told apart by their prompts. */
import { fileURLToPath } from 'node:url';
import { resolvePi } from '../../src/hosts/pi-command.ts';
import { makeIsolatedPi, type IsolatedPi } from './isolated-pi.ts';
import { compactable, roleOf, storedMessages, type StoredMessage } from './pi-children.ts';
import { startPiRpc, type PiRpc } from './pi-rpc.ts';
import { startScriptedModel, type ModelRequest, type ModelStep } from './scripted-model.ts';

const packageDir = fileURLToPath(new URL('../../', import.meta.url));

export interface PiShepherd {
  readonly isolated: IsolatedPi;
  /** The parent's Pi. */
  readonly rpc: PiRpc;
  /** Has the model of a role say more; `summary` is who compacts. */
  script(role: string, ...steps: readonly ModelStep[]): void;
  /** Every request that any of the Pi processes made. */
  readonly requests: readonly ModelRequest[];
  /** Texts of the parent's tool results, in order. */
  results(): readonly string[];
  /** Prompts the parent and waits until it has settled. */
  prompt(message: string): Promise<void>;
  /** The parent's custom message entries of a kind, once there are at least `count`. */
  notices(
    customType: string,
    count?: number,
  ): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Every custom message that the parent's session has stored, oldest first. */
  stored(): Promise<readonly StoredMessage[]>;
  close(): Promise<void>;
}

/**
 * Starts it; the package is installed as a user would, so that children load the parent extension too.
 *
 * @param steps by role: `shepherd`, and the names of agents as their prompts say them.
 */
export async function startPiShepherd(
  steps: Readonly<Record<string, readonly ModelStep[]>>,
): Promise<PiShepherd> {
  const model = await startScriptedModel({ steps, route: ({ system }) => roleOf(system) });
  const isolated = await makeIsolatedPi({
    baseUrl: model.baseUrl,
    models: ['m'],
    settings: { packages: [packageDir], ...compactable },
  });
  const parent = await startPiRpc({ pi: resolvePi(), isolated, args: ['--no-session'] });

  const messages = () =>
    parent.records.flatMap((record) => {
      const message = record.type === 'message_end' ? record['message'] : undefined;
      return isRecord(message) ? [message] : [];
    });
  const noticesOf = (customType: string) =>
    messages().filter((message) => message['customType'] === customType);

  return {
    isolated,
    rpc: parent,
    script: (role, ...more) => model.push(role, ...more),
    requests: model.requests,
    results: () =>
      messages().flatMap((message) => (message['role'] === 'toolResult' ? [textOf(message)] : [])),
    prompt: (message) => parent.prompt(message, 60_000),
    async notices(customType, count = 1) {
      if (noticesOf(customType).length < count) {
        await parent.waitFor(() => noticesOf(customType).length >= count, 60_000);
      }
      return noticesOf(customType);
    },
    async stored() {
      const { data } = await parent.request({ type: 'get_entries' });
      return storedMessages(
        isRecord(data) && Array.isArray(data['entries']) ? data['entries'] : [],
      );
    },
    async close() {
      await parent.close(20_000);
      await model.close();
      await isolated.remove();
    },
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function textOf(message: Readonly<Record<string, unknown>>): string {
  const { content } = message;
  return Array.isArray(content)
    ? content.map((part: unknown) => (isRecord(part) ? String(part['text']) : '')).join('')
    : String(content);
}

/** A tool call of a scripted turn. */
export function call(name: string, args: object): { readonly name: string; readonly args: object } {
  return { name, args };
}

/** The last id of a kind that the model was shown, anywhere. */
export function lastId(request: ModelRequest, kind: 'agent' | 'task' | 'message'): string {
  const pattern = new RegExp(`shepherd-${kind}-[0-9a-z]+`, 'g');
  const ids = request.messages.flatMap(({ text }) => text.match(pattern) ?? []);
  const last = ids.at(-1);
  if (last === undefined) throw new Error(`no ${kind} id was shown to ${request.queue}`);
  return last;
}
