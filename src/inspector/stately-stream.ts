/** Sends a session's journal to a tool of Stately's over a web socket, and then each step as it comes. */
import { ConfigError } from '../errors.ts';
import type { Store } from '../runtime/store.ts';
import { follow } from './follow.ts';
import { createStatelyHistory } from './stately.ts';

/** What may wait to be sent, in bytes. */
const maxBuffered = 1024 * 1024;
const connectWithinMs = 5_000;
const lookAgainMs = 20;

export interface StatelyStream {
  /** Resolves with the reason when the tool has gone, or with undefined at the signal. */
  readonly ended: Promise<string | undefined>;
}

/**
 * Connects, and begins to send. Nothing of the session waits for the tool.
 *
 * @throws ConfigError `invalid_argument` for what is no `ws://` or `wss://` address, or answers nothing.
 */
export async function streamToStately(
  store: Pick<Store, 'journal'>,
  address: string,
  signal: AbortSignal,
): Promise<StatelyStream> {
  if (!/^wss?:$/.test(URL.parse(address)?.protocol ?? '')) {
    throw new ConfigError('invalid_argument', `${address} is no address like ws://localhost:8080.`);
  }
  const socket = new WebSocket(address);
  const gone = new AbortController();
  socket.addEventListener('close', () => gone.abort());
  await connected(socket, address);
  const toEvents = createStatelyHistory();
  const isFull = (): boolean => socket.bufferedAmount > maxBuffered;

  async function send(): Promise<string | undefined> {
    await follow(
      {
        read: (after, limit) => store.journal({ after, limit }),
        take(rows) {
          for (const event of rows.flatMap(toEvents)) socket.send(JSON.stringify(event));
          return !isFull();
        },
        async ready() {
          while (isFull() && !gone.signal.aborted && !signal.aborted) {
            await new Promise((resolve) => {
              setTimeout(resolve, lookAgainMs);
            });
          }
        },
        signal: AbortSignal.any([signal, gone.signal]),
      },
      0,
    );
    if (signal.aborted) {
      socket.close();
      return undefined;
    }
    return `${address} has closed the connection`;
  }

  return { ended: send() };
}

function connected(socket: WebSocket, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (): void => {
      clearTimeout(timer);
      socket.close();
      reject(new ConfigError('invalid_argument', `Nothing answers at ${address}.`));
    };
    const timer = setTimeout(fail, connectWithinMs);
    socket.addEventListener('open', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.addEventListener('error', fail);
  });
}
