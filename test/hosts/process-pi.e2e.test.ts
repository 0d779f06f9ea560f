/** Real Pi 1.6 below the process host: isolated, offline, with a scripted model. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/agents/definition.ts';
import type { AgentHost, Launch, PlaceRef } from '../../src/hosts/host.ts';
import { launchPaths } from '../../src/hosts/launch.ts';
import { buildPiCommand, childEnvironment, resolvePi } from '../../src/hosts/pi-command.ts';
import { createProcessHost } from '../../src/hosts/process.ts';
import { BARE_FLAGS, type IsolatedPi, makeIsolatedPi } from '../support/isolated-pi.ts';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model.ts';
import { listen } from './host-contract.ts';
import { processesOf } from './process-bench.ts';
import { until } from './until.ts';

const definition: AgentDefinition = {
  name: 'scout',
  description: 'Looks around.',
  tools: ['bash'],
  model: undefined,
  thinking: 'default',
  omitSystemPrompt: false,
  omitPiDocumentation: false,
  omitContextFiles: true,
  userInvocable: true,
  body: 'You are a scout of the fold.',
  source: 'bundled',
  path: '/agents/scout.md',
  contentHash: '',
};

/** Asks a question by `/ask`, offers a tool of its own and tells who it is by the environment. */
const extension = `
export default function (pi) {
  pi.registerTool({
    name: 'shepherd_done', label: 'done', description: 'Ends the task.',
    parameters: { type: 'object', properties: {} },
    execute: async () => ({ content: [{ type: 'text', text: 'noted' }], details: undefined }),
  });
  pi.registerCommand('ask', { handler: async (args, ctx) => {
    const answer = await ctx.ui.select('Which way?', ['left', 'right']);
    pi.sendUserMessage('answer: ' + String(answer), { deliverAs: 'followUp' });
  } });
}
`;

let root: string;
let model: ScriptedModel;
let isolated: IsolatedPi;
let host: AgentHost;
let ref: PlaceRef | undefined;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sheepfold-pi-'));
  model = await startScriptedModel();
  isolated = await makeIsolatedPi({ root, baseUrl: model.baseUrl, models: ['parent', 'scout'] });
  host = createProcessHost({ sweepMs: 100, limits: { dialogTimeoutMs: 300 } });
  ref = undefined;
});
afterEach(async () => {
  if (ref !== undefined) await host.close(ref, { graceMs: 0 });
  host.dispose();
  await model.close();
  await until('no process is left', async () => (await processesOf(root)).length === 0);
  await rm(root, { recursive: true });
});

async function openPi(changes: Partial<AgentDefinition> = {}): Promise<PlaceRef> {
  const launchDir = join(root, 'launch-1');
  const promptFile = join(root, 'prompt.md');
  const childExtension = join(root, 'child.mjs');
  await mkdir(launchDir);
  await writeFile(promptFile, definition.body);
  await writeFile(childExtension, extension, { flag: 'a' });
  const command = buildPiCommand({
    pi: resolvePi(),
    definition: { ...definition, ...changes },
    childExtension,
    sessionDir: join(root, 'sessions'),
    promptFile,
    childTools: ['shepherd_done'],
    model: 'scripted/scout',
  });
  const launch: Launch = {
    launchId: 'launch-1',
    launchDir,
    argv: [...command, ...BARE_FLAGS],
    cwd: isolated.workDir,
    env: childEnvironment(isolated.env, { identityPath: join(launchDir, 'identity.json') }),
    label: 'scout',
  };
  ref = await host.open(launch);
  return ref;
}

/** Prompts as the lab did it: one line into the FIFO. */
async function prompt(place: PlaceRef, message: string): Promise<void> {
  const line = JSON.stringify({ type: 'prompt', message });
  await writeFile(launchPaths(place.launchDir).input, `${line}\n`);
}

function output(place: PlaceRef, text: string): Promise<string> {
  return until(
    `Pi shows ${text}`,
    async () => {
      const shown = await host.read(place, { lines: 50 });
      return shown.includes(text) && shown;
    },
    30_000,
  );
}

it('starts, works, is interrupted, asks, and ends with the code it reports', async () => {
  const heard = listen(host);
  const place = await openPi();
  model.push(
    'scout',
    { text: 'I look around.', toolCalls: [{ name: 'bash', args: { command: 'echo $0 wool' } }] },
    { text: 'The fold is quiet. '.repeat(40) },
    { hang: true },
    { text: 'Nobody told me the way.' },
  );

  await prompt(place, 'look');
  const shown = await output(place, 'The fold is quiet.');

  expect(shown).toContain('I look around.\n→ bash {"command":"echo $0 wool"}');
  expect(model.requests[0]?.system).toContain('You are a scout of the fold.');
  expect(model.requests[0]?.tools.toSorted()).toEqual(['bash', 'shepherd_done']);
  expect(model.requests[1]?.last).toContain('wool');

  await prompt(place, 'hang');
  await until('the model hangs', () => model.requests.length === 3, 30_000);
  await host.interrupt(place);
  await until('the turn is aborted', async () =>
    (await readFile(launchPaths(place.launchDir).output, 'utf8')).includes('"aborted":true'),
  );

  await prompt(place, '/ask');
  await output(place, 'Nobody told me the way.');
  expect(model.requests[3]?.last).toBe('answer: undefined');
  expect(heard.events).toEqual([{ type: 'dialog_cancelled', ref: place, title: 'Which way?' }]);

  const kept = await readFile(launchPaths(place.launchDir).output, 'utf8');
  expect(kept).not.toContain('"message_update"');
  expect(await host.close(place, { graceMs: 10_000 })).toBe('closed');
  const [exit] = await heard.exits(1);
  expect(exit).toMatchObject({ exit: { code: 143, signal: null } });
});

it('outlives the host that opened it and works for the next one', async () => {
  const place = await openPi();
  model.push('scout', { text: 'Still here.' });
  host.dispose();

  host = createProcessHost({ sweepMs: 100 });
  expect(await host.adopt(place)).toMatchObject({ presence: 'present' });
  await prompt(place, 'are you there?');

  await output(place, 'Still here.');
  expect(await host.close(place, { graceMs: 10_000 })).toBe('closed');
});

it("replaces Pi's own prompt and changes its default tools as the definition says", async () => {
  const place = await openPi({ omitSystemPrompt: true, tools: ['+grep', '-write'] });
  model.push('scout', { text: 'Hello.' });

  await prompt(place, 'hello');
  await output(place, 'Hello.');

  expect(model.requests[0]?.system).toMatch(/^You are a scout of the fold\./);
  expect(model.requests[0]?.tools.toSorted()).toEqual([
    'bash',
    'edit',
    'grep',
    'read',
    'shepherd_done',
  ]);
});

it('tells what Pi said when Pi refuses to start', async () => {
  const heard = listen(host);
  await writeFile(join(root, 'child.mjs'), 'this is no extension;\n');

  const place = await openPi();

  const [exit] = await heard.exits(1);
  expect(exit?.exit.code).toBe(1);
  expect(exit?.exit.output).toContain('child.mjs');
  expect(await host.inspect(place)).toMatchObject({ presence: 'dead' });
});
