import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { createMachine } from 'xstate';
import {
  createStatelyHistory,
  toStatelyInspector,
  type StatelyEvent,
} from '../../src/inspector/stately.ts';
import { streamToStately } from '../../src/inspector/stately-stream.ts';
import { eventually, openHerd, openWait } from '../support/herd.ts';

/**
 * What a viewer does with the stream: actors by their session id, each with its last snapshot.
 *
 * @throws Error for an event of an actor that nobody has announced.
 */
function replay(events: readonly StatelyInspectionEvent[]) {
  const actors = new Map<string, { parent: string | undefined; machine: string; value: unknown }>();
  const known = (id: string) => {
    const actor = actors.get(id);
    if (actor === undefined) throw new Error(`${id} was not announced`);
    return actor;
  };
  for (const event of events) {
    if (!(Number(event.createdAt) > 0)) throw new Error(`no time: ${event.createdAt}`);
    switch (event.type) {
      case '@xstate.actor': {
        const machine = createMachine(JSON.parse(event.definition ?? '{}') as never);
        const { value } = event.snapshot as { value: unknown };
        actors.set(event.sessionId, { parent: event.parentId, machine: machine.id, value });
        break;
      }
      case '@xstate.event':
        known(event.sessionId);
        break;
      case '@xstate.snapshot':
        known(event.sessionId).value = (event.snapshot as unknown as { value: unknown }).value;
    }
  }
  return actors;
}

async function listen() {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  const events: StatelyInspectionEvent[] = [];
  sockets.on('connection', (socket) =>
    socket.on('message', (data: Buffer) =>
      events.push(JSON.parse(data.toString()) as StatelyInspectionEvent),
    ),
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate();
    sockets.close();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { events, address: `ws://127.0.0.1:${port}`, sockets };
}

it('has the types that @statelyai/inspect gives its events', () => {
  expectTypeOf<StatelyEvent['type']>().toEqualTypeOf<StatelyInspectionEvent['type']>();
  expectTypeOf<Extract<StatelyEvent, { type: '@xstate.actor' }>>().toExtend<
    Omit<Extract<StatelyInspectionEvent, { type: '@xstate.actor' }>, 'snapshot'>
  >();
});

describe('the events of a running session', () => {
  it('are one tree, and end where its actors are', async () => {
    const events: StatelyEvent[] = [];
    const herd = await openHerd({ inspect: toStatelyInspector((event) => events.push(event)) });
    const one = await herd.hatch('one');
    const taskId = await herd.delegate(one);
    const question = await one.say('shepherd', 'Which gate?', { expectsReply: true });
    const idOf = (name: string) =>
      events.find((event) => event.type === '@xstate.actor' && event.name === name)?.sessionId;
    await eventually(() => expect(idOf(question.messageId)).toBeDefined());

    const actors = replay(events as unknown as StatelyInspectionEvent[]);

    const [task, agent, session] = [taskId, one.id, 'session'].map((name) => idOf(name) ?? '');
    expect(actors.get(task ?? '')).toEqual({
      parent: agent,
      machine: 'task',
      value: { open: { waiting: 'fresh' } },
    });
    expect(actors.get(agent ?? '')).toMatchObject({ parent: session, machine: 'agent' });
    expect(actors.get(session ?? '')).toMatchObject({ parent: undefined, machine: 'session' });
  });

  it('are plain data', async () => {
    const events: StatelyEvent[] = [];
    const herd = await openHerd({ inspect: toStatelyInspector((event) => events.push(event)) });
    await herd.delegate(await herd.hatch('one'));
    await eventually(() => expect(events.length).toBeGreaterThan(10));

    expect(structuredClone(events)).toEqual(events);
    expect(JSON.parse(JSON.stringify(events))).toEqual(
      JSON.parse(JSON.stringify(structuredClone(events))),
    );
  });

  it('that cannot be sent cut off the inspector, not the session', async () => {
    const herd = await openHerd({
      inspect: toStatelyInspector(() => {
        throw new Error('no line');
      }),
    });

    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    await child.done('completed');

    expect(await herd.shepherd.settled(taskId)).toMatchObject({ status: 'completed' });
    await eventually(() =>
      expect(herd.notices.map(({ text }) => text)).toContainEqual(
        expect.stringContaining('no line'),
      ),
    );
  });
});

describe('the events of a journal', () => {
  it('tell the same as a running session', async () => {
    const { herd, one, taskId, question } = await openWait();
    const toEvents = createStatelyHistory();

    const events = herd.store.journal({ after: 0, limit: 9_999 }).flatMap(toEvents);

    const actors = replay(events as unknown as StatelyInspectionEvent[]);
    expect(actors.get(taskId)).toEqual({
      parent: one.id,
      machine: 'task',
      value: { open: { waiting: 'fresh' } },
    });
    expect(actors.get(question.messageId)).toMatchObject({ parent: taskId, value: 'open' });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: '@xstate.event',
        sessionId: taskId,
        event: { type: 'request.open' },
      }),
    );
  });

  it('say what is done', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    await one.done('completed');

    const events = herd.store.journal({ after: 0, limit: 9_999 }).flatMap(createStatelyHistory());

    expect(events.findLast(({ sessionId }) => sessionId === taskId)).toMatchObject({
      snapshot: { status: 'done', value: 'completed' },
    });
  });
});

describe('the stream to a tool', () => {
  it('has what was, and each step as it comes', async () => {
    const { herd, one, two, taskId, question } = await openWait();
    const { events, address } = await listen();
    const ending = new AbortController();

    const { ended } = await streamToStately(herd.store, address, ending.signal);
    await eventually(() =>
      expect(replay(events).get(taskId)?.value).toEqual({ open: { waiting: 'fresh' } }),
    );
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    await eventually(() => expect(replay(events).get(taskId)?.value).toEqual({ open: 'running' }));

    ending.abort();
    expect(await ended).toBeUndefined();
  });

  it('ends with a reason when the tool goes', async () => {
    const { herd } = await openWait();
    const { address, sockets } = await listen();
    const { ended } = await streamToStately(herd.store, address, new AbortController().signal);

    for (const client of sockets.clients) client.terminate();

    expect(await ended).toBe(`${address} has closed the connection`);
  });

  it.each(['http://localhost:1', 'nonsense', 'ws://127.0.0.1:1'])(
    'to %s is refused',
    async (address) => {
      const { herd } = await openWait();
      await expect(
        streamToStately(herd.store, address, new AbortController().signal),
      ).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(address),
      });
    },
  );
});
