/**
 * A language model that plays a script: an OpenAI-compatible streaming server on the loopback.
 *
 * The demo and the tests give it one queue of steps per agent. Each request takes the next step of its
 * queue and is recorded, so that a test can see what the model was shown. No account, no network.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

/** What the model says in one turn: text, then tool calls; or how it fails. */
export interface ModelReply {
  readonly text?: string;
  readonly toolCalls?: readonly ModelToolCall[];
  /** Waits before the first byte. */
  readonly delayMs?: number;
  /** Waits after each piece of text. */
  readonly pieceDelayMs?: number;
  /** Never answers; the connection stays open until the client or the server closes it. */
  readonly hang?: boolean;
  /** HTTP status of a failure. */
  readonly status?: number;
  /** The failure's text. */
  readonly error?: string;
}

export interface ModelToolCall {
  readonly name: string;
  readonly args?: object;
  /** Default: made from the request's number and the call's index. */
  readonly id?: string;
}

/** A reply, or a function that finds it out from the request. */
export type ModelStep = ModelReply | ((request: ModelRequest) => ModelReply | Promise<ModelReply>);

export interface ModelMessage {
  readonly role: string;
  readonly text: string;
  /** Names of the tools that an assistant message calls. */
  readonly toolCalls: readonly string[];
  /** The call that a tool message answers. */
  readonly toolCallId: string | undefined;
}

export interface ModelRequest {
  /** 1 for the first request of the server. */
  readonly number: number;
  readonly atMs: number;
  readonly model: string;
  readonly queue: string;
  /** The system prompt. */
  readonly system: string;
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** Without the system prompt. */
  readonly messages: readonly ModelMessage[];
  /** The text of the last message. */
  readonly last: string;
}

export interface ScriptedModelOptions {
  /** Steps by queue name. */
  readonly steps?: Readonly<Record<string, readonly ModelStep[]>>;
  /** The queue a request takes its step from. Default: the model id. */
  readonly route?: (request: Omit<ModelRequest, 'queue'>) => string;
  /** Default: any free one. */
  readonly port?: number;
}

export interface ScriptedModel {
  /** `http://127.0.0.1:<port>/v1`, for a provider's `baseUrl`. */
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /** Appends steps to a queue. */
  push(queue: string, ...steps: ModelStep[]): void;
  /** How many steps a queue still has. */
  remaining(queue: string): number;
  /** Cuts open connections and stops. */
  close(): Promise<void>;
}

/**
 * Starts a scripted model; a request without a step fails with status 500 and says which queue is empty.
 */
export async function startScriptedModel(
  options: ScriptedModelOptions = {},
): Promise<ScriptedModel> {
  const route = options.route ?? ((request) => request.model);
  const queues = new Map(
    Object.entries(options.steps ?? {}).map(([name, steps]) => [name, [...steps]]),
  );
  const requests: ModelRequest[] = [];
  const stopped = new AbortController();

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.method !== 'POST' || !incoming.url?.endsWith('/chat/completions')) {
      response.writeHead(404).end();
      return;
    }
    const bare = toRequest(requests.length + 1, JSON.parse(await readBody(incoming)));
    const request: ModelRequest = { ...bare, queue: route(bare) };
    requests.push(request);
    const step = queues.get(request.queue)?.shift() ?? {
      status: 500,
      error: `scripted model: no step left in queue ${request.queue} for request ${request.number}`,
    };
    const reply = typeof step === 'function' ? await step(request) : step;
    if (reply.delayMs !== undefined) {
      await wait(reply.delayMs, undefined, { signal: stopped.signal });
    }
    if (reply.hang === true) return;
    if (reply.status !== undefined && reply.status !== 200) fail(response, reply);
    else await stream(response, request, reply, stopped.signal);
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      if (stopped.signal.aborted) return;
      // A step that throws is the script's mistake: shown where the test looks, in Pi's output.
      fail(response, { status: 500, error: `scripted model: ${String(error)}` });
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    push(queue, ...steps) {
      queues.set(queue, [...(queues.get(queue) ?? []), ...steps]);
    },
    remaining: (queue) => queues.get(queue)?.length ?? 0,
    close() {
      stopped.abort();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function fail(response: ServerResponse, reply: ModelReply): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(reply.status ?? 500, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: reply.error ?? 'scripted failure' } }));
}

/** Sends a reply as chat completion chunks. */
async function stream(
  response: ServerResponse,
  request: ModelRequest,
  reply: ModelReply,
  signal: AbortSignal,
): Promise<void> {
  const base = {
    id: `scripted-${request.number}`,
    object: 'chat.completion.chunk',
    created: Math.floor(request.atMs / 1000),
    model: request.model,
  };
  const send = (data: object) =>
    response.write(`data: ${JSON.stringify({ ...base, ...data })}\n\n`);
  const sendDelta = (delta: object, finish: string | null = null) =>
    send({ choices: [{ index: 0, delta, finish_reason: finish }] });

  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  sendDelta({ role: 'assistant', content: '' });
  for (const piece of reply.text?.match(/.{1,32}/gsu) ?? []) {
    if (response.destroyed) return;
    sendDelta({ content: piece });
    if (reply.pieceDelayMs !== undefined) await wait(reply.pieceDelayMs, undefined, { signal });
  }
  const toolCalls = reply.toolCalls ?? [];
  for (const [index, call] of toolCalls.entries()) {
    const id = call.id ?? `call_${request.number}_${index}`;
    const called = { name: call.name, arguments: JSON.stringify(call.args ?? {}) };
    sendDelta({ tool_calls: [{ index, id, type: 'function', function: called }] });
  }
  sendDelta({}, toolCalls.length > 0 ? 'tool_calls' : 'stop');
  send({
    choices: [],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  });
  response.end('data: [DONE]\n\n');
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function toRequest(number: number, body: unknown): Omit<ModelRequest, 'queue'> {
  const { model, messages, tools } = asRecord(body);
  const all = asList(messages).map(toMessage);
  const spoken = all.filter((message) => !isSystem(message));
  return {
    number,
    atMs: Date.now(),
    model: asText(model),
    system: all
      .filter(isSystem)
      .map(({ text }) => text)
      .join('\n'),
    tools: asList(tools).map(toFunctionName),
    messages: spoken,
    last: spoken.at(-1)?.text ?? '',
  };
}

function isSystem({ role }: ModelMessage): boolean {
  return role === 'system' || role === 'developer';
}

function toMessage(value: unknown): ModelMessage {
  const { role, content, tool_calls: calls, tool_call_id: answers } = asRecord(value);
  const parts = Array.isArray(content) ? content.map((part) => asText(asRecord(part)['text'])) : [];
  return {
    role: asText(role),
    text: typeof content === 'string' ? content : parts.join(''),
    toolCalls: asList(calls).map(toFunctionName),
    toolCallId: typeof answers === 'string' ? answers : undefined,
  };
}

/** The name in `{ function: { name } }`, which tools and tool calls share. */
function toFunctionName(value: unknown): string {
  return asText(asRecord(asRecord(value)['function'])['name']);
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
