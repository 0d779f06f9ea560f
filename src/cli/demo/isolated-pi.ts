/**
 * A home for a Pi that touches nothing of the user's and needs no network: own HOME and config
 * directory, scripted models only.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import fsExtra from 'fs-extra';

/** The provider's name: a model is `scripted/<id>`. */
const SCRIPTED_PROVIDER = 'scripted';

/** Flags that leave only what `-e` names: no installed extension, skill, prompt, theme or context file. */
export const BARE_FLAGS = ['-ne', '-ns', '-np', '--no-themes', '-nc'] as const;

export interface IsolatedPiOptions {
  /** The scripted model's `baseUrl`. */
  readonly baseUrl: string;
  /** Model ids; the first one is the default model. */
  readonly models: readonly [string, ...string[]];
  /** What the home's name begins with. Default `isolated-pi`. */
  readonly name?: string | undefined;
  /** The directory below which the home is made. Default: the system's temporary one. */
  readonly root?: string | undefined;
  /** Pi settings over the quiet ones of this file. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** Variables over the isolated environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export interface IsolatedPi {
  readonly home: string;
  /** `PI_CODING_AGENT_DIR`. */
  readonly agentDir: string;
  /** An empty project to run in. */
  readonly workDir: string;
  /** The whole environment of the Pi process. */
  readonly env: Readonly<Record<string, string>>;
  /** Removes everything; Pi must have ended. */
  remove(): Promise<void>;
}

/** Makes the home and writes Pi's settings and model list into it. */
export async function makeIsolatedPi(options: IsolatedPiOptions): Promise<IsolatedPi> {
  const { baseUrl, models, root = tmpdir(), name = 'isolated-pi' } = options;
  await fsExtra.ensureDir(root);
  const home = await mkdtemp(join(root, `${name}-`));
  const agentDir = join(home, 'agent');
  const workDir = join(home, 'work');
  await fsExtra.ensureDir(workDir);
  await fsExtra.outputJson(join(agentDir, 'settings.json'), {
    ...quietSettings(models[0]),
    ...options.settings,
  });
  await fsExtra.outputJson(join(agentDir, 'models.json'), {
    providers: { [SCRIPTED_PROVIDER]: scriptedProvider(baseUrl, models) },
  });

  const env = {
    // The running Node first: the system's own may be older than Pi needs.
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    HOME: home,
    // Shared: Pi keeps its compile cache here, which halves each start after the first.
    TMPDIR: tmpdir(),
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    TZ: 'UTC',
    PI_CODING_AGENT_DIR: agentDir,
    PI_OFFLINE: '1',
    PI_SKIP_VERSION_CHECK: '1',
    PI_TELEMETRY: '0',
    ...options.env,
  };
  return { home, agentDir, workDir, env, remove: () => fsExtra.remove(home) };
}

/** No retry, compaction or telemetry: a run makes exactly the requests that its script has steps for. */
function quietSettings(defaultModel: string): object {
  return {
    defaultProvider: SCRIPTED_PROVIDER,
    defaultModel,
    defaultThinkingLevel: 'off',
    quietStartup: true,
    enableInstallTelemetry: false,
    enableAnalytics: false,
    cacheWarming: 'off',
    retry: { enabled: false },
    compaction: { enabled: false },
  };
}

function scriptedProvider(baseUrl: string, models: readonly string[]): object {
  return {
    baseUrl,
    api: 'openai-completions',
    // Never checked, but without one Pi calls the models unavailable.
    apiKey: 'scripted',
    compat: {
      supportsDeveloperRole: false,
      supportsReasoningEffort: false,
      supportsStore: false,
    },
    models: models.map((id) => ({
      id,
      name: id,
      reasoning: false,
      input: ['text'],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 128_000,
      maxTokens: 4096,
    })),
  };
}
