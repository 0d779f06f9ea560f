/**
 * Calls Herdr over its socket: one request a connection, one line each way.
 *
 * HC1. Every call has a deadline. A server that does not answer is `host_unavailable`, whatever it has done.
 * HC2. Answers are read leniently: fields that are not known yet do no harm.
 * HC3. A server speaks protocol 14 or later, or nothing is asked of it.
 */
import { createConnection, type Socket } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { describeError, HostError } from '../../errors.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The socket that Herdr's own tools would take: what is named, the named session's, the default one. */
export function herdrSocket(env: Env): string {
  const { HERDR_SOCKET_PATH = '', HERDR_SESSION = '', XDG_CONFIG_HOME = '', HOME = '' } = env;
  if (HERDR_SOCKET_PATH !== '') return HERDR_SOCKET_PATH;
  const home = HOME === '' ? homedir() : HOME;
  const config = join(XDG_CONFIG_HOME === '' ? join(home, '.config') : XDG_CONFIG_HOME, 'herdr');
  return HERDR_SESSION === ''
    ? join(config, 'herdr.sock')
    : join(config, 'sessions', HERDR_SESSION, 'herdr.sock');
}

export interface HerdrClient {
  /**
   * Calls a method and returns its result.
   *
   * @throws HostError `not_found` for a pane, tab or workspace that is not there, `host_unavailable`
   * for anything else that Herdr refuses, and where it does not answer.
   */
  call<T>(method: string, params: object, schema: z.ZodType<T>): Promise<T>;
  /**
   * Calls `listener` for each event of these types, until the stop; connects again when the server comes back. An
   * event may come again, and one of before.
   */
  subscribe(types: readonly string[], listener: (event: HerdrEvent) => void): () => void;
}

export interface HerdrEvent {
  /** Dotted, whichever spelling it came in: `pane.exited`. */
  readonly type: string;
  readonly paneId: string | undefined;
}

export interface HerdrClientOptions {
  readonly socket: string;
  /** Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

const leastProtocol = 14;
/** Between two tries to subscribe. */
const reconnectMs = { first: 250, longest: 4_000 };

const answerSchema = z.looseObject({
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.string(), message: z.string().optional() }).optional(),
});
const pongSchema = z.looseObject({ protocol: z.number() });
const eventSchema = z.looseObject({
  event: z.string(),
  data: z.looseObject({ pane_id: z.string().optional() }).optional(),
});

export function createHerdrClient({ socket, timeoutMs = 10_000 }: HerdrClientOptions): HerdrClient {
  /** Asked once, and again after a failure: a server may be replaced. */
  let protocol: Promise<void> | undefined;
  let count = 0;

  async function request(method: string, params: object): Promise<unknown> {
    const id = String((count += 1));
    const line = await exchange(socket, JSON.stringify({ id, method, params }), timeoutMs);
    const answer = answerSchema.safeParse(parse(line));
    if (!answer.success) throw unavailable(`${method}: it answered with something else.`);
    const { error, result } = answer.data;
    if (error === undefined) return result;
    const said = `herdr ${method}: ${error.code}${error.message === undefined ? '' : `: ${error.message}`}`;
    throw error.code.endsWith('_not_found')
      ? new HostError('not_found', said)
      : new HostError('host_unavailable', said, { data: { herdrCode: error.code } });
  }

  async function checkProtocol(): Promise<void> {
    const pong = pongSchema.safeParse(await request('ping', {}));
    const found = pong.success ? pong.data.protocol : undefined;
    if (found !== undefined && found >= leastProtocol) return;
    throw new HostError(
      'host_unavailable',
      `Herdr at ${socket} speaks protocol ${found ?? 'unknown'}; ${leastProtocol} or later is needed. ` +
        'Update Herdr and start its server anew.',
    );
  }

  return {
    async call(method, params, schema) {
      protocol ??= checkProtocol();
      try {
        await protocol;
      } catch (error) {
        protocol = undefined;
        throw error;
      }
      const result = await request(method, params);
      const parsed = schema.safeParse(result);
      if (parsed.success) return parsed.data;
      throw unavailable(`${method}: ${z.prettifyError(parsed.error)}`);
    },

    subscribe(types, listener) {
      let stopped = false;
      let open: Socket | undefined;
      let timer: NodeJS.Timeout | undefined;
      let pauseMs = reconnectMs.first;

      function connect(): void {
        const connection = createConnection(socket);
        open = connection;
        connection.unref();
        const subscriptions = types.map((type) => ({ type }));
        connection.on('connect', () => {
          pauseMs = reconnectMs.first;
          const asked = { id: 'events', method: 'events.subscribe', params: { subscriptions } };
          connection.write(`${JSON.stringify(asked)}\n`);
        });
        onLines(connection, (line) => {
          const parsed = eventSchema.safeParse(parse(line));
          if (!parsed.success) return;
          const { event, data } = parsed.data;
          const type = event.includes('.') ? event : event.replace('_', '.');
          listener({ type, paneId: data?.pane_id });
        });
        connection.on('error', () => undefined);
        connection.on('close', () => {
          if (stopped) return;
          timer = setTimeout(connect, pauseMs).unref();
          pauseMs = Math.min(pauseMs * 2, reconnectMs.longest);
        });
      }
      connect();

      return () => {
        stopped = true;
        clearTimeout(timer);
        open?.destroy();
      };
    },
  };
}

function unavailable(reason: string): HostError {
  return new HostError('host_unavailable', `herdr ${reason}`, { retryable: true });
}

/** Sends a line and returns the one that comes back. */
function exchange(path: string, line: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const connection = createConnection(path);
    const fail = (reason: string, cause?: unknown): void => {
      connection.destroy();
      reject(
        new HostError('host_unavailable', `Herdr at ${path}: ${reason}`, {
          cause,
          retryable: true,
        }),
      );
    };
    connection.setTimeout(timeoutMs, () => fail(`no answer within ${timeoutMs} ms`));
    connection.on('error', (error) => fail(describeError(error), error));
    connection.on('close', () => fail('it hung up without an answer'));
    connection.on('connect', () => connection.write(`${line}\n`));
    onLines(connection, (answer) => {
      resolve(answer);
      connection.destroy();
    });
  });
}

function onLines(connection: Socket, listener: (line: string) => void): void {
  let rest = '';
  connection.setEncoding('utf8');
  connection.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') listener(line);
  });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
