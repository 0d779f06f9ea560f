import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/index.ts';
import { eventually, openHerd, openWait, textsOf, type TestHerd } from '../support/herd.ts';

const minute = 60_000;

const changed = '---\nname: local\ndescription: Of the project.\n---\nTwo.\n';

function writeAgent({ pasture }: Pick<TestHerd, 'pasture'>, body: string): string {
  const dir = join(pasture.dir, '.pi', 'agents');
  mkdirSync(dir, { recursive: true });
  const path = join(dir, 'local.md');
  writeFileSync(path, `---\nname: local\ndescription: Of the project.\n---\n${body}\n`);
  return path;
}

describe('what is configured while a session is open', () => {
  it('re-arms waits that nobody was reminded of, and not the others', async () => {
    const { herd, taskId } = await openWait();
    herd.shepherd.configure({ policy: { staleAfterMs: minute } });
    herd.advance(minute);
    await eventually(() => expect(textsOf(herd, 'shepherd.stale.wait')).toHaveLength(1));
    herd.shepherd.configure({ policy: { staleAfterMs: 2 * minute } });
    herd.advance(5 * minute);
    herd.shepherd.watch(taskId);
    expect(textsOf(herd, 'shepherd.stale.wait')).toHaveLength(1);
  });

  it('counts for questions that are asked afterwards, not for those that are open', async () => {
    const { herd, one, two, question } = await openWait({
      policy: { replyTimeoutMs: 10 * minute },
    });
    herd.shepherd.configure({ policy: { replyTimeoutMs: minute } });
    const second = await one.say(two.id, 'And which fence?', { expectsReply: true });
    const deadlines = herd.store
      .all('request')
      .map(({ id, deadlineAtMs, openedAtMs }) => [id, deadlineAtMs - openedAtMs]);
    expect(deadlines).toEqual([
      [question.messageId, 10 * minute],
      [second.messageId, minute],
    ]);
  });

  it('closes an agent after its task once it is not to be kept; those that are there are kept', async () => {
    const herd = await openHerd();
    const kept = await herd.hatch('kept');
    herd.shepherd.configure({ policy: { closeIdleAfterMs: 10_000 } });
    const passing = await herd.hatch('passing');
    for (const child of [kept, passing]) {
      await herd.delegate(child);
      await child.done('completed', { summary: 'Done.' });
    }
    herd.advance(10_000);
    await eventually(() => expect(herd.shepherd.status(passing.id).state).toBe('closed'));
    expect(herd.shepherd.status(kept.id).state).toBe('idle');
  });

  it('has a silent child watched from its last sign of life, by the new rule', async () => {
    const herd = await openHerd({ policy: { stallAfterMs: null } });
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    child.turn('turn_started', { taskId });
    await eventually(() => expect(herd.shepherd.status(child.id).state).toBe('working'));
    herd.advance(10 * minute);
    herd.shepherd.configure({ policy: { stallAfterMs: 11 * minute } });
    herd.advance(minute + 1);
    await eventually(() => expect(herd.shepherd.status(child.id).stalledMs).toBe(11 * minute + 1));
  });

  it('decides whose definitions count', async () => {
    const herd = await openHerd();
    writeAgent(herd, 'One.');
    const names = () => herd.shepherd.definitions().agents.map(({ name }) => name);
    expect(names()).not.toContain('local');
    herd.shepherd.configure({ agentScope: 'both', includeBundledAgents: false });
    expect(names()).toEqual(['local']);
  });
});

describe('an agent of the project', () => {
  const scope = { agentScope: 'both' } as const;

  it('is refused where nobody can be asked, and nothing is launched', async () => {
    const herd = await openHerd(scope);
    writeAgent(herd, 'One.');
    await expect(herd.shepherd.spawn({ agent: 'local', label: 'one' })).rejects.toMatchObject({
      code: 'agent_not_approved',
      message: expect.stringContaining('confirmProjectAgents') as unknown,
    });
    expect(herd.host.launches).toEqual([]);
    expect(herd.shepherd.agents()).toEqual([]);
  });

  it('runs unasked where the user has said so', async () => {
    const herd = await openHerd({ ...scope, confirmProjectAgents: false });
    writeAgent(herd, 'One.');
    await herd.hatch('one', 'local');
    expect(herd.shepherd.agents()).toMatchObject([{ agent: 'local', state: 'idle' }]);
  });

  it('is asked about once for each content, and what was approved is what runs', async () => {
    const asked: AgentDefinition[] = [];
    let path = '';
    const herd = await openHerd({
      ...scope,
      approveAgent: (definition) => {
        asked.push(definition);
        // Changed behind the question: the answer was for the bytes that were shown.
        if (asked.length === 1) writeFileSync(path, changed);
        return Promise.resolve(true);
      },
    });
    path = writeAgent(herd, 'One.');
    const spawn = async (label: string) => {
      const before = herd.host.launches.length;
      const spawned = herd.shepherd.spawn({ agent: 'local', label }).catch(() => undefined);
      await eventually(() => expect(herd.host.launches).toHaveLength(before + 1));
      return spawned;
    };
    void spawn('one');
    await eventually(() => expect(herd.store.all('agent')).toHaveLength(1));
    expect(herd.store.all('agent')[0]?.definition.body.trim()).toBe('One.');
    void spawn('two');
    await eventually(() => expect(herd.store.all('agent')).toHaveLength(2));
    void spawn('three');
    await eventually(() => expect(herd.store.all('agent')).toHaveLength(3));
    expect(asked.map(({ body }) => body.trim())).toEqual(['One.', 'Two.']);
  });

  it('that is not allowed to run is asked about again the next time', async () => {
    let times = 0;
    const herd = await openHerd({
      ...scope,
      approveAgent: () => {
        times += 1;
        return Promise.resolve(false);
      },
    });
    writeAgent(herd, 'One.');
    for (const label of ['one', 'two']) {
      await expect(herd.shepherd.spawn({ agent: 'local', label })).rejects.toMatchObject({
        code: 'agent_not_approved',
      });
    }
    expect(times).toBe(2);
  });
});
