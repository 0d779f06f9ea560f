/** A real browser before the inspector's page, headless. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { startInspector } from '../../src/inspector/server.ts';

/** Whether tests with a browser can run: on CI they must. */
export const hasBrowser = ((): boolean => {
  if (process.env['CI'] !== undefined) return true;
  try {
    execFileSync('chromium', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export interface Shown {
  readonly page: Page;
  readonly url: string;
  /** What the page complained of. */
  readonly complaints: readonly string[];
}

export const small = { width: 1280, height: 720 };
export const phone = { width: 390, height: 844 };

/** Opens the page over a session. @param hash what stands behind `#`. */
export async function show(
  browser: Browser,
  sessionDir: string,
  options: BrowserContextOptions & { readonly hash?: string; readonly now?: () => number } = {},
): Promise<Shown> {
  const { hash = '', now, ...context } = options;
  const inspector = await startInspector({
    name: '0001-test',
    dir: sessionDir,
    storePath: join(sessionDir, 'session.db'),
    now,
  });
  const page = await browser.newPage({ viewport: small, timezoneId: 'UTC', ...context });
  onTestFinished(async () => {
    await page.context().close();
    await inspector.close();
  });
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.goto(`${inspector.url}${hash === '' ? '' : `#${hash}`}`);
  await page.locator('.tree-row').first().waitFor({ state: 'attached' });
  return { page, url: inspector.url, complaints };
}

/** Kept with the test's other results, for a person to look at. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync('coverage/screenshots', { recursive: true });
  await page.screenshot({ path: `coverage/screenshots/${name}.png` });
}
