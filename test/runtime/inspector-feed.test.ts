import type { InspectionEvent } from 'xstate';
import { describe, expect, it, vi } from 'vitest';
import { createInspectorFeed } from '../../src/runtime/inspector-feed.ts';
import { eventually, openHerd, textsOf } from '../support/herd.ts';

const event = (rootId: string): InspectionEvent => ({
  type: '@xstate.actor',
  rootId,
  actorRef: {} as InspectionEvent['actorRef'],
});

describe('the feed of an inspector', () => {
  it('hands on every event in order, and never at once', async () => {
    const seen: string[] = [];
    const add = createInspectorFeed({
      inspector: ({ rootId }) => seen.push(rootId),
      onCutOff: () => expect.unreachable(),
    });
    const sent = Array.from({ length: 3_000 }, (_, index) => String(index));

    for (const id of sent) add(event(id));

    expect(seen).toEqual([]);
    await vi.waitFor(() => expect(seen).toEqual(sent));
    add(event('one more'));
    await vi.waitFor(() => expect(seen.at(-1)).toBe('one more'));
  });

  it('takes an observer, too', async () => {
    const seen: string[] = [];
    const add = createInspectorFeed({
      inspector: { next: ({ rootId }) => seen.push(rootId) },
      onCutOff: () => expect.unreachable(),
    });

    add(event('a'));

    await vi.waitFor(() => expect(seen).toEqual(['a']));
  });

  it('cuts off one that throws, and says why once', async () => {
    const onCutOff = vi.fn<(reason: string) => void>();
    const inspector = vi.fn<(event: InspectionEvent) => void>(() => {
      throw new Error('bad glasses');
    });
    const add = createInspectorFeed({ inspector, onCutOff });

    add(event('a'));
    add(event('b'));
    await vi.waitFor(() => expect(onCutOff).toHaveBeenCalled());
    add(event('c'));
    await new Promise((resolve) => setImmediate(resolve));

    expect(inspector).toHaveBeenCalledTimes(1);
    expect(onCutOff.mock.calls).toEqual([[expect.stringContaining('bad glasses')]]);
  });

  it('cuts off one that takes too long for an event', async () => {
    let atMs = 0;
    const onCutOff = vi.fn<(reason: string) => void>();
    const inspector = vi.fn<(event: InspectionEvent) => void>(() => {
      atMs += 2_000;
    });
    const add = createInspectorFeed({ inspector, onCutOff, monotonic: () => atMs });

    add(event('a'));
    add(event('b'));
    await vi.waitFor(() => expect(onCutOff).toHaveBeenCalled());

    expect(inspector).toHaveBeenCalledTimes(1);
    expect(onCutOff.mock.calls).toEqual([['one event took it 2000 ms']]);
  });

  it('cuts off one that falls too far behind, after what runs', async () => {
    const onCutOff = vi.fn<(reason: string) => void>();
    const inspector = vi.fn<(event: InspectionEvent) => void>();
    const add = createInspectorFeed({ inspector, onCutOff, maxPending: 2 });

    for (const id of ['a', 'b', 'c', 'd']) add(event(id));

    expect(onCutOff).not.toHaveBeenCalled();
    await vi.waitFor(() => expect(onCutOff).toHaveBeenCalledTimes(1));
    expect(inspector).not.toHaveBeenCalled();
    expect(onCutOff.mock.calls).toEqual([['it was more than 2 events behind']]);
  });
});

it('is cut off with a line in the journal, and the Shepherd is told', async () => {
  const herd = await openHerd({
    inspect: () => {
      throw new Error('bad glasses');
    },
  });

  await eventually(() =>
    expect(textsOf(herd, 'shepherd.notice')).toEqual([
      expect.stringContaining('The inspector was cut off: it threw: bad glasses'),
    ]),
  );
  const errors = herd.store.journal({ after: 0, limit: 9_999 }).flatMap(({ error }) => error ?? []);
  expect(errors).toEqual([expect.stringContaining('bad glasses')]);
});
