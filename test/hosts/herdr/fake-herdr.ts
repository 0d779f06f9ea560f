/**
 * A stand-in for Herdr: its socket, its answers, its habits; the panes are real shells in tmux.
 *
 * Faithful where our host looks: one request a connection, shapes and error codes of protocols 14 to 22, lifecycle events in
 * snake case, ids of panes that change when a pane is moved, panes that go without an exit code. The switches are
 * what went wrong with real ones in the field.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

export interface FakeHerdrOptions {
  /** Default 20. */
  readonly protocol?: number;
  /** A new subscription first gets all events of before, as up to 0.8.2. */
  readonly replays?: boolean;
  /** So long a fresh pane's shell is busy with its own files. */
  readonly busyMs?: number;
  /** The first line typed into a fresh pane loses all behind so many characters. */
  readonly truncatesAt?: number;
}

export interface FakeHerdr {
  /** What a program within a pane of it has in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Methods that were called, in order. */
  readonly calls: readonly string[];
  /** What panes were said to be, by `pane.report_agent`. */
  readonly reports: readonly Readonly<Record<string, unknown>>[];
  /** Ids of the panes that there are. */
  panes(): readonly string[];
  focused(): string | undefined;
  /** Somebody moves a pane to another workspace: it is called by another id from now on. */
  move(paneId: string): string;
  /** Somebody closes a pane by hand. */
  closeByHand(paneId: string): Promise<void>;
  /** The server is gone, its panes live on; and it comes back. */
  vanish(): Promise<void>;
  comeBack(): Promise<void>;
  /** Tells an event in a spelling of one's own, as of another version. */
  tell(event: object): void;
  stop(): Promise<void>;
}

interface Pane {
  id: string;
  readonly terminalId: string;
  readonly tmuxPane: string;
  readonly shellPid: number;
  readonly bornAtMs: number;
  workspaceId: string;
  readonly tabId: string;
  isFresh: boolean;
}

class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message = code) {
    super(message);
    this.code = code;
  }
}

const requestSchema = z.object({
  id: z.string(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()),
});

export async function startFakeHerdr(options: FakeHerdrOptions = {}): Promise<FakeHerdr> {
  const { protocol = 20, replays = false, busyMs = 0, truncatesAt } = options;
  const dir = await mkdtemp(join(tmpdir(), 'herdr-'));
  const socketPath = join(dir, 'herdr.sock');
  const tmuxName = `fake-herdr-${Math.random().toString(36).slice(2)}`;
  const panes: Pane[] = [];
  const history: object[] = [];
  const followers = new Set<Socket>();
  const connections = new Set<Socket>();
  const calls: string[] = [];
  const reports: Readonly<Record<string, unknown>>[] = [];
  let count = 0;
  let opened = 0;
  let focused: string | undefined;
  let server: Server | undefined;
  /** The first pane starts the server of all others. */
  let making: Promise<unknown> = Promise.resolve();

  const tmux = async (...args: readonly string[]): Promise<string> =>
    (await run('tmux', ['-L', tmuxName, '-f', '/dev/null', ...args])).stdout;

  function tell(event: object): void {
    history.push(event);
    for (const follower of followers) follower.write(`${JSON.stringify(event)}\n`);
  }

  function findPane(params: Readonly<Record<string, unknown>>, key = 'pane_id'): Pane {
    const pane = panes.find(({ id }) => id === params[key]);
    if (pane === undefined) throw new Refusal('pane_not_found', `no pane ${String(params[key])}`);
    return pane;
  }

  function makePane(
    workspaceId: string,
    tabId: string,
    params: Readonly<Record<string, unknown>>,
  ): Promise<Pane> {
    count += 1;
    const id = `${workspaceId}:p${count}`;
    const made = making.then(() => startPane(id, { workspaceId, tabId, params }));
    making = made.catch(() => undefined);
    return made;
  }

  async function startPane(
    id: string,
    {
      workspaceId,
      tabId,
      params,
    }: {
      readonly workspaceId: string;
      readonly tabId: string;
      readonly params: Readonly<Record<string, unknown>>;
    },
  ): Promise<Pane> {
    const cwd = typeof params['cwd'] === 'string' ? params['cwd'] : dir;
    const environment = {
      ...env,
      HERDR_PANE_ID: id,
      HERDR_TAB_ID: tabId,
      HERDR_WORKSPACE_ID: workspaceId,
    };
    const words = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const shell = ['env', ...words, 'ENV=', 'PS1=$ ', 'sh'];
    const common = ['-d', '-P', '-F', '#{pane_id} #{pane_pid}', '-c', cwd];
    opened += 1;
    // With its last pane the server of the panes ends.
    const isThere = await tmux('has-session', '-t', 'herdr').then(
      () => true,
      () => false,
    );
    const made = !isThere
      ? await tmux('new-session', '-x', '120', '-y', '40', '-s', 'herdr', ...common, '--', ...shell)
      : await tmux('new-window', '-t', 'herdr:', ...common, '--', ...shell);
    const [tmuxPane = '', pid = ''] = made.trim().split(' ');
    const pane: Pane = {
      id,
      terminalId: `term_${opened.toString(16)}`,
      tmuxPane,
      shellPid: Number(pid),
      bornAtMs: Date.now(),
      workspaceId,
      tabId,
      isFresh: true,
    };
    panes.push(pane);
    if (params['focus'] !== false) focused = id;
    tell({ event: 'pane_created', data: { type: 'pane_created', pane_id: id } });
    return pane;
  }

  const infoOf = (pane: Pane) => ({
    pane_id: pane.id,
    terminal_id: pane.terminalId,
    workspace_id: pane.workspaceId,
    tab_id: pane.tabId,
    focused: focused === pane.id,
    agent_status: 'unknown',
    revision: 1,
    // Of a version that is not out yet.
    sparkle: true,
  });

  /** It goes without a word on how its program ended. */
  function forget(pane: Pane): void {
    const at = panes.indexOf(pane);
    if (at < 0) return;
    panes.splice(at, 1);
    for (const name of ['pane_exited', 'pane_closed']) {
      tell({ event: name, data: { type: name, pane_id: pane.id, workspace_id: pane.workspaceId } });
    }
  }

  async function closePane(pane: Pane): Promise<void> {
    await tmux('kill-pane', '-t', pane.tmuxPane).catch(() => undefined);
    forget(pane);
  }

  const methods: Readonly<
    Record<string, (params: Readonly<Record<string, unknown>>) => Promise<object> | object>
  > = {
    ping: () => ({ type: 'pong', version: '0.8.2', protocol, capabilities: {} }),
    'workspace.create': async (params) => {
      const workspaceId = `w${count + 1}`;
      const pane = await makePane(workspaceId, `${workspaceId}:t1`, params);
      return {
        type: 'workspace_created',
        workspace: { workspace_id: workspaceId },
        tab: { tab_id: pane.tabId },
        root_pane: infoOf(pane),
      };
    },
    'tab.create': async (params) => {
      const active = panes[0]?.workspaceId;
      const workspaceId = params['workspace_id'] ?? active;
      if (typeof workspaceId !== 'string') throw new Refusal('no_active_workspace');
      if (!panes.some((pane) => pane.workspaceId === workspaceId)) {
        throw new Refusal('workspace_not_found');
      }
      const pane = await makePane(workspaceId, `${workspaceId}:t${count + 1}`, params);
      return { type: 'tab_created', tab: { tab_id: pane.tabId }, root_pane: infoOf(pane) };
    },
    'pane.split': async (params) => {
      const beside = findPane(params, 'target_pane_id');
      if (params['direction'] !== 'right' && params['direction'] !== 'down') {
        throw new Refusal('invalid_params');
      }
      const pane = await makePane(beside.workspaceId, beside.tabId, params);
      return { type: 'pane_info', pane: infoOf(pane) };
    },
    'pane.list': () => ({ type: 'pane_list', panes: panes.map(infoOf) }),
    'pane.process_info': (params) => {
      const pane = findPane(params);
      const isBusy = Date.now() - pane.bornAtMs < busyMs;
      return {
        type: 'pane_process_info',
        process_info: {
          pane_id: pane.id,
          shell_pid: pane.shellPid,
          foreground_process_group_id: isBusy ? pane.shellPid + 1 : foregroundOf(pane.shellPid),
          foreground_processes: [],
        },
      };
    },
    'pane.send_input': async (params) => {
      const pane = findPane(params);
      const text = typeof params['text'] === 'string' ? params['text'] : '';
      const typed = pane.isFresh && truncatesAt !== undefined ? text.slice(0, truncatesAt) : text;
      pane.isFresh = false;
      await tmux('send-keys', '-t', pane.tmuxPane, '-l', '--', typed);
      await sendKeys(pane, params['keys']);
      return { type: 'ok' };
    },
    'pane.send_keys': async (params) => {
      await sendKeys(findPane(params), params['keys']);
      return { type: 'ok' };
    },
    'pane.read': async (params) => {
      const pane = findPane(params);
      const lines = typeof params['lines'] === 'number' ? params['lines'] : 80;
      const text = await tmux('capture-pane', '-p', '-J', '-S', `-${lines}`, '-t', pane.tmuxPane);
      return { type: 'pane_read', read: { pane_id: pane.id, text, revision: 1, truncated: false } };
    },
    'pane.close': async (params) => {
      await closePane(findPane(params));
      return { type: 'ok' };
    },
    'pane.report_agent': (params) => {
      findPane(params);
      reports.push(params);
      return { type: 'ok' };
    },
  };

  async function sendKeys(pane: Pane, keys: unknown): Promise<void> {
    const names: Readonly<Record<string, string>> = {
      Enter: 'Enter',
      esc: 'Escape',
      'ctrl+c': 'C-c',
    };
    for (const key of Array.isArray(keys) ? keys : []) {
      const name = names[String(key)];
      if (name === undefined) throw new Refusal('invalid_key', String(key));
      await tmux('send-keys', '-t', pane.tmuxPane, name);
    }
  }

  async function answer(socket: Socket, line: string): Promise<void> {
    const { id, method, params } = requestSchema.parse(JSON.parse(line));
    calls.push(method);
    if (method === 'events.subscribe') {
      socket.write(`${JSON.stringify({ id, result: { type: 'subscription_started' } })}\n`);
      if (replays) for (const event of history) socket.write(`${JSON.stringify(event)}\n`);
      followers.add(socket);
      return;
    }
    try {
      const made = methods[method];
      if (made === undefined) throw new Refusal('invalid_request', method);
      const result = await made(params);
      socket.end(`${JSON.stringify({ id, result })}\n`);
    } catch (error) {
      const code = error instanceof Refusal ? error.code : 'internal_error';
      const message = error instanceof Error ? error.message : String(error);
      socket.end(`${JSON.stringify({ id, error: { code, message } })}\n`);
    }
  }

  async function listen(): Promise<void> {
    const made = createServer((socket) => {
      connections.add(socket);
      let rest = '';
      let isAsked = false;
      socket.setEncoding('utf8');
      socket.on('error', () => undefined);
      socket.on('close', () => {
        connections.delete(socket);
        followers.delete(socket);
      });
      socket.on('data', (text: string) => {
        rest += text;
        const end = rest.indexOf('\n');
        // Anything behind the first line is not read.
        if (end < 0 || isAsked) return;
        isAsked = true;
        void answer(socket, rest.slice(0, end));
      });
    });
    await rm(socketPath, { force: true });
    await new Promise<void>((resolve) => {
      made.listen(socketPath, resolve);
    });
    await chmod(socketPath, 0o600);
    server = made;
  }

  async function vanish(): Promise<void> {
    for (const socket of connections) socket.destroy();
    await new Promise((resolve) => {
      server?.close(resolve);
    });
    await rm(socketPath, { force: true });
  }

  /** A pane whose shell has ended is no pane. */
  async function reap(): Promise<void> {
    const listed = await tmux('list-panes', '-a', '-F', '#{pane_id}').catch(() => '');
    const alive = new Set(listed.split('\n'));
    for (const pane of panes.filter(({ tmuxPane }) => !alive.has(tmuxPane))) forget(pane);
  }

  const shim = join(dir, 'bin', 'herdr');
  await run('mkdir', ['-p', join(dir, 'bin')]);
  await writeFile(shim, shimSource, { mode: 0o755 });
  const env: Record<string, string> = {
    HERDR_ENV: '1',
    HERDR_SOCKET_PATH: socketPath,
    HERDR_BIN_PATH: shim,
  };
  await listen();
  const reaper = setInterval(() => void reap(), 100);

  return {
    env,
    calls,
    reports,
    panes: () => panes.map(({ id }) => id),
    focused: () => focused,
    move(paneId) {
      const pane = findPane({ pane_id: paneId });
      count += 1;
      pane.workspaceId = `w${count}`;
      pane.id = `${pane.workspaceId}:p${count}`;
      tell({ event: 'pane_moved', data: { type: 'pane_moved', pane_id: pane.id } });
      return pane.id;
    },
    closeByHand: (paneId) => closePane(findPane({ pane_id: paneId })),
    vanish,
    comeBack: listen,
    tell,
    async stop() {
      clearInterval(reaper);
      await vanish();
      await tmux('kill-server').catch(() => undefined);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Process group in the foreground of a shell's terminal: field 8 behind the name. */
function foregroundOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[5]);
  } catch {
    return null;
  }
}

/** The program on the PATH, as far as `sheepfold doctor` asks it. */
const shimSource = `#!${process.execPath}
const { createConnection } = require('node:net');
const [first, second] = process.argv.slice(2);
if (first === '--version') {
  console.log('herdr 0.8.2');
} else if (first === 'status' && second === 'server') {
  const socket = createConnection(process.env.HERDR_SOCKET_PATH);
  socket.on('error', () => console.log(JSON.stringify({ status: 'not_running', running: false })));
  socket.on('connect', () => socket.write('{"id":"1","method":"ping","params":{}}\\n'));
  let text = '';
  socket.on('data', (piece) => (text += piece));
  socket.on('end', () => {
    const { version, protocol } = JSON.parse(text).result;
    console.log(JSON.stringify({ status: 'running', running: true, version, protocol }));
  });
} else {
  console.error('usage: herdr');
  process.exitCode = 2;
}
`;
