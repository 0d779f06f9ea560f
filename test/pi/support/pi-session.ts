/** A real Pi session in this process, with a scripted model and no network (`reference/pi.md` §8). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fauxAssistantMessage, fauxProvider, fauxToolCall } from '@earendil-works/pi-ai';
import {
  createAgentSession,
  DefaultResourceLoader,
  ModelRuntime,
  SessionManager,
  SettingsManager,
  type AgentSession,
  type ExtensionFactory,
} from '@earendil-works/pi-coding-agent';
import { onTestFinished } from 'vitest';

export { fauxAssistantMessage as says, fauxToolCall as calls };

type Faux = ReturnType<typeof fauxProvider>;
type Step = Parameters<Faux['setResponses']>[0][number];
type StepContext = Parameters<Extract<Step, (...args: never[]) => unknown>>[0];

export interface PiSession {
  readonly session: AgentSession;
  readonly faux: Faux;
  /** Custom messages that the session has stored, in order. */
  readonly customEntries: () => readonly CustomEntry[];
  /** Errors that Pi reported about extensions. */
  readonly errors: readonly string[];
  /** What the model was given, one list of texts a request. */
  readonly requests: readonly (readonly string[])[];
  /** The tools of extensions. */
  readonly tools: () => ReturnType<AgentSession['getAllTools']>;
  /** Scripts the model's answers; each request takes one. */
  readonly script: (...steps: readonly Step[]) => void;
  /** Ends it the way Pi does when it quits. */
  readonly quit: () => Promise<void>;
}

interface CustomEntry {
  readonly customType: string;
  readonly content: unknown;
  readonly details: { readonly id?: string };
}

export interface PiSessionOptions {
  readonly extensions: readonly ExtensionFactory[];
  readonly sessionManager?: SessionManager;
}

let providers = 0;

/** Starts a session and disposes it with the test. */
export async function startPi(options: PiSessionOptions): Promise<PiSession> {
  const dir = mkdtempSync(join(tmpdir(), 'sheepfold-pi-'));
  const faux = fauxProvider({ provider: `faux-${++providers}`, models: [{ id: 'm' }] });
  const modelRuntime = await ModelRuntime.create({
    authPath: join(dir, 'auth.json'),
    modelsPath: null,
    refreshOnCreate: false,
  });
  modelRuntime.registerNativeProvider(faux.provider);
  const settingsManager = SettingsManager.inMemory({
    compaction: { enabled: false },
    retry: { enabled: false },
  });
  const resourceLoader = new DefaultResourceLoader({
    cwd: dir,
    agentDir: dir,
    settingsManager,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
    systemPrompt: 'You are a test.',
    extensionFactories: [...options.extensions],
  });
  await resourceLoader.reload();
  const { session } = await createAgentSession({
    cwd: dir,
    agentDir: dir,
    model: faux.getModel(),
    thinkingLevel: 'off',
    modelRuntime,
    resourceLoader,
    settingsManager,
    sessionManager: options.sessionManager ?? SessionManager.inMemory(dir),
    noTools: 'builtin',
  });
  const errors: string[] = [];
  await session.bindExtensions({
    mode: 'rpc',
    onError: ({ event, error }) => errors.push(`${event}: ${error}`),
  });
  let over = false;
  const quit = async (): Promise<void> => {
    if (over) return;
    over = true;
    await session.abort();
    await session.extensionRunner.emit({ type: 'session_shutdown', reason: 'quit' });
    session.dispose();
    rmSync(dir, { recursive: true, force: true });
  };
  onTestFinished(quit);

  const requests: string[][] = [];
  return {
    session,
    faux,
    errors,
    requests,
    customEntries: () =>
      session.sessionManager
        .getEntries()
        .filter((entry) => entry.type === 'custom_message') as unknown as readonly CustomEntry[],
    tools: () =>
      session.getAllTools().filter(({ sourceInfo }) => !sourceInfo.path.startsWith('builtin:')),
    script: (...steps) => {
      faux.appendResponses(
        steps.map((step) => async (context, streamOptions, state, model) => {
          requests.push(textsOf(context));
          return typeof step === 'function' ? step(context, streamOptions, state, model) : step;
        }),
      );
    },
    quit,
  };
}

function textsOf({ messages }: StepContext): string[] {
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join(''),
    );
}
