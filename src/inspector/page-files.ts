/**
 * The files of the page: its own modules, the library they use, and the pictures of the charts.
 *
 * From sources a module's types are taken off as Node does it; a built package has the modules as they are. There
 * is no bundle, and nothing is fetched from elsewhere.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import * as nodeModule from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errnoOf } from '../mailbox/mail-fs.ts';

export interface PageFile {
  readonly type: string;
  readonly body: string;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** Whether these are the sources, and not what was built of them. */
const extension = extname(fileURLToPath(import.meta.url));
/** The root of the package: above `src/inspector`, or above `dist/src/inspector`. */
const root = new URL(extension === '.ts' ? '../../' : '../../../', import.meta.url);

const libraries: Readonly<Record<string, string>> = {
  'preact.js': 'preact',
  'hooks.js': 'preact/hooks',
};

/**
 * The page itself; every address in it is relative to it.
 *
 * @param nonce lets the browser take the one script that stands in it.
 */
export function pageHtml(nonce: string): string {
  return readFileSync(new URL('src/inspector/web/index.html', root), 'utf8')
    .replace('{{main}}', `./web/main${extension}`)
    .replace('{{nonce}}', nonce);
}

/** Undefined for what is no file of the page. */
export async function pageFile(path: string): Promise<PageFile | undefined> {
  const [, room = '', name = ''] =
    /^(web|lib|charts)\/([a-z][a-z-]*\.(?:css|js|ts|svg))$/.exec(path) ?? [];
  const file = locate(room, name);
  const type = types[extname(name)];
  if (file === undefined || type === undefined) return undefined;
  try {
    const text = await readFile(file, 'utf8');
    return { type, body: name.endsWith('.ts') ? withoutTypes(text) : text };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function locate(room: string, name: string): URL | undefined {
  switch (room) {
    case 'web':
      return name.endsWith('.css')
        ? new URL(`src/inspector/web/${name}`, root)
        : new URL(`./web/${name}`, import.meta.url);
    case 'charts':
      return new URL(`visualizations/${name}`, root);
    case 'lib': {
      const library = libraries[name];
      return library === undefined ? undefined : new URL(import.meta.resolve(library));
    }
    default:
      return undefined;
  }
}

/** Node calls the function experimental and says so on standard error; a built package never needs it. */
function withoutTypes(text: string): string {
  const warn = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    // By name only where it is used: an older Node, which shows its help all the same, has no such export.
    return nodeModule.stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = warn;
  }
}
