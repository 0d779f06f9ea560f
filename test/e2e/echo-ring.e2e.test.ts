/** Three real children that reply to whatever they get, each to the next: the hop limit ends it. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Notice } from '../../src/runtime/shepherd.ts';
import { limits, openPiChildren, type PiChildren } from '../support/pi-children.ts';
import { call } from '../support/pi-shepherd.ts';
import type { ModelReply, ModelRequest } from '../support/scripted-model.ts';

const ring = ['scout', 'planner', 'worker'] as const;
/** CONTRACT §7. */
const maxHops = 8;

/** Replies to the last thing that it was shown, until it has said so. */
function echo({ queue, messages, last }: ModelRequest): ModelReply {
  if (messages.at(-1)?.role === 'tool') return { text: 'Said.' };
  const next = ring[(ring.findIndex((name) => name === queue) + 1) % ring.length];
  const [, replyTo] = /^Message ID: (\S+)$/m.exec(last) ?? [];
  const reply = call('shepherd_message', { target: next, replyTo, message: 'And you?' });
  const isTask = last.startsWith('[Task');
  return { toolCalls: isTask ? [reply, call('shepherd_done', { status: 'completed' })] : [reply] };
}

let herd: PiChildren;
const notices: Notice[] = [];
beforeAll(async () => {
  herd = await openPiChildren();
  herd.shepherd.on((change) => {
    if (change.type === 'notice') notices.push(change.notice);
  });
  for (const agent of ring) herd.script(agent, ...Array.from({ length: 20 }, () => echo));
  await Promise.all(ring.map((agent) => herd.shepherd.spawn({ agent, label: agent })));
}, 120_000);
afterAll(() => herd.close());

const isCut = ({ details }: Notice): boolean => details['code'] === 'hop_limit';

it('stops with hop_limit, and the Shepherd is told once', async () => {
  const refused = () =>
    ring.flatMap((agent) =>
      herd.requests(agent).filter(({ last }) => last.startsWith('hop_limit: ')),
    );

  await herd.shepherd.delegate({ target: 'scout', task: 'Say it on.' });

  await vi.waitFor(() => {
    expect(refused()).toHaveLength(1);
    expect(herd.shepherd.agents().map(({ state }) => state)).toEqual(['idle', 'idle', 'idle']);
  }, limits);
  const said = herd.shepherd.messages(undefined, { limit: 100 });
  expect(said.filter(({ kind }) => kind === 'reply')).toHaveLength(maxHops);
  expect(said.filter(({ kind }) => kind !== 'reply')).toHaveLength(1);
  expect(notices.filter(isCut)).toMatchObject([{ wake: false }]);
  expect(refused()).toHaveLength(1);
});
