/** `sheepfold status`: one session, process state and task state of each agent side by side. */
import { z } from 'zod';
import { nameOf } from '../../runtime/router.ts';
import type { Store } from '../../runtime/store.ts';
import { viewAgent, viewTask } from '../../runtime/views.ts';
import type { Command } from '../command.ts';
import { agentStatusSchema, taskStatusSchema } from '../report-schemas.ts';
import {
  chooseSession,
  describeOwner,
  readSession,
  sessionOptions,
  sessionViewSchema,
  stateDirFor,
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
  agents: z.array(agentStatusSchema),
  /** The last settled tasks, newest first, at most 10. */
  settled: z.array(taskStatusSchema.extend({ agentName: z.string() })),
});
type StatusReport = z.infer<typeof statusReportSchema>;
type AgentStatus = StatusReport['agents'][number];
type TaskStatus = z.infer<typeof taskStatusSchema>;

const settledAtMost = 10;

export const status: Command = {
  summary: 'shows one session, by default the newest: agents, tasks, waits, results',
  options: sessionOptions,
  async run({ values, out, now, columns }) {
    const stateDir = stateDirFor(textOf(values, 'dir'));
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
  return {
    session: await viewSession(place, { store, nowMs }),
    atMs: nowMs,
    agents: store.all('agent').map((agent) => viewAgent(store, agent, nowMs)),
    settled: settled.map(({ task }) => ({
      ...viewTask(store, task, nowMs),
      agentName: nameOf(store, task.agentId),
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
    ...shown.map((agent, index) => agentLine(agent, { text: names[index] ?? '', width })),
    ...(shown.length === 0 ? [[{ text: 'No agent.' }]] : []),
    ...(closed === 0 ? [] : [[{ text: `and ${closed} closed`, style: 'dim' as const }]]),
    ...(settled.length === 0 ? [] : [[], [{ text: 'Settled', style: 'bold' as const }]]),
    ...settled.map((task) => settledLine(task, { text: task.agentName, width }, atMs)),
  ];
}

function agentLine({ state, task, error }: AgentStatus, name: Cell): readonly Cell[] {
  const process: Cell = { text: state, width: 8, style: isEnded(state) ? 'red' : undefined };
  if (task === undefined) return [name, process, { text: error ?? 'no task' }];
  return [
    name,
    process,
    { text: task.state, width: 9, style: taskStyles[task.state] },
    { text: describeWait(task), style: 'yellow' },
    { text: task.stale === true ? 'stale' : '', style: 'red' },
    { text: error ?? task.description },
  ];
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
