/**
 * `sheepfold sessions`: every session of a project, also those that cannot be read; exit code 1 when
 * there is such a one.
 */
import { z } from 'zod';
import { describeError } from '../../errors.ts';
import type { Command } from '../command.ts';
import {
  describeOwner,
  findSessions,
  namedStateDir,
  readSession,
  sessionViewSchema,
  viewSession,
  type SessionPlace,
} from '../sessions.ts';
import { columnFor, formatDuration, formatLine } from '../terminal.ts';

const brokenSessionSchema = z.strictObject({
  name: z.string(),
  sessionDir: z.string(),
  /** `code: message` of why it cannot be read. */
  error: z.string(),
});

/** What `sheepfold sessions --json` prints. */
export const sessionsReportSchema = z.strictObject({
  stateDir: z.string(),
  /** Newest first. */
  sessions: z.array(z.union([sessionViewSchema, brokenSessionSchema])),
});
type SessionsReport = z.infer<typeof sessionsReportSchema>;

export const sessions: Command = {
  summary: 'lists the sessions of a project: owner, age, live agents, open tasks',
  options: { dir: { type: 'string' }, json: { type: 'boolean' } },
  async run({ values, out, now, columns }) {
    const stateDir = namedStateDir(values);
    const nowMs = now();
    const listed = await Promise.all(
      findSessions(stateDir)
        .toReversed()
        .map((place) => view(place, nowMs)),
    );
    const report: SessionsReport = { stateDir, sessions: listed };
    if (values['json'] === true) out(JSON.stringify(report, null, 2));
    else for (const line of describe(report)) out(formatLine(line, columns));
    return listed.some((one) => 'error' in one) ? 1 : 0;
  },
};

async function view(place: SessionPlace, nowMs: number) {
  try {
    return await readSession(place, (store) => viewSession(place, { store, nowMs }));
  } catch (error) {
    return { name: place.name, sessionDir: place.dir, error: describeError(error) };
  }
}

function describe({ stateDir, sessions: listed }: SessionsReport) {
  if (listed.length === 0) return [[{ text: `There is no session in ${stateDir}.` }]];
  const nameWidth = columnFor(
    listed.map(({ name }) => name),
    48,
  );
  const ownerWidth = columnFor(
    listed.map((one) => ('error' in one ? '' : describeOwner(one.owner))),
    32,
  );
  return listed.map((one) => {
    const name = { text: one.name, width: nameWidth };
    if ('error' in one) return [name, { text: one.error, style: 'red' as const }];
    return [
      name,
      { text: describeOwner(one.owner), width: ownerWidth },
      { text: one.ageMs === null ? '' : formatDuration(one.ageMs), width: 3 },
      { text: `${count(one.liveAgents, 'agent')} live`, width: 14 },
      { text: `${count(one.openTasks, 'task')} open`, width: 12 },
      { text: one.owner?.key ?? '', style: 'dim' as const },
    ];
  });
}

function count(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? '' : 's'}`;
}
