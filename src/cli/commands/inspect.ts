/** `sheepfold inspect`: a page in the browser over one session, live or finished; it ends with Ctrl-C. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import { ConfigError } from '../../errors.ts';
import { startInspector } from '../../inspector/server.ts';
import { streamToStately } from '../../inspector/stately-stream.ts';
import type { Command } from '../command.ts';
import { chooseSession, namedStateDir, sessionOptions, storePathOf, textOf } from '../sessions.ts';

/** What `sheepfold inspect --json` prints, once, when the page can be opened. */
export const inspectReportSchema = z.strictObject({
  session: z.string(),
  sessionDir: z.string(),
  /** With the token that lets it in. */
  url: z.string(),
});

export const inspect: Command = {
  summary: 'shows one session, by default the newest, as a page in the browser: live or finished',
  options: {
    ...sessionOptions,
    port: { type: 'string' },
    open: { type: 'boolean' },
    stately: { type: 'string' },
  },
  details: [
    '',
    '--port takes 1024 to 65535; 0, the default, is any free one. --open starts the browser.',
    '--stately ws://localhost:8080 sends the session there as well, in the format of @statelyai/inspect.',
    'The page is served to this machine only, to whoever has its address, and can change nothing.',
  ],
  async run({ values, out, err, signal, now }) {
    const port = parsePort(textOf(values, 'port') ?? '0');
    const place = chooseSession(namedStateDir(values), textOf(values, 'session'));
    const inspector = await startInspector({
      name: place.name,
      dir: place.dir,
      storePath: storePathOf(place),
      port,
      now,
    });
    try {
      const stately = textOf(values, 'stately');
      const ending = new AbortController();
      signal.addEventListener('abort', () => ending.abort());
      const stream =
        stately === undefined
          ? undefined
          : await streamToStately(inspector.store, stately, ending.signal);
      void stream?.ended.then((reason) => {
        if (reason !== undefined) err(`${reason}; the page goes on.`);
        return reason;
      });
      const report = { session: place.name, sessionDir: place.dir, url: inspector.url };
      out(values['json'] === true ? JSON.stringify(report) : `${place.name}: ${inspector.url}`);
      if (values['json'] !== true) err('Ctrl-C ends it.');
      if (values['open'] === true) openBrowser(inspector.url, err);
      if (!signal.aborted) await once(signal, 'abort');
      return 0;
    } finally {
      await inspector.close();
    }
  },
};

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && (port === 0 || (port >= 1024 && port <= 65_535))) return port;
  throw new ConfigError('invalid_argument', `--port ${text} is no port: 0, or 1024 to 65535.`);
}

/** What cannot be started is no reason to end: the address has been printed. */
function openBrowser(url: string, err: (line: string) => void): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const browser = spawn(program, [url], { detached: true, stdio: 'ignore' });
  browser.on('error', () => err(`${program} could not be started; open the address by hand.`));
  browser.unref();
}
