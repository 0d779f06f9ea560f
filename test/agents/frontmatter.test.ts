import { describe, expect, it } from 'vitest';
import { parseAgent } from '../../src/agents/frontmatter.ts';
import { ShepherdError } from '../../src/errors.ts';

const path = '/herd/agents/tester.md';

function agentFile(lines: readonly string[] = [], body = 'You are tester.'): string {
  return ['---', 'name: tester', 'description: Tests', ...lines, '---', '', body, ''].join('\n');
}

function parse(...lines: string[]) {
  return parseAgent(agentFile(lines), path).definition;
}

/** The refusal of `markdown`; fails when it is accepted. */
function refusal(markdown: string): ShepherdError {
  try {
    parseAgent(markdown, path);
  } catch (error) {
    if (ShepherdError.is(error)) return error;
    throw error;
  }
  throw new Error('the file was accepted');
}

describe('an agent file', () => {
  it('needs no more than name and description, and has these defaults', () => {
    const parsed = parseAgent(agentFile(), path);

    expect(parsed).toEqual({
      definition: {
        name: 'tester',
        description: 'Tests',
        tools: undefined,
        model: undefined,
        thinking: 'default',
        omitSystemPrompt: false,
        omitPiDocumentation: false,
        omitContextFiles: false,
        userInvocable: true,
        body: 'You are tester.',
      },
      warnings: [],
    });
  });

  it('reads the same with CRLF line ends and a byte order mark', () => {
    const markdown = agentFile(['tools: read'], 'One\n\nTwo');

    const windows = parseAgent(`\uFEFF${markdown.replaceAll('\n', '\r\n')}`, path);

    expect(windows).toEqual(parseAgent(markdown, path));
    expect(windows.definition.body).toBe('One\n\nTwo');
  });

  it('keeps rules of the body, which look like the end of the frontmatter', () => {
    const { definition } = parseAgent(agentFile([], 'One\n\n---\n\nTwo'), path);

    expect(definition.body).toBe('One\n\n---\n\nTwo');
  });

  it('may have an empty body, with a warning', () => {
    const { definition, warnings } = parseAgent(agentFile([], ''), path);

    expect(definition.body).toBe('');
    expect(warnings).toEqual([expect.stringContaining('the body is empty')]);
  });

  it('may not replace the system prompt by an empty body', () => {
    const error = refusal(agentFile(['omit-system-prompt: true'], ''));

    expect(error.message).toContain('"omit-system-prompt" does not accept true');
  });

  it('loads with an unknown key, which is a warning with the nearest key first', () => {
    const { definition, warnings } = parseAgent(agentFile(['omitSystemPrompt: true']), path);

    expect(definition.omitSystemPrompt).toBe(false);
    expect(warnings).toEqual([
      expect.stringMatching(/"omitSystemPrompt" is not a key .* there are omit-system-prompt,/),
    ]);
  });
});

describe('the key tools', () => {
  it.each([
    ['tools: read, grep,find', ['read', 'grep', 'find']],
    ['tools: read,', ['read']],
    ['tools: [read, grep, read]', ['read', 'grep']],
    ['tools:\n  - read\n  - grep', ['read', 'grep']],
    ['tools: []', []],
    ['tools:', undefined],
    ['tools: ""', undefined],
  ])('reads %j', (line, expected) => {
    expect(parse(line).tools).toEqual(expected);
  });
});

describe('the key model', () => {
  it.each(['model:', 'model: null', 'model: ""', 'model: default', 'model: Default'])(
    'inherits with %j',
    (line) => {
      expect(parse(line).model).toBeUndefined();
    },
  );

  it('takes a model with its provider', () => {
    expect(parse('model: anthropic/claude-sonnet-4-5').model).toBe('anthropic/claude-sonnet-4-5');
  });
});

describe('the key thinking', () => {
  it.each(['default', 'off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])(
    'takes %s',
    (level) => {
      expect(parse(`thinking: ${level}`).thinking).toBe(level);
    },
  );
});

describe('the switches', () => {
  it.each([
    ['omit-system-prompt', 'omitSystemPrompt'],
    ['omit-pi-documentation', 'omitPiDocumentation'],
    ['omit-context-files', 'omitContextFiles'],
    ['user-invocable', 'userInvocable'],
  ] as const)('%s takes true and false', (key, field) => {
    expect(parse(`${key}: true`)[field]).toBe(true);
    expect(parse(`${key}: false`)[field]).toBe(false);
  });
});

describe('a refused file', () => {
  it.each([
    ['name', '', /"name" does not accept null; write a text/],
    ['name', '7', /"name" does not accept 7/],
    ['name', '"scout: two"', /"name" does not accept "scout: two".*without ":"/],
    ['name', 'shepherd', /"name" does not accept "shepherd"/],
    ['name', 'parent', /"name" does not accept "parent"/],
    ['name', 'x'.repeat(65), /"name" does not accept/],
    ['description', '""', /"description" does not accept ""; write a text/],
    ['tools', '{ read: true }', /"tools" does not accept \{"read":true\}; write tool names/],
    ['tools', '[1]', /"tools" does not accept \[1\]/],
    ['tools', 'read grep', /"tools" does not accept "read grep"/],
    ['model', 'none', /"model" does not accept "none"; write a model/],
    ['model', '[a/b]', /"model" does not accept \["a\/b"\]/],
    ['thinking', 'loud', /"thinking" does not accept "loud"; write one of default, off, .*max/],
    ['thinking', 'false', /"thinking" does not accept false/],
    ['omit-system-prompt', '"true"', /"omit-system-prompt" does not accept "true"; write true or/],
    ['omit-pi-documentation', 'yes', /"omit-pi-documentation" does not accept "yes"/],
    ['omit-context-files', '1', /"omit-context-files" does not accept 1/],
    ['omit-context-files', '', /"omit-context-files" does not accept null/],
    ['user-invocable', '"false"', /"user-invocable" does not accept "false"/],
  ])('names file, key, value and what is accepted: %s: %s', (key, value, message) => {
    const lines = Object.entries({ name: 'tester', description: 'Tests', [key]: value });
    const yaml = lines.map(([name, text]) => `${name}: ${text}`);

    const error = refusal(['---', ...yaml, '---', 'Body'].join('\n'));

    expect(error.code).toBe('invalid_agent');
    expect(error.message).toMatch(message);
    expect(error.message.startsWith(`${path}: `)).toBe(true);
    expect(error.data).toMatchObject({ path, key });
  });

  it.each([
    ['---\ndescription: Tests\n---\nBody', /"name" is missing; write a text/],
    ['---\nname: tester\n---\nBody', /"description" is missing; write a text/],
    ['---\n---\nBody', /"name" is missing/],
    ['', /the frontmatter is missing: the first line is ""; write ---/],
    ['# Tester', /the frontmatter is missing: the first line is "# Tester"/],
    ['---\nname: tester\n', /the frontmatter is not closed; write ---/],
    ['---\n- name\n---\n', /the frontmatter is \["name"\]; write lines of the form "key: value"/],
    ['---\nname: a\nname: b\n---\n', /not YAML: Map keys must be unique at line 3.*each key once/],
    ['---\nname: a\ndescription: Use: now\n---\n', /at line 3, .*"description: Use: now"; .*quote/],
    ['---\nname: a\ndescription: *urgent\n---\n', /not YAML: Unresolved alias.* urgent; .*quote/],
  ])('says what is missing or malformed: %j', (markdown, message) => {
    const error = refusal(markdown);

    expect(error.code).toBe('invalid_agent');
    expect(error.message).toMatch(message);
    expect(error.message.startsWith(`${path}: `)).toBe(true);
  });
});
