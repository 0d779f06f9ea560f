import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { outputFileSync, ensureDirSync } from 'fs-extra/esm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  bundledAgentsDir,
  discoverAgents,
  findAgent,
  type DiscoverAgentsOptions,
} from '../../src/agents/catalog.ts';
import { ShepherdError } from '../../src/errors.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sheepfold-agents-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const text = (name: string, description = 'An agent') =>
  `---\nname: ${name}\ndescription: ${description}\n---\nYou are ${name}.\n`;

/** Writes a definition whose description is the file it lies in. */
function write(file: string, name: string): string {
  const path = join(root, file);
  outputFileSync(path, text(name, file));
  return path;
}

function discover(options: Partial<DiscoverAgentsOptions> = {}) {
  return discoverAgents({
    cwd: join(root, 'project/src/deep'),
    agentDir: join(root, 'home/.pi/agent'),
    homeDir: join(root, 'home'),
    scope: 'both',
    includeBundled: false,
    ...options,
  });
}

/** What `findAgent` says to a name that is not there; fails when it is. */
function refusal(name: string): ShepherdError {
  try {
    findAgent(discover(), name);
  } catch (error) {
    if (ShepherdError.is(error)) return error;
    throw error;
  }
  throw new Error('the agent was found');
}

const byPrecedence = [
  'home/.pi/agent/agents/a.md',
  'home/.agents/agents/a.md',
  'project/.pi/agents/a.md',
  'project/.agents/agents/a.md',
  'bundled/a.md',
];

describe('precedence', () => {
  it.each(byPrecedence.map((file, index) => [file, index] as const))(
    '%s beats all below it',
    (file, index) => {
      for (const lower of byPrecedence.slice(index)) write(lower, 'same');

      const { agents, problems } = discover({
        includeBundled: true,
        bundledDir: join(root, 'bundled'),
      });

      expect(agents.map(({ description }) => description)).toEqual([file]);
      expect(problems).toEqual([]);
    },
  );

  it('lists agents in the order of their places and names each source', () => {
    for (const [index, file] of byPrecedence.entries()) write(file, `agent-${index}`);

    const { agents } = discover({ includeBundled: true, bundledDir: join(root, 'bundled') });

    expect(agents.map(({ name, source }) => `${name} ${source}`)).toEqual([
      'agent-0 user',
      'agent-1 user',
      'agent-2 project',
      'agent-3 project',
      'agent-4 bundled',
    ]);
  });

  it('takes the nearest ancestor only', () => {
    write('.pi/agents/far.md', 'far');
    write('project/src/.pi/agents/near.md', 'near');

    expect(discover().agents.map(({ name }) => name)).toEqual(['near']);
  });

  it('takes the directory itself before its ancestors', () => {
    write('project/.agents/agents/far.md', 'far');
    write('project/src/deep/.agents/agents/near.md', 'near');

    expect(discover().agents.map(({ name }) => name)).toEqual(['near']);
  });

  it('lets the earlier file name win in one directory, and reports the later one', () => {
    write('home/.pi/agent/agents/b.md', 'same');
    write('home/.pi/agent/agents/a.md', 'same');

    const { agents, problems } = discover();

    expect(agents.map(({ description }) => description)).toEqual(['home/.pi/agent/agents/a.md']);
    expect(problems).toEqual([
      {
        path: join(root, 'home/.pi/agent/agents/b.md'),
        message: expect.stringContaining('"same" is taken by a.md; skipped'),
      },
    ]);
  });
});

describe('scope', () => {
  it.each([
    ['user', ['of-user']],
    ['project', ['of-project']],
    ['both', ['of-user', 'of-project']],
  ] as const)('%s finds %j', (scope, names) => {
    write('home/.pi/agent/agents/a.md', 'of-user');
    write('project/.pi/agents/a.md', 'of-project');

    expect(discover({ scope }).agents.map(({ name }) => name)).toEqual(names);
  });

  it('never takes the directory of the user for one of the project', () => {
    write('home/.agents/agents/a.md', 'of-user');
    const cwd = join(root, 'home/project');

    expect(discover({ cwd, scope: 'project' }).agents).toEqual([]);
    expect(discover({ cwd, scope: 'both' }).agents.map(({ source }) => source)).toEqual(['user']);
  });
});

describe('a definition', () => {
  it('has the path of its file and the hash of its bytes', () => {
    const path = write('home/.pi/agent/agents/a.md', 'scout');

    const [agent] = discover().agents;

    const contentHash = createHash('sha256').update(readFileSync(path)).digest('hex');
    expect(agent).toMatchObject({ name: 'scout', body: 'You are scout.', path, contentHash });
  });

  it('may be a symbolic link to a file', () => {
    const target = write('elsewhere/shared.md', 'shared');
    ensureDirSync(join(root, 'project/.pi/agents'));
    symlinkSync(target, join(root, 'project/.pi/agents/link.md'));

    expect(discover().agents.map(({ name }) => name)).toEqual(['shared']);
  });

  it('is no directory, no hidden file, no other kind of file, and no README', () => {
    ensureDirSync(join(root, 'project/.pi/agents/folder.md'));
    write('project/.pi/agents/.hidden.md', 'hidden');
    write('project/.pi/agents/notes.txt', 'text');
    outputFileSync(join(root, 'project/.pi/agents/README.md'), '# Our agents\n');

    expect(discover()).toEqual({ agents: [], problems: [] });
  });
});

describe('problems', () => {
  it('are none where no directory exists', () => {
    expect(discover()).toEqual({ agents: [], problems: [] });
  });

  it('name a malformed file, which hides neither its neighbours nor the same name below', () => {
    const broken = join(root, 'home/.pi/agent/agents/a.md');
    outputFileSync(broken, '---\nname: scout\n---\n');
    write('home/.pi/agent/agents/b.md', 'other');
    write('project/.pi/agents/scout.md', 'scout');

    const { agents, problems } = discover();

    expect(agents.map(({ name }) => name)).toEqual(['other', 'scout']);
    expect(problems).toEqual([
      { path: broken, message: expect.stringContaining('"description" is missing') },
    ]);
  });

  it('name a key that has no effect, and the agent loads', () => {
    const path = join(root, 'project/.pi/agents/a.md');
    outputFileSync(path, text('scout').replace('---\nYou', 'color: red\n---\nYou'));

    const { agents, problems } = discover();

    expect(agents.map(({ name }) => name)).toEqual(['scout']);
    expect(problems).toEqual([
      { path, message: expect.stringContaining('"color" is not a key of agent files') },
    ]);
  });

  it('name a file that is not UTF-8', () => {
    const path = join(root, 'project/.pi/agents/a.md');
    outputFileSync(path, Buffer.concat([Buffer.from(text('scout')), Buffer.from([0xff])]));

    expect(discover().problems).toEqual([
      { path, message: expect.stringContaining('not UTF-8; save it as UTF-8') },
    ]);
  });

  it('name a link that leads nowhere', () => {
    ensureDirSync(join(root, 'project/.pi/agents'));
    const path = join(root, 'project/.pi/agents/link.md');
    symlinkSync(join(root, 'gone.md'), path);

    expect(discover().problems).toEqual([
      { path, message: expect.stringContaining('cannot be read: ENOENT') },
    ]);
  });

  it('name a directory that is a file', () => {
    const path = join(root, 'home/.pi/agent/agents');
    outputFileSync(path, '');

    expect(discover().problems).toEqual([
      { path, message: expect.stringContaining('cannot be read: ENOTDIR') },
    ]);
  });

  // Root may read everything, so that nothing is unreadable for it.
  it('name a directory that cannot be read, here for a loop of links', () => {
    const path = join(root, 'home/.pi/agent/agents');
    ensureDirSync(join(path, '..'));
    symlinkSync(path, path);

    const { problems } = discover();

    expect(problems).toEqual([{ path, message: expect.stringContaining('cannot be read: ELOOP') }]);
  });
});

describe('findAgent', () => {
  it('finds the exact name', () => {
    write('project/.pi/agents/a.md', 'scout');

    expect(findAgent(discover(), 'scout').name).toBe('scout');
  });

  it('refuses another case with unknown_agent and lists the nearest name first', () => {
    write('project/.pi/agents/a.md', 'worker');
    write('project/.pi/agents/b.md', 'planner');
    write('project/.pi/agents/c.md', 'scout');

    const error = refusal('Scout');

    expect(error.code).toBe('unknown_agent');
    expect(error.message).toMatch(/^no agent is called "Scout"; there are scout, /);
    expect(error.data['names']).toHaveLength(3);
  });

  it('says so when there are no agents', () => {
    expect(refusal('scout').message).toContain('no definition was found at all');
  });

  it('says why the file of that name was skipped', () => {
    outputFileSync(join(root, 'project/.pi/agents/scout.md'), '---\nname: scout\n---\n');

    expect(refusal('scout').message).toContain('"description" is missing');
  });
});

describe('the bundled agents', () => {
  it('are the default bundled directory, and load without a problem', () => {
    const { agents, problems } = discover({ includeBundled: true });

    expect(problems).toEqual([]);
    expect(agents.map(({ name }) => name)).toEqual(['planner', 'reviewer', 'scout', 'worker']);
  });

  it.each([
    ['scout', ['read', 'grep', 'find', 'ls']],
    ['planner', ['read', 'grep', 'find', 'ls']],
    ['worker', ['read', 'write', 'edit', 'bash', 'grep', 'find', 'ls']],
    ['reviewer', ['read', 'grep', 'find', 'ls', 'bash']],
  ])('%s has its tools, says who it is, and knows how a herd works', (name, tools) => {
    const agent = findAgent(discover({ includeBundled: true }), name);

    expect(agent.tools).toEqual(tools);
    expect(agent.body.startsWith(`You are ${name}, `)).toBe(true);
    for (const phrase of ['shepherd_done', 'shepherd_message', 'expectsReply: true', 'replyTo']) {
      expect(agent.body).toContain(phrase);
    }
  });

  it('are found from the sources and from dist', () => {
    const packageRoot = resolve(import.meta.dirname, '../..');
    const installed = join(root, 'package');
    const module = join(installed, 'dist/src/agents/catalog.js');
    ensureDirSync(dirname(module));
    ensureDirSync(join(installed, 'agents'));

    expect(bundledAgentsDir()).toBe(join(packageRoot, 'agents'));
    expect(bundledAgentsDir(pathToFileURL(module).href)).toBe(join(installed, 'agents'));
  });
});
