/**
 * `sheepfold status`: one session, process state and task state of each agent side by side, what waits
 * in its queue, and how far its latest messages have come.
 */
import { z } from 'zod';
import type { MessageRecord } from '../../runtime/records.ts';
import { excerpt, nameOf } from '../../runtime/router.ts';
import type { Store } from '../../runtime/store.ts';
import { viewAgent, viewMessage, viewTask } from '../../runtime/views.ts';
import type { Command } from '../command.ts';
import { agentStatusSchema, messageStatusSchema, taskStatusSchema } from '../report-schemas.ts';
import {
  chooseSession,
  describeOwner,
  namedStateDir,
  readSession,
  sessionOptions,
  sessionViewSchema,
  textOf,
  viewSession,
  type SessionPlace,
} from '../sessions.ts';
import { columnFor, formatDuration, formatLine, taskStyles, type Cell } from '../terminal.ts';

/** What `sheepfold status --json` prints. */
export const statusReportSchema = z.strictObject({
  session: sessionViewSchema,
  /** Epoch ms to which waits are counted. */
  atMs: z.number(),
  /** All of them, ended ones too, in order of their creation; an open task lies with its agent. */
  agents: z.array(
    agentStatusSchema.extend({
      /** Its tasks that have not begun, in order. */
      held: z.array(taskStatusSchema),
      /** Its latest messages, sent or received, newest first, at most 5. */
      messages: z.array(messageStatusSchema),
    }),
  ),
  /** The last settled tasks, newest first, at most 10; of each its latest messages, at most 5. */
  settled: z.array(
    taskStatusSchema.extend({ agentName: z.string(), messages: z.array(messageStatusSchema) }),
  ),
});
type StatusReport = z.infer<typeof statusReportSchema>;
type AgentStatus = StatusReport['agents'][number];
type MessageStatus = AgentStatus['messages'][number];
type TaskStatus = z.infer<typeof taskStatusSchema>;

const settledAtMost = 10;
const messagesAtMost = 5;
/** What a line shows of a task before it is cut to the width of the terminal. */
const descriptionCharacters = 500;

export const status: Command = {
  summary: 'shows one session, by default the newest: agents, tasks, waits, results',
  options: sessionOptions,
  async run({ values, out, now, columns }) {
    const stateDir = namedStateDir(values);
    const place = chooseSession(stateDir, textOf(values, 'session'));
    const nowMs = now();
    const report = await readSession(place, (store) => readStatus(place, store, nowMs));
    if (values['json'] === true) out(JSON.stringify(report, null, 2));
    else for (const line of describe(report)) out(formatLine(line, columns));
    return 0;
  },
};

async function readStatus(place: SessionPlace, store: Store, nowMs: number): Promise<StatusReport> {
  const settled = store
    .all('task')
    .flatMap((task) => (task.result === undefined ? [] : { task, atMs: task.result.settledAtMs }))
    .toSorted((a, b) => b.atMs - a.atMs)
    .slice(0, settledAtMost);
  const all = store.all('message').toReversed();
  const latest = (isMeant: (message: MessageRecord) => boolean): MessageStatus[] =>
    all
      .filter(isMeant)
      .slice(0, messagesAtMost)
      .map((message) => viewMessage(store, message));
  return {
    session: await viewSession(place, { store, nowMs }),
    atMs: nowMs,
    agents: store.all('agent').map((agent) => ({
      ...viewAgent(store, agent, nowMs),
      held: agent.queue.flatMap((id) => {
        const task = store.get('task', id);
        return task === undefined ? [] : viewTask(store, task, nowMs);
      }),
      messages: latest(({ senderId, targetId }) => [senderId, targetId].includes(agent.id)),
    })),
    settled: settled.map(({ task }) => ({
      ...viewTask(store, task, nowMs),
      agentName: nameOf(store, task.agentId),
      messages: latest(({ taskId }) => taskId === task.id),
    })),
  };
}

function describe({ session, atMs, agents, settled }: StatusReport): readonly (readonly Cell[])[] {
  // Who was closed on purpose needs nobody's eye; who failed or was lost does.
  const shown = agents.filter(({ state }) => state !== 'closed');
  const closed = agents.length - shown.length;
  const names = shown.map(({ agent, label }) => `${agent}: ${label}`);
  const width = columnFor([...names, ...settled.map(({ agentName }) => agentName)], 28);
  const age = session.ageMs === null ? [] : [{ text: `${formatDuration(session.ageMs)} old` }];
  return [
    [{ text: session.name, style: 'bold' }, { text: describeOwner(session.owner) }, ...age],
    [],
    ...shown.flatMap((agent, index) => [
      agentLine(agent, { text: names[index] ?? '', width }),
      ...agent.held.map(heldLine),
      ...messageLines(agent, width, atMs),
    ]),
    ...(shown.length === 0 ? [[{ text: 'No agent.' }]] : []),
    ...(closed === 0 ? [] : [[{ text: `and ${closed} closed`, style: 'dim' as const }]]),
    ...(settled.length === 0 ? [] : [[], [{ text: 'Settled', style: 'bold' as const }]]),
    ...settled.map((task) => settledLine(task, { text: task.agentName, width }, atMs)),
  ];
}

function agentLine(
  { state, task, error, stalledMs, host }: AgentStatus,
  name: Cell,
): readonly Cell[] {
  const process: Cell = { text: state, width: 8, style: isEnded(state) ? 'red' : undefined };
  // The usual place is not worth a word.
  const place: Cell = {
    text: host === undefined || host === 'process' ? '' : `in ${host}`,
    style: 'dim',
  };
  if (task === undefined) return [name, process, { text: error ?? 'no task' }, place];
  return [
    name,
    process,
    { text: task.state, width: 9, style: taskStyles[task.state] },
    { text: describeWait(task), style: 'yellow' },
    { text: task.stale === true ? 'stale' : '', style: 'red' },
    { text: stalledMs === undefined ? '' : `stalled ${formatDuration(stalledMs)}`, style: 'red' },
    place,
    { text: error ?? shortDescription(task) },
  ];
}

const shortDescription = ({ description }: TaskStatus): string =>
  excerpt(description, descriptionCharacters);

function heldLine(task: TaskStatus): readonly Cell[] {
  return [
    { text: '', width: 1 },
    { text: `held, number ${task.queuePosition ?? 0} in the queue` },
    { text: shortDescription(task) },
  ];
}

/** `→ planner: plan  message  seen  4m ago`, seen from the agent. */
function messageLines(
  { id, messages }: AgentStatus,
  width: number,
  nowMs: number,
): readonly (readonly Cell[])[] {
  return messages.map(({ fromId, fromName, toName, kind, receipt, atMs, error }) => [
    { text: '', width: 1 },
    { text: fromId === id ? `→ ${toName}` : `← ${fromName}`, width: width + 2 },
    { text: kind, width: 7 },
    { text: receipt, width: 9, style: receipt === 'dead' ? 'red' : 'dim' },
    { text: `${formatDuration(nowMs - atMs)} ago`, style: 'dim' },
    { text: error ?? '', style: 'red' },
  ]);
}

function isEnded(state: AgentStatus['state']): boolean {
  return state === 'failed' || state === 'lost';
}

/** `⏳4m ←planner: plan`, or nothing. */
function describeWait({ waitingMs, waitingOn }: TaskStatus): string {
  if (waitingMs === undefined) return '';
  return `⏳${formatDuration(waitingMs)}${waitingOn === undefined ? '' : ` ←${waitingOn}`}`;
}

function settledLine({ state, result }: TaskStatus, name: Cell, nowMs: number): readonly Cell[] {
  return [
    name,
    { text: state, width: 9, style: taskStyles[state] },
    { text: `${formatDuration(nowMs - (result?.settledAtMs ?? nowMs))} ago`, width: 7 },
    { text: result?.error ?? result?.summary ?? result?.text ?? '' },
  ];
}
