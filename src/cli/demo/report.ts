/** What `sheepfold demo --json` prints: the schema is the contract of that document. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { nameOf } from '../../runtime/router.ts';
import type { Store } from '../../runtime/store.ts';
import { readRefusals } from './conversation.ts';

/** What was said besides the tasks; agents by name, `scout: survey`. */
const conversationSchema = z.strictObject({
  requests: z.array(
    z.strictObject({
      requestId: z.string(),
      /** The task that waits for the reply. */
      taskId: z.string().nullable(),
      from: z.string(),
      to: z.string(),
      question: z.string(),
      state: z.string(),
    }),
  ),
  /** What was refused to an agent, as its model read it. */
  refusals: z.array(z.strictObject({ from: z.string(), code: z.string(), message: z.string() })),
  /** What came for a task that had settled; kept with it. */
  lateEvents: z.array(
    z.strictObject({ taskId: z.string(), from: z.string(), kind: z.string(), text: z.string() }),
  ),
  /** Reminders and notices, counted in the parent's own Pi session. */
  notices: z.array(
    z.strictObject({ kind: z.string(), code: z.string().nullable(), text: z.string() }),
  ),
});

export const demoReportSchema = z.strictObject({
  /** The scenario ended as it must. */
  ok: z.boolean(),
  /** Its name, where one was asked for. */
  scenario: z.string().optional(),
  /** Absolute path of the session's directory. */
  session: z.string().nullable(),
  agents: z.array(
    z.strictObject({ id: z.string(), agent: z.string(), label: z.string(), state: z.string() }),
  ),
  tasks: z.array(
    z.strictObject({
      taskId: z.string(),
      agent: z.string(),
      label: z.string(),
      status: z.string(),
      returnCode: z.int().nullable(),
      /** The owner's, else what ended the task. */
      summary: z.string().nullable(),
      /** Every state the task was in, in order. */
      states: z.array(z.string()),
    }),
  ),
  /** Counted in the parent's own Pi session: how often it was told of each watched task. */
  notifications: z.array(
    z.strictObject({ taskId: z.string(), status: z.string(), count: z.int() }),
  ),
  /** Where a scenario was asked for. */
  conversation: conversationSchema.optional(),
  elapsedMs: z.int(),
});
export type DemoReport = z.infer<typeof demoReportSchema>;

type Conversation = z.infer<typeof conversationSchema>;

/** What a session has come to, as its store has it. */
export type Outcome = Pick<DemoReport, 'agents' | 'tasks'> & Omit<Conversation, 'notices'>;

/** What the Shepherd was told, as its Pi session has it. */
export type Told = Pick<DemoReport, 'notifications'> & Pick<Conversation, 'notices'>;

/** Agents, tasks and what was said, as the store has them now. */
export function readOutcome(store: Store): Outcome {
  const agents = store.all('agent');
  const tasks = store.all('task');
  return {
    agents: agents.map(({ id, definition, label, state }) => ({
      id,
      agent: definition.name,
      label,
      state,
    })),
    tasks: tasks.map((task) => {
      const owner = agents.find((agent) => agent.id === task.agentId);
      return {
        taskId: task.id,
        agent: owner?.definition.name ?? '',
        label: owner?.label ?? '',
        status: task.state,
        returnCode: task.result?.returnCode ?? null,
        summary: task.result?.summary ?? task.result?.error ?? null,
        states: task.states.map(({ state }) => state),
      };
    }),
    requests: store.all('request').map(({ id, taskId, askerId, recipientId, question, state }) => ({
      requestId: id,
      taskId,
      from: nameOf(store, askerId),
      to: nameOf(store, recipientId),
      question,
      state,
    })),
    refusals: readRefusals(store).map(({ fromId, code, message }) => ({
      from: nameOf(store, fromId),
      code,
      message,
    })),
    lateEvents: tasks.flatMap(({ id, lateEvents }) =>
      lateEvents.map(({ fromId, kind, text }) => ({
        taskId: id,
        from: nameOf(store, fromId),
        kind,
        text,
      })),
    ),
  };
}

const completionSchema = z.object({
  results: z.array(z.object({ taskId: z.string(), status: z.string() })),
});

/** What the details of a completion say of each task. */
export function resultsOf(details: unknown) {
  return completionSchema.safeParse(details).data?.results ?? [];
}

const customMessageSchema = z.object({
  type: z.literal('custom_message'),
  customType: z.string(),
  content: z.string(),
  details: z.object({ code: z.string().optional() }).loose(),
});

/** Reads what a Pi session's own file says that its model was told. */
export function readTold(piSessionDir: string): Told {
  const messages = readdirSync(piSessionDir, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jsonl'))
    .flatMap((file) => readFileSync(join(piSessionDir, file), 'utf8').split('\n'))
    .flatMap((line) =>
      line === '' ? [] : (customMessageSchema.safeParse(JSON.parse(line)).data ?? []),
    );
  const of = (...kinds: readonly string[]) =>
    messages.filter(({ customType }) => kinds.includes(customType));

  const counts = new Map<string, { taskId: string; status: string; count: number }>();
  for (const { details } of of('shepherd.task.completion')) {
    for (const { taskId, status } of resultsOf(details)) {
      const known = counts.get(taskId) ?? { taskId, status, count: 0 };
      counts.set(taskId, { ...known, count: known.count + 1 });
    }
  }
  return {
    notifications: [...counts.values()],
    notices: of('shepherd.stale.wait', 'shepherd.stall', 'shepherd.notice').map(
      ({ customType, content, details }) => ({
        kind: customType,
        code: details.code ?? null,
        text: content,
      }),
    ),
  };
}

/** A run in a few words each, in no order of time: what it is compared by. */
export interface Outline {
  /** `scout: survey idle` */
  readonly agents: readonly string[];
  /** `scout: survey created running completed` */
  readonly tasks: readonly string[];
  /** The summary of each task. */
  readonly results: readonly string[];
  /** `scout: survey → planner: plan answered` */
  readonly questions: readonly string[];
  /** `planner: plan wait_cycle` */
  readonly refusals: readonly string[];
  /** `planner: plan reply` */
  readonly lateEvents: readonly string[];
  /** `shepherd.notice hop_limit` */
  readonly notices: readonly string[];
}

export function outlineOf({ agents, tasks, ...said }: Outcome & Told): Outline {
  const outline = {
    agents: agents.map(({ agent, label, state }) => `${agent}: ${label} ${state}`),
    tasks: tasks.map(({ agent, label, states }) => [`${agent}: ${label}`, ...states].join(' ')),
    results: tasks.map(({ summary }) => summary ?? ''),
    questions: said.requests.map(({ from, to, state }) => `${from} → ${to} ${state}`),
    refusals: said.refusals.map(({ from, code }) => `${from} ${code}`),
    lateEvents: said.lateEvents.map(({ from, kind }) => `${from} ${kind}`),
    notices: said.notices.map(({ kind, code }) => [kind, code ?? []].flat().join(' ')),
  };
  for (const list of Object.values(outline)) list.sort();
  return outline;
}

/** Where a finished run differs from what it must have led to. */
export function findFaults(
  { tasks, notifications }: Pick<DemoReport, 'tasks' | 'notifications'>,
  found: Outline,
  wanted: Partial<Outline>,
): readonly string[] {
  const lists = new Map<string, readonly string[]>(Object.entries(found));
  const faults = Object.entries(wanted).flatMap(([what, list]) => {
    const is = lists.get(what)?.join(', ') ?? '';
    const must = list.toSorted().join(', ');
    return is === must ? [] : [`${what}: ${is || 'none'}, not ${must || 'none'}`];
  });
  const counts = tasks.map(
    ({ taskId }) => notifications.find((told) => told.taskId === taskId)?.count ?? 0,
  );
  const wrong = counts.filter((count) => count !== 1);
  return [
    ...faults,
    ...wrong.map((count) => `the Shepherd was told ${count} times instead of once`),
  ];
}
