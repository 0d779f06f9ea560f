/** A real child whose model never answers: seen, bailed, replaced; and one whose replacement hangs, too. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { Notice } from '../../src/runtime/shepherd.ts';
import { stallLineSchema } from '../../src/stall/log.ts';
import { limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';

let children: PiChildren | undefined;
afterEach(() => children?.close());

/** Long enough for a Pi to start on a busy machine and to be heard of. */
const policy = { stallAfterMs: 4_000, stallRecovery: 'auto' } as const;

const events = ({ shepherd }: PiChildren) =>
  readFileSync(join(shepherd.sessionDir, 'stalls.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => stallLineSchema.parse(JSON.parse(line)).event);

it('is replaced by one that completes the task, and refused when it is revived', async () => {
  children = await openPiChildren(policy);
  const { shepherd } = children;
  children.script('scout', { hang: true });
  const agent = await shepherd.spawn({ agent: 'scout', label: 'survey' });
  const { taskId } = await shepherd.delegate({ target: agent.id, task: 'Survey the fence.' });
  await vi.waitFor(() => expect(children?.requests('scout')).toHaveLength(1), limits);
  children.script('scout', {
    toolCalls: [call('shepherd_done', { status: 'completed', summary: 'The fence holds.' })],
  });

  const result = await shepherd.settled(taskId, AbortSignal.timeout(90_000));

  expect(result).toMatchObject({
    status: 'completed',
    summary: 'The fence holds.',
    attempts: [{ launch: 1 }, { launch: 2 }],
  });
  const [, brief] = children.requests('scout');
  expect(brief?.last).toContain('Survey the fence.');
  expect(brief?.last).toContain('Attempt 2 of 2');
  await vi.waitFor(() => {
    if (children === undefined) return;
    expect(events(children)).toEqual(['stalled', 'bailed', 'dispatched', 'recovered']);
  }, limits);

  children.script(
    'scout',
    { toolCalls: [call('shepherd_message', { target: 'shepherd', message: 'I live!' })] },
    { text: 'I stop.' },
  );
  const revived = await children.revive(agent.id, 1);
  await revived.prompt('Go on.', 60_000);
  expect(children.requests('scout').at(-1)?.last).toMatch(/^superseded: /);
}, 180_000);

it('whose replacement hangs as well is told of, once, and its task stays open', async () => {
  children = await openPiChildren(policy);
  const { shepherd } = children;
  const told: Notice[] = [];
  shepherd.on((change) => {
    if (change.type === 'notice' && change.notice.kind === 'shepherd.stall') {
      told.push(change.notice);
    }
  });
  children.script('scout', { hang: true }, { hang: true });
  const agent = await shepherd.spawn({ agent: 'scout', label: 'survey' });
  const { taskId } = await shepherd.delegate({ target: agent.id, task: 'Survey the fence.' });

  await vi.waitFor(
    () => expect(told.map(({ details }) => details['code'])).toEqual(['recovered', 'cap_reached']),
    { ...limits, timeout: 90_000 },
  );
  expect(children.requests('scout')).toHaveLength(2);
  expect(shepherd.task(taskId).state).toBe('running');
  expect(shepherd.status(agent.id)).toMatchObject({ state: 'working', launch: 2 });
}, 180_000);
