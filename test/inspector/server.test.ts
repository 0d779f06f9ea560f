import { request } from 'node:http';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { NamesReport, RowReport, TaskReport } from '../../src/inspector/report.ts';
import { startInspector } from '../../src/inspector/server.ts';
import { openWait, type TestHerd } from '../support/herd.ts';

async function inspect(herd: TestHerd): Promise<string> {
  const dir = herd.shepherd.sessionDir;
  const inspector = await startInspector({
    name: '0001-test',
    dir,
    storePath: join(dir, 'session.db'),
    now: () => herd.pasture.nowMs,
  });
  onTestFinished(() => inspector.close());
  return inspector.url;
}

/** The first rows of the stream. */
async function readRows(url: string, after = 0, lastId?: string): Promise<readonly RowReport[]> {
  const leaving = new AbortController();
  const response = await fetch(`${url}api/live?after=${after}`, {
    signal: leaving.signal,
    headers: lastId === undefined ? {} : { 'Last-Event-ID': lastId },
  });
  let text = '';
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece as Uint8Array).toString();
    if (text.includes('\n\n')) break;
  }
  leaving.abort();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '[]') as RowReport[];
}

/** As `fetch` cannot: with a Host of one's own. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    call.on('error', reject);
    call.end();
  });
}

describe('the server', () => {
  it('lets nobody in without the token, nor by a foreign name', async () => {
    const { herd } = await openWait();
    const url = await inspect(herd);
    const { origin, port, pathname } = new URL(url);

    expect(pathname).toMatch(/^\/[a-z0-9]{64}\/$/);
    for (const path of ['/', '/wrong/', '/wrong/api/names', '/wrong/web/main.ts', '/api/live']) {
      expect([path, (await fetch(`${origin}${path}`)).status]).toEqual([path, 403]);
    }
    expect(await statusFor(url, 'evil.example')).toBe(403);
    expect(await statusFor(url, `evil.example:${port}`)).toBe(403);
    expect(await statusFor(url, `localhost:${port}`)).toBe(200);
    expect((await fetch(url)).status).toBe(200);
  });

  it('changes nothing, whatever is asked', async () => {
    const { herd } = await openWait();
    const url = await inspect(herd);

    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(`${url}api/names`, { method });
      expect([method, response.status, response.headers.get('allow')]).toEqual([
        method,
        405,
        'GET, HEAD',
      ]);
    }
  });

  it('keeps scripts and frames of others out', async () => {
    const { herd } = await openWait();
    const response = await fetch(await inspect(herd));
    const policy = response.headers.get('content-security-policy') ?? '';
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? 'none';

    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src[^;]*unsafe/);
    expect(await response.text()).toContain(`nonce="${nonce}"`);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it.each(['web/../server.ts', 'web/%2e%2e/server.ts', 'charts/../../package.json', 'lib/zod.js'])(
    'has no file %s',
    async (path) => {
      const { herd } = await openWait();
      const url = await inspect(herd);
      const { hostname, port, pathname } = new URL(url);

      const status = await new Promise((resolve, reject) => {
        const call = request({ hostname, port, path: `${pathname}${path}` }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        call.on('error', reject);
        call.end();
      });

      expect(status === 404 || status === 403).toBe(true);
    },
  );

  it('sends what happened, goes on where a page left, and tells no secret', async () => {
    const { herd, one, taskId, question } = await openWait();
    const url = await inspect(herd);

    const rows = await readRows(url);
    const later = await readRows(url, rows[2]?.seq);
    const again = await readRows(url, 0, String(rows[2]?.seq));

    expect(later).toEqual(rows.slice(3));
    expect(again).toEqual(rows.slice(3));
    const asked = rows.find(({ moves }) =>
      moves.some(({ messageId, asks }) => messageId === question.messageId && asks === true),
    );
    expect(asked?.taken).toContainEqual({
      actorId: taskId,
      event: 'request.open',
      from: 'task.open.running',
      to: ['task.open.waiting'],
    });
    expect(asked?.actors).toContainEqual({
      id: question.messageId,
      machine: 'request',
      under: taskId,
      value: 'open',
    });
    const everything = [
      JSON.stringify(rows),
      ...(await Promise.all(
        ['names', `task?id=${taskId}`, `envelope?id=${question.messageId}`, 'session'].map(
          async (path) => (await fetch(`${url}api/${path}`)).text(),
        ),
      )),
    ].join('\n');
    expect(everything).not.toContain(one.identity.secret);
    expect(everything).not.toContain('"mac"');
  });

  it('has names, contexts, tasks and texts', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const url = await inspect(herd);
    const ask = async <T>(path: string): Promise<T> =>
      (await (await fetch(`${url}api/${path}`)).json()) as T;
    const rows = await readRows(url);
    const last = rows.findLast(({ actors }) => actors.some(({ id }) => id === taskId));

    expect(await ask<NamesReport>('names')).toMatchObject({
      agents: [
        { id: one.id, agent: 'scout', label: 'one' },
        { id: two.id, label: 'two' },
      ],
      tasks: [{ id: taskId, description: 'Count the flock.', state: 'waiting' }],
    });
    expect(await ask(`actor?id=${taskId}&seq=${last?.seq ?? 0}`)).toMatchObject({
      value: { open: { waiting: 'fresh' } },
      context: { taskId, requests: [{ requestId: question.messageId }] },
    });
    expect(await ask<TaskReport>(`task?id=${taskId}`)).toMatchObject({
      task: { id: taskId, state: 'waiting' },
      agentName: 'scout: one',
      requests: [{ requestId: question.messageId, question: 'Which gate?' }],
      note: expect.stringContaining('Count the flock.'),
    });
    expect(await ask(`envelope?id=${question.messageId}`)).toMatchObject({
      envelope: { content: 'Which gate?', kind: 'message' },
    });
    for (const path of ['actor?id=x&seq=1', 'task?id=x', 'envelope?id=../../x', 'nothing']) {
      expect([path, (await fetch(`${url}api/${path}`)).status]).toEqual([path, 404]);
    }
  });

  it('is small: all of the page is less than 500 kB packed', async () => {
    const { herd } = await openWait();
    const url = await inspect(herd);
    const names = [
      '',
      'lib/preact.js',
      'lib/hooks.js',
      'web/style.css',
      ...readdirSync('src/inspector/web')
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `web/${name}`),
      ...['session', 'agent', 'task', 'request', 'prompt', 'watcher'].map(
        (name) => `charts/${name}.svg`,
      ),
    ];

    const bodies = await Promise.all(
      names.map(async (name) => {
        const response = await fetch(`${url}${name}`);
        expect([name, response.status]).toEqual([name, 200]);
        return gzipSync(await response.text()).length;
      }),
    );

    expect(bodies.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(500_000);
  });

  it('reads a session beside its owner and after it, and ends with every page', async () => {
    const { herd } = await openWait();
    const dir = herd.shepherd.sessionDir;
    const inspector = await startInspector({ name: 'x', dir, storePath: join(dir, 'session.db') });
    const state = async () => (await fetch(`${inspector.url}api/session`)).json();
    expect(await state()).toMatchObject({
      isLive: true,
      owner: expect.stringMatching(/^held by \d+ \(alive\)$/),
    });

    herd.abandon();

    expect(await state()).toMatchObject({ isLive: false, owner: 'parked' });
    const open = await fetch(`${inspector.url}api/live`);
    await inspector.close();
    await inspector.close();
    await expect(open.text()).rejects.toThrow('terminated');
    await expect(fetch(inspector.url)).rejects.toThrow('fetch failed');
  });

  it('refuses a port that is taken, and names one that is free', async () => {
    const { herd } = await openWait();
    const { port } = new URL(await inspect(herd));
    const dir = herd.shepherd.sessionDir;

    await expect(
      startInspector({ name: 'x', dir, storePath: join(dir, 'session.db'), port: Number(port) }),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('0 takes any free one'),
    });
  });
});
