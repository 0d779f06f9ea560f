/** `sheepfold mailbox`: every envelope of a session that is not done, and what to do about it. */
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, MailboxError, TaskError } from '../../errors.ts';
import {
  clearMail,
  listPendingMail,
  retryMail,
  type PendingMail,
} from '../../mailbox/pending-mail.ts';
import { nameOf, type Reader } from '../../runtime/router.ts';
import type { Store } from '../../runtime/store.ts';
import type { Command, CommandContext } from '../command.ts';
import {
  chooseSession,
  isLive,
  namedStateDir,
  readSession,
  sessionOptions,
  textOf,
  withOwnedSession,
  type SessionPlace,
} from '../sessions.ts';
import { columnFor, formatDuration, formatLine, type Cell } from '../terminal.ts';

const actionSchema = z.enum(['ls', 'dead', 'quarantine', 'clear', 'retry']);
type Action = z.infer<typeof actionSchema>;

/** What `sheepfold mailbox … --json` prints. */
export const mailboxReportSchema = z.strictObject({
  session: z.string(),
  action: actionSchema,
  /** With `clear` and `retry`: the one that was, as it lay before. */
  mail: z.array(
    z.strictObject({
      /** Whose box it is. */
      agentId: z.string(),
      agentName: z.string(),
      launch: z.int(),
      box: z.enum(['inbox', 'outbox']),
      state: z.enum(['unread', 'claimed', 'dead', 'quarantined']),
      file: z.string(),
      /** Null for a file whose name carries none. */
      messageId: z.string().nullable(),
      /** These four are null for what is no valid envelope. */
      kind: z.string().nullable(),
      senderId: z.string().nullable(),
      targetId: z.string().nullable(),
      createdAtMs: z.number().nullable(),
      reason: z.string().nullable(),
      /** How long it has lain where it lies. */
      ageMs: z.int(),
    }),
  ),
});
type MailboxReport = z.infer<typeof mailboxReportSchema>;

export const mailbox: Command = {
  summary: 'lists mail that is not done; clears or retries what is stuck',
  details: [
    '',
    'clear removes dead and quarantined mail, and any mail of an agent that has ended.',
    'retry puts a dead letter of a living agent back in line. Both need that nobody has the session.',
  ],
  options: { ...sessionOptions, agent: { type: 'string' } },
  positionals: '<ls|dead|quarantine|clear|retry> [message id or file]',
  async run(context) {
    const { values, positionals, out, now, columns } = context;
    const [action, which] = parseWords(positionals);
    const stateDir = namedStateDir(values);
    const place = chooseSession(stateDir, textOf(values, 'session'));
    const report =
      which === undefined
        ? await list(action, place, context)
        : await withOwnedSession(place, {
            now,
            work: (reader) => act(action, place, { ...context, reader, which }),
          });
    if (values['json'] === true) out(JSON.stringify(report, null, 2));
    else for (const line of describe(report)) out(formatLine(line, columns));
    return 0;
  },
};

function parseWords(words: readonly string[]): readonly [Action, string | undefined] {
  const [first = 'ls', which, ...more] = words;
  const action = actionSchema.safeParse(first);
  const takesOne = first === 'clear' || first === 'retry';
  const fits = takesOne ? which !== undefined && more.length === 0 : which === undefined;
  if (action.success && fits) return [action.data, which];
  throw new ConfigError(
    'invalid_argument',
    `sheepfold mailbox ${words.join(' ')}: it takes ls, dead or quarantine, or clear or retry with ` +
      'one message id or file.',
  );
}

const statesOf: Readonly<Record<Action, readonly PendingMail['state'][]>> = {
  ls: ['unread', 'claimed', 'dead', 'quarantined'],
  dead: ['dead'],
  quarantine: ['quarantined'],
  clear: ['dead', 'quarantined', 'unread', 'claimed'],
  retry: ['dead'],
};

interface Looking extends Pick<CommandContext, 'values' | 'now'> {
  readonly reader: Reader;
}

function list(
  action: Action,
  place: SessionPlace,
  context: Pick<CommandContext, 'values' | 'now'>,
): Promise<MailboxReport> {
  return readSession(place, (reader) => {
    const looking = { ...context, reader };
    const mail = find(action, place, looking);
    return toReport(action, place, { ...looking, mail });
  });
}

/** What the action is about, in the boxes of the agent that was named, if any. */
function find(action: Action, place: SessionPlace, looking: Looking): readonly PendingMail[] {
  const agent = textOf(looking.values, 'agent');
  const ids = agent === undefined ? undefined : agentIds(looking.reader, agent);
  return listPendingMail(join(place.dir, 'mailbox')).filter(
    ({ of, state }) => statesOf[action].includes(state) && (ids?.has(of.agentId) ?? true),
  );
}

/** Ended agents count too: their mail may still lie there. */
function agentIds(reader: Reader, wanted: string): ReadonlySet<string> {
  const agents = reader.all('agent');
  const meant = agents.filter(({ id, label, definition }) =>
    [id, label, definition.name, nameOf(reader, id)].includes(wanted),
  );
  if (meant.length > 0) return new Set(meant.map(({ id }) => id));
  const names = agents.map(({ id }) => `"${nameOf(reader, id)}"`).join(', ');
  throw new ConfigError(
    'invalid_argument',
    `There is no agent "${wanted}" in this session; there is ${names || 'none'}.`,
  );
}

/**
 * @throws ConfigError `invalid_argument`; MailboxError as `clearMail` and `retryMail`, `superseded`;
 * TaskError `task_settled`.
 */
function act(
  action: Action,
  place: SessionPlace,
  looking: Looking & { readonly which: string; readonly reader: Store },
): MailboxReport {
  const { which, reader, now } = looking;
  const meant = find('ls', place, looking).filter(
    ({ messageId, name, path }) =>
      [messageId, name, path].includes(which) || path === resolve(which),
  );
  const mail = meant.filter(({ state }) => statesOf[action].includes(state));
  const [only] = mail;
  const [other] = meant;
  if (only === undefined && other !== undefined) refuseState(other);
  if (only === undefined || mail.length > 1) {
    const what = statesOf[action].join(' or ');
    throw new ConfigError(
      'invalid_argument',
      only === undefined
        ? `No ${what} mail of ${place.name} is "${which}"; sheepfold mailbox ls names what there is.`
        : `"${which}" could be ${mail.map(({ path }) => path).join(', ')}; write the file.`,
    );
  }
  const report = toReport(action, place, { ...looking, mail: [only] });
  if (action === 'clear') {
    refuseAwaited(reader, only);
    clearMail(only);
  } else {
    refuseEnded(reader, only);
    refuseSettled(reader, only);
    // Together: a letter that stays where it is has not come any further.
    reader.transaction(() => {
      putBackInLine(reader, only, now());
      retryMail(only, join(place.dir, 'mailbox'));
    });
  }
  return report;
}

/** What is no dead letter is not retried. */
function refuseState({ state, name, path, reason }: PendingMail): never {
  if (state !== 'quarantined') {
    throw new ConfigError('invalid_argument', `${name} is ${state}: it is in line already.`);
  }
  const why = reason?.replaceAll(/\s+/g, ' ') ?? 'no reason is noted';
  throw new MailboxError(
    'invalid_envelope',
    `${name} is quarantined (${why}), which cannot be retried: its reader would put ` +
      'it aside again. Read the file, have its sender say it once more, and clear it.',
    { data: { path } },
  );
}

/** A letter that somebody will still take is no litter. */
function refuseAwaited(reader: Reader, { of, end, state, name }: PendingMail): void {
  if (state === 'dead' || state === 'quarantined' || !hasReader(reader, of)) return;
  const agent = nameOf(reader, of.agentId);
  throw new ConfigError(
    'invalid_argument',
    end === 'inbox'
      ? `${name} is ${state} mail of ${agent}, which has not ended and will read it; it can be cleared once ` +
          'the agent has ended.'
      : `${name} is ${state} mail from ${agent}, which has not ended; the Shepherd takes it when its session ` +
          'is opened again. It can be cleared once the agent has ended.',
    { data: { ...of } },
  );
}

/** Nobody reads the boxes of an agent that has ended, or has been launched anew since. */
function hasReader(reader: Reader, of: PendingMail['of']): boolean {
  const agent = reader.get('agent', of.agentId);
  return agent !== undefined && isLive(agent) && agent.launch === of.launch;
}

function refuseEnded(reader: Reader, { of }: PendingMail): void {
  if (hasReader(reader, of)) return;
  throw new MailboxError(
    'superseded',
    `${nameOf(reader, of.agentId)} (launch ${of.launch}) has ended: nobody would read it; clear it.`,
    { data: { ...of } },
  );
}

/** The task of a letter that could not be delivered has failed for it, as a rule. */
function refuseSettled(reader: Reader, { messageId, envelope }: PendingMail): void {
  if (envelope?.kind !== 'task') return;
  const { taskId } = envelope;
  const task = reader.get('task', taskId);
  if (task !== undefined && task.result === undefined) return;
  throw new TaskError(
    'task_settled',
    `${messageId} carries ${taskId}, which ${task === undefined ? 'is forgotten' : `is ${task.state} already`}: ` +
      'its agent would work for nobody; clear the letter and delegate the task again.',
    { data: { taskId, ...(task === undefined ? {} : { status: task.state }) } },
  );
}

/** Dead is the end of a receipt; what lies in line again has it before it. */
function putBackInLine(store: Store, { messageId = '' }: PendingMail, atMs: number): void {
  const message = store.get('message', messageId);
  if (message?.receipt !== 'dead') return;
  const { error: _, ...rest } = message;
  const { kind, senderId, targetId } = message;
  store.commit({
    puts: [{ table: 'message', record: { ...rest, receipt: 'queued' } }],
    deletes: [],
    snapshots: new Map(),
    journal: {
      atMs,
      input: 'mailbox retry',
      actors: [],
      moves: [{ messageId, kind, from: senderId, to: targetId }],
    },
  });
}

function toReport(
  action: Action,
  place: SessionPlace,
  options: Looking & { readonly mail: readonly PendingMail[] },
): MailboxReport {
  const { reader, mail, now } = options;
  const nowMs = now();
  return {
    session: place.name,
    action,
    mail: mail.map(({ of, end, state, path, messageId, envelope, reason, sinceAtMs }) => ({
      agentId: of.agentId,
      agentName: nameOf(reader, of.agentId),
      launch: of.launch,
      box: end,
      state,
      file: path,
      messageId: messageId ?? null,
      kind: envelope?.kind ?? null,
      senderId: envelope?.senderId ?? null,
      targetId: envelope?.targetId ?? null,
      createdAtMs: envelope?.createdAt ?? null,
      reason: reason ?? null,
      // A file system counts in fractions.
      ageMs: Math.max(0, Math.round(nowMs - sinceAtMs)),
    })),
  };
}

const doneWith: Readonly<Record<'clear' | 'retry', string>> = {
  clear: 'cleared',
  retry: 'put back in line',
};

function describe({ session, action, mail }: MailboxReport): readonly (readonly Cell[])[] {
  if (mail.length === 0) {
    return [
      [
        {
          text: `No ${action === 'ls' ? 'waiting' : statesOf[action].join(' or ')} mail in ${session}.`,
        },
      ],
    ];
  }
  const width = columnFor(
    mail.map(({ agentName }) => agentName),
    28,
  );
  return mail.flatMap((one) => {
    const isStuck = one.state === 'dead' || one.state === 'quarantined';
    const head: readonly Cell[] = [
      { text: one.agentName, width },
      { text: one.box, width: 6 },
      action === 'clear' || action === 'retry'
        ? { text: doneWith[action], style: 'green' }
        : { text: one.state, width: 11, style: isStuck ? 'red' : undefined },
      { text: formatDuration(one.ageMs), width: 3 },
      { text: one.kind ?? 'unknown', width: 11 },
      { text: one.messageId ?? basename(one.file) },
    ];
    return one.reason === null ? [head] : [head, [{ text: ' ', width: 2 }, { text: one.reason }]];
  });
}
