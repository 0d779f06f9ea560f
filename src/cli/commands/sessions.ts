/**
 * `sheepfold sessions`: every session of a project, also those that cannot be read; exit code 1 when
 * there is such a one.
 */
import { z } from 'zod';
import { ConfigError, describeError } from '../../errors.ts';
import type { Command } from '../command.ts';
import { pruneSession, type PrunedSession } from '../prune-sessions.ts';
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

/** What `sheepfold sessions prune --json` prints. */
export const prunedReportSchema = z.strictObject({
  stateDir: z.string(),
  sessions: z.array(
    z.strictObject({ name: z.string(), sessionDir: z.string(), kept: z.string().nullable() }),
  ),
});

/** What `sheepfold sessions --json` prints. */
export const sessionsReportSchema = z.strictObject({
  stateDir: z.string(),
  /** Newest first. */
  sessions: z.array(z.union([sessionViewSchema, brokenSessionSchema])),
});
type SessionsReport = z.infer<typeof sessionsReportSchema>;

export const sessions: Command = {
  summary:
    'lists the sessions of a project: owner, age, live agents, open tasks; prune removes those that are over',
  options: { dir: { type: 'string' }, json: { type: 'boolean' } },
  positionals: '[prune]',
  async run({ values, positionals, out, now, columns }) {
    const stateDir = namedStateDir(values);
    const [verb, ...more] = positionals;
    if (more.length > 0 || (verb !== undefined && verb !== 'prune')) {
      throw new ConfigError('invalid_argument', 'sheepfold sessions takes nothing, or prune.');
    }
    if (verb === 'prune') {
      const pruned = await prune(stateDir, now);
      if (values['json'] === true) out(JSON.stringify({ stateDir, sessions: pruned }, null, 2));
      else for (const line of describePruned(pruned)) out(formatLine(line, columns));
      return 0;
    }
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

/** One after the other: each is taken for a moment. */
async function prune(stateDir: string, now: () => number): Promise<readonly PrunedSession[]> {
  const pruned: PrunedSession[] = [];
  for (const place of findSessions(stateDir)) pruned.push(await pruneSession(place, now));
  return pruned;
}

function describePruned(pruned: readonly PrunedSession[]) {
  if (pruned.length === 0) return [[{ text: 'There is no session.' }]];
  const width = columnFor(
    pruned.map(({ name }) => name),
    48,
  );
  return pruned.map(({ name, kept }) => [
    { text: name, width },
    { text: kept === null ? 'removed' : `left: ${kept}` },
  ]);
}

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
