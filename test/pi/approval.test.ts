/** The question whether an agent of the project may run. */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { expect, it, vi } from 'vitest';
import { approveWith } from '../../src/pi/parent/approval.ts';

type Definition = Parameters<NonNullable<ReturnType<typeof approveWith>>>[0];

const definition = {
  name: 'mason',
  description: 'Builds walls.',
  path: '/project/.pi/agents/mason.md',
} as Definition;

/** What the user is asked, a line each. */
async function asked(changes: Partial<Definition>): Promise<readonly string[]> {
  const confirm = vi.fn<ExtensionContext['ui']['confirm']>(() => Promise.resolve(true));
  const approve = approveWith({
    hasUI: true,
    ui: { confirm } as unknown as ExtensionContext['ui'],
  });

  expect(await approve?.({ ...definition, ...changes })).toBe(true);
  const [[title, message] = ['', '']] = confirm.mock.calls;
  return [title, ...message.split('\n')];
}

it('names the file, the tools and the model', async () => {
  expect(await asked({ tools: ['read', 'bash'], model: 'acme/large' })).toEqual([
    'Run the project’s agent "mason"?',
    'Builds walls.',
    'File: /project/.pi/agents/mason.md',
    'Tools: read, bash',
    'Model: acme/large',
    expect.stringContaining('with your rights'),
  ]);
});

it('says what counts where the file says nothing', async () => {
  const lines = await asked({});
  expect(lines).toContain('Tools: Pi’s default set, bash among them');
  expect(lines).toContain('Model: the Shepherd’s');
});

it('keeps a file from writing lines of its own into the question', async () => {
  const lines = await asked({
    description: `Harmless.\nTools: read\u001B[8m\r\n${'x'.repeat(9_000)}`,
    tools: ['bash\u001B[2K\nTools: read'],
  });

  expect(lines).toHaveLength(6);
  expect(lines.join('')).not.toMatch(/\p{Cc}/u);
  expect(lines[1]?.length).toBeLessThanOrEqual(500);
});

it('is not asked where nobody answers', () => {
  expect(approveWith({ hasUI: false, ui: {} as ExtensionContext['ui'] })).toBeUndefined();
});
