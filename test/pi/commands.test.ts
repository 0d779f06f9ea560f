/** `/shepherd` on a real runtime: what it does, says, completes and refuses. */
import type {
  ExtensionAPI,
  ExtensionCommandContext,
  RegisteredCommand,
} from '@earendil-works/pi-coding-agent';
import { describe, expect, it, onTestFinished } from 'vitest';
import { registerShepherdCommand } from '../../src/pi/parent/commands/command.ts';
import type { SessionHerd } from '../../src/pi/parent/herd-of-session.ts';
import type { DefinitionView, Shepherd } from '../../src/runtime/shepherd.ts';
import { eventually, openHerd, openWait, type TestHerd } from '../support/herd.ts';

type Command = Omit<RegisteredCommand, 'name' | 'sourceInfo'>;

/** @param herd none: a Pi session that has no herd yet. */
function setUp(herd?: TestHerd, mode: ExtensionCommandContext['mode'] = 'rpc') {
  const said: string[] = [];
  const entries: unknown[] = [];
  const errors: string[] = [];
  let command: Command | undefined;
  const handlers = new Map<string, (event: unknown, ctx: unknown) => unknown>();
  const pi = {
    registerCommand: (_name: string, registered: Command) => (command = registered),
    registerEntryRenderer: () => undefined,
    appendEntry: (_type: string, data: unknown) => entries.push(data),
    on: (event: string, handler: (event: unknown, ctx: unknown) => unknown) =>
      handlers.set(event, handler),
  } as unknown as ExtensionAPI;
  const session: SessionHerd = {
    open: () =>
      herd === undefined ? Promise.reject(new Error('opened')) : Promise.resolve(herd.shepherd),
    running: () => Promise.resolve(herd?.shepherd),
    atHand: () => herd?.shepherd,
    takeUp: () => Promise.reject(new Error('not here')),
    begin: () => undefined,
    end: () => Promise.resolve(),
  };
  const definitions = [
    { name: 'scout', description: 'Looks.', source: 'user', path: '/scout.md' },
    {
      name: 'guard',
      description: 'Guards.',
      source: 'user',
      path: '/guard.md',
      userInvocable: false,
    },
  ] as const;
  registerShepherdCommand(pi, {
    herd: session,
    policy: {
      definitions: () => ({ agents: definitions, problems: [] }),
      hostOf: () => ({ kind: 'tmux', why: 'this runs inside tmux' }),
    },
  });
  const ctx = {
    mode,
    hasUI: true,
    cwd: herd?.pasture.dir ?? '/nowhere',
    ui: {
      notify: (text: string, level?: string) => (level === 'error' ? errors : said).push(text),
    },
  } as unknown as ExtensionCommandContext;
  handlers.get('session_start')?.({}, ctx);
  const end = async () => {
    await handlers.get('session_shutdown')?.({}, ctx);
  };
  onTestFinished(end);
  return {
    end,
    said,
    errors,
    entries,
    run: async (line: string) => {
      await command?.handler(line, ctx);
      return said.at(-1) ?? '';
    },
    complete: async (prefix: string) =>
      (await command?.getArgumentCompletions?.(prefix))?.map(({ value }) => value) ?? null,
  };
}

describe('/shepherd', () => {
  it('alone says how it is used, with every verb', async () => {
    const { run } = setUp();
    const usage = await run('');
    for (const verb of [
      'agents',
      'herd',
      'spawn',
      'status',
      'read',
      'close',
      'cancel',
      'interrupt',
      'adopt',
      'prune',
      'inspect',
      'settings',
    ]) {
      expect(usage).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
    }
    expect(usage).toContain('(or start)');
  });

  it.each([
    ['colse x', /has no "colse"; the nearest is close/],
    ['spawn', /^invalid_argument: Usage: \/shepherd spawn <definition> <label> \(/],
    ['spawn scout --label gate', /Usage: \/shepherd spawn .*the rest of the line/],
    ['spawn scout', /Usage: \/shepherd spawn/],
    ['adopt', /Usage: \/shepherd adopt <session>/],
    ['herd', /has no herd yet/],
    ['settings', /invalid_argument/],
  ])('%s is refused in words that help', async (line, message) => {
    const { run, errors } = setUp();
    await run(line);
    expect(errors).toEqual([expect.stringMatching(message)]);
  });

  it.each([
    ['close', /Usage: \/shepherd close <agent>/],
    ['cancel', /Usage: \/shepherd cancel/],
    ['interrupt', /Usage: \/shepherd interrupt/],
    ['read', /Usage: \/shepherd read/],
    ['close nobody', /^invalid_target: "nobody" is nobody here/],
    ['status shepherd-task-000000000001', /^unknown_task/],
  ])('%s is refused in a herd, too', async (line, message) => {
    const { run, errors } = setUp(await openHerd());
    await run(line);
    expect(errors).toEqual([expect.stringMatching(message)]);
  });

  it('lists definitions and the herd, and shows how one stands', async () => {
    const { herd, taskId } = await openWait();
    const { run } = setUp(herd);
    expect(await run('agents')).toContain('- scout (bundled): ');
    expect(await run('herd')).toMatch(/^Live agents: 2\n- scout: one .*is waiting on scout: two/);
    expect(await run('status')).toMatch(
      /^Live agents: 2[^]*\n\nNew agents run in tmux: this runs inside tmux\.$/,
    );
    expect(await run('status scout: one')).toMatch(/^Agent scout: one \(.*is waiting on/);
    expect(await run(`status ${taskId}`)).toContain(`task ${taskId} is waiting`);
  });

  it('opens one page over the herd, and closes it with the session', async () => {
    const { herd } = await openWait();
    const { run, end } = setUp(herd);

    const url = /http:\S+/.exec(await run('inspect'))?.[0] ?? '';

    expect(await run('inspect')).toContain(url);
    expect((await fetch(url)).status).toBe(200);
    await end();
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it('lists definitions without opening a herd', async () => {
    const { run, errors } = setUp();
    expect(await run('agents')).toContain('- scout (user): Looks.');
    expect(errors).toEqual([]);
  });

  it('does not spawn what is for the model alone', async () => {
    const herd = await openHerd();
    const guard: DefinitionView = {
      name: 'guard',
      description: 'Guards.',
      source: 'user',
      path: '/guard.md',
      userInvocable: false,
    };
    const shepherd: Shepherd = {
      ...herd.shepherd,
      definitions: () => ({ agents: [guard], problems: [] }),
    };
    const { run, errors } = setUp({ ...herd, shepherd });

    await run('spawn guard the gate');

    expect(errors).toEqual([expect.stringMatching(/guard\.md keeps guard for the model/)]);
    expect(herd.host.launches).toEqual([]);
  });

  it('shows what went wrong without what a terminal would obey', async () => {
    const { run, errors } = setUp();
    await run('\u001B[31mred\u001B[0m');
    expect(errors).toEqual([expect.stringContaining('has no "red"')]);
  });

  it('spawns with a label of several words, by its old name too', async () => {
    const herd = await openHerd();
    const { run } = setUp(herd);
    const running = run('start scout the far gate');
    await eventually(() => expect(herd.host.launches).toHaveLength(1));
    expect(herd.host.launches[0]?.label).toBe('scout: the far gate');
    herd.host.exit(herd.host.launches[0]?.launchId ?? '');
    await running;
  });

  it('reads lines of an agent, also of one whose label ends with a number', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('gate 7');
    herd.host.print(`${child.id}.1`, 'first', 'second', 'third');
    const { run } = setUp(herd);
    expect(await run('read scout: gate 7')).toMatch(/last lines:\nfirst\nsecond\nthird$/);
    expect(await run('read scout: gate 7 2')).toMatch(/last lines:\nsecond\nthird$/);
  });

  it('interrupts, cancels with a reason, closes and prunes', async () => {
    const { herd, one, taskId, question } = await openWait();
    const { run, errors } = setUp(herd);
    expect(await run('interrupt scout: one')).toBe('The turn of scout: one is stopped.');
    expect(herd.host.interrupts).toEqual([`${one.id}.1`]);
    expect(await run(`cancel ${question.messageId} no longer needed`)).toBe(
      `Question ${question.messageId} is cancelled.`,
    );
    expect(await run(`cancel ${taskId}`)).toBe(`Task ${taskId} is cancelled.`);
    expect(await run('close scout: one')).toBe(`Agent ${one.id} is closed.`);
    expect(await run('prune')).toMatch(/^Forgot 1 ended agent and 1 finished task/);
    expect(errors).toEqual([]);
  });

  it('puts a long answer into the transcript of a screen, where no model reads it', async () => {
    const { run, said, entries } = setUp(await openHerd(), 'tui');
    await run('agents');
    expect(entries).toEqual([
      { title: '/shepherd agents', text: expect.stringContaining('scout') as unknown },
    ]);
    expect(said).toEqual([]);
  });
});

describe('its completion', () => {
  it('offers verbs, and then what fits the verb', async () => {
    const { herd, taskId, question } = await openWait();
    const { complete } = setUp(herd);
    expect(await complete('')).toHaveLength(12);
    expect(await complete('st')).toEqual(['status ']);
    expect(await complete('close ')).toEqual(['close scout: one', 'close scout: two']);
    expect(await complete('close SCOUT: t')).toEqual(['close scout: two']);
    expect(await complete('close tw')).toEqual(['close scout: two']);
    expect(await complete('cancel ')).toEqual([`cancel ${taskId}`, `cancel ${question.messageId}`]);
    expect(await complete('spawn pl')).toEqual(['spawn planner']);
    expect(await complete('start pl')).toEqual(['start planner']);
    expect(await complete('prune ')).toBeNull();
    expect(await complete('nosuch ')).toBeNull();
    expect(await complete('settings')).toBeNull();
    expect(await complete('close scout: one')).toBeNull();
  });

  it('knows definitions before there is a herd, but those that are for the model alone', async () => {
    const { complete } = setUp();
    expect(await complete('close ')).toBeNull();
    expect(await complete('spawn ')).toEqual(['spawn scout']);
  });
});
