/**
 * The inspector's server: one session, on loopback, to read only.
 *
 * IS1. Whoever does not have the token, or comes by another name than loopback's, gets 403 and nothing else.
 * IS2. There is no way to change anything: GET only, and the store is open for reading only.
 * IS3. It ends with its signal, with every page that still looks.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ConfigError, describeError } from '../errors.ts';
import { createIdMaker } from '../ids.ts';
import { openSessionStore } from '../runtime/session-store.ts';
import type { Store } from '../runtime/store.ts';
import { follow } from './follow.ts';
import { pageFile, pageHtml } from './page-files.ts';
import { createSessionSource, type SessionSource } from './session-source.ts';

export interface InspectorOptions {
  /** Name of the session's directory, and the directory. */
  readonly name: string;
  readonly dir: string;
  /** Path of its `session.db`. */
  readonly storePath: string;
  /** 0, the default: any free one. */
  readonly port?: number | undefined;
  /** Epoch ms. Default: the wall clock. */
  readonly now?: (() => number) | undefined;
}

export interface Inspector {
  /** Where the page is, with its token. */
  readonly url: string;
  /** What it reads from. */
  readonly store: Store;
  close(): Promise<void>;
}

/**
 * Starts the server.
 *
 * @throws ConfigError `invalid_argument` for a port that is not to be had; as `openSessionStore`.
 */
export async function startInspector(options: InspectorOptions): Promise<Inspector> {
  const { name, dir, storePath, port = 0, now = Date.now } = options;
  const store = openSessionStore(storePath, { readOnly: true });
  const token = createIdMaker().secret();
  const ending = new AbortController();
  const source = createSessionSource({ store, name, dir, now });
  const server = createServer((request, response) => {
    answer({ request, response, token, source, signal: ending.signal }).catch((error: unknown) => {
      if (!response.headersSent) send(response, 500, { type: json, body: describeError(error) });
      response.end();
    });
  });
  try {
    await listen(server, port);
  } catch (error) {
    store.close();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${portOf(server)}/${token}/`,
    store,
    async close() {
      if (ending.signal.aborted) return;
      ending.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      store.close();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new ConfigError(
      'invalid_argument',
      `Port ${port} is not to be had (${describeError(cause)}); 0 takes any free one.`,
      { cause },
    );
  }
}

/** A server on TCP has a port; only one on a socket file has a name in its place. */
function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const json = 'application/json; charset=utf-8';
const text = 'text/plain; charset=utf-8';

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly token: string;
  readonly source: SessionSource;
  readonly signal: AbortSignal;
}

async function answer(call: Call): Promise<void> {
  const { request, response, token, source } = call;
  if (!isLoopback(request.headers.host)) {
    send(response, 403, { type: text, body: 'This inspector answers to loopback only.' });
    return;
  }
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const [, given = '', ...rest] = url.pathname.split('/');
  if (given !== token) {
    send(response, 403, { type: text, body: 'The token of this address is wrong.' });
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    send(response, 405, { type: text, body: 'This inspector is to read only.' });
    return;
  }
  const path = rest.join('/');
  if (path === '') {
    const nonce = randomBytes(16).toString('base64');
    const body = pageHtml(nonce);
    send(response, 200, { type: 'text/html; charset=utf-8', body }, `'nonce-${nonce}'`);
  } else if (path === 'api/live') {
    await live(
      call,
      Number(request.headers['last-event-id'] ?? url.searchParams.get('after') ?? 0),
    );
  } else if (path.startsWith('api/')) {
    const found = await ask(source, path.slice('api/'.length), url.searchParams);
    send(response, found === undefined ? 404 : 200, {
      type: json,
      body: JSON.stringify(found ?? null),
    });
  } else {
    const file = await pageFile(path);
    send(response, file === undefined ? 404 : 200, file ?? { type: text, body: 'Not here.' });
  }
}

/** By name: a page elsewhere that has its own name resolved to loopback is not let in. */
function isLoopback(host: string | undefined): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host ?? '');
}

function ask(source: SessionSource, what: string, query: URLSearchParams): unknown {
  const id = query.get('id') ?? '';
  switch (what) {
    case 'session':
      return source.session();
    case 'names':
      return source.names();
    case 'actor':
      return source.actor(id, Number(query.get('seq')));
    case 'task':
      return source.task(id);
    case 'envelope':
      return source.envelope(id);
    default:
      return undefined;
  }
}

/** Server-sent events: pieces of the journal, and when all that there was has been sent. */
async function live({ request, response, source, signal }: Call, after: number): Promise<void> {
  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  head(response, 200, 'text/event-stream');
  response.flushHeaders();
  if (request.method === 'HEAD') return;
  await follow(
    {
      read: (from, limit) => source.rows(from, limit),
      take(rows) {
        const id = rows.at(-1)?.seq ?? 0;
        return response.write(`id: ${id}\ndata: ${JSON.stringify(rows)}\n\n`);
      },
      ready: async () => {
        await once(response, 'drain', { signal: leaving.signal }).catch(() => undefined);
      },
      signal: AbortSignal.any([signal, leaving.signal]),
    },
    Number.isSafeInteger(after) ? after : 0,
  );
  response.end();
}

function send(
  response: ServerResponse,
  status: number,
  { type, body }: { readonly type: string; readonly body: string },
  script = '',
): void {
  head(response, status, type, script);
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

/** @param script what may run besides the page's own files. */
function head(response: ServerResponse, status: number, type: string, script = ''): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    // Everything comes from here; nobody else may show it within a page of theirs.
    'Content-Security-Policy': [
      `default-src 'self'`,
      `script-src 'self' ${script}`.trim(),
      `style-src 'self' 'unsafe-inline'`,
      `img-src 'self' data:`,
      `frame-ancestors 'none'`,
    ].join('; '),
  });
}
