/**
 * `node visualizations/record.ts <session directory>`: takes the flow of a session that was played, for instance by
 * `npm start`, into `canonical-flow.json`, with short ids and times from its beginning.
 */
import { writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { createSessionSource } from '../src/inspector/session-source.ts';
import { openSessionStore } from '../src/runtime/session-store.ts';
import type { Recording } from './recording.ts';

const dir = resolve(process.argv[2] ?? '');
const store = openSessionStore(join(dir, 'session.db'), { readOnly: true });
const source = createSessionSource({ store, name: basename(dir), dir, now: Date.now });
const rows = source.rows(0, 100_000);
const { agents } = source.names();
store.close();

const short = new Map<string, string>([
  ['shepherd', 'Shepherd'],
  ['session', 'session'],
  ...agents.map(({ id, agent, label }) => [id, `${agent}: ${label}`] as const),
]);
const counts = new Map<string, number>();

/** Ids that nobody chose say what they are, and which one in order. */
function nameFor(id: string, kind: string): string {
  const known = short.get(id);
  if (known !== undefined) return known;
  const count = (counts.get(kind) ?? 0) + 1;
  counts.set(kind, count);
  const name = count === 1 ? kind : `${kind} ${count}`;
  short.set(id, name);
  return name;
}

const startMs = rows[0]?.atMs ?? 0;
const recording: Recording = {
  actors: [
    ...new Map(
      rows
        .flatMap(({ actors }) => actors)
        .map(({ id, machine, under }) => [
          id,
          {
            name: nameFor(id, machine),
            machine,
            under: under === null ? null : nameFor(under, 'actor'),
          },
        ]),
    ).values(),
  ],
  steps: rows.map(({ atMs, moves, taken }) => ({
    atMs: atMs - startMs,
    // What is passed on in the same step is one envelope: its last way says where it went.
    mails: [...new Map(moves.map((move) => [move.messageId, move])).values()].map(
      ({ kind, from, to, asks, code }) => ({
        kind,
        from: nameFor(from, 'somebody'),
        to: nameFor(to, 'somebody'),
        ...(asks === true ? { asks } : {}),
        ...(code === undefined ? {} : { code }),
      }),
    ),
    states: taken
      .filter(({ from, to }) => from.startsWith('task.') && to.length > 0)
      .map(({ actorId, to }) => ({ task: nameFor(actorId, 'task'), state: to.join(', ') })),
  })),
};
const told: Recording = {
  ...recording,
  steps: recording.steps.filter(({ mails, states }) => mails.length + states.length > 0),
};
const file = new URL('canonical-flow.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(told, null, 2)}\n`);
