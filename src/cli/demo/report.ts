/** What `sheepfold demo --json` prints: the schema is the contract of that document. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Store } from '../../runtime/store.ts';

export const demoReportSchema = z.strictObject({
  /** The flow ended as it must. */
  ok: z.boolean(),
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
      summary: z.string().nullable(),
      /** Every state the task was in, in order. */
      states: z.array(z.string()),
    }),
  ),
  /** Counted in the parent's own Pi session: how often it was told of each watched task. */
  notifications: z.array(
    z.strictObject({ taskId: z.string(), status: z.string(), count: z.int() }),
  ),
  elapsedMs: z.int(),
});
export type DemoReport = z.infer<typeof demoReportSchema>;

/** Agents and tasks of a session as its store has them now. */
export function readOutcome(store: Store): Pick<DemoReport, 'agents' | 'tasks'> {
  const agents = store.all('agent');
  return {
    agents: agents.map(({ id, definition, label, state }) => ({
      id,
      agent: definition.name,
      label,
      state,
    })),
    tasks: store.all('task').map((task) => {
      const owner = agents.find((agent) => agent.id === task.agentId);
      return {
        taskId: task.id,
        agent: owner?.definition.name ?? '',
        label: owner?.label ?? '',
        status: task.state,
        returnCode: task.result?.returnCode ?? null,
        summary: task.result?.summary ?? null,
        states: task.states.map(({ state }) => state),
      };
    }),
  };
}

const completionSchema = z.object({
  type: z.literal('custom_message'),
  customType: z.literal('shepherd.task.completion'),
  details: z.object({
    results: z.array(z.object({ taskId: z.string(), status: z.string() })),
  }),
});

/** Counts the completions in a Pi session's own file, by task. */
export function countNotifications(piSessionDir: string): DemoReport['notifications'] {
  const counts = new Map<string, { taskId: string; status: string; count: number }>();
  for (const file of readdirSync(piSessionDir, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.jsonl')) continue;
    for (const line of readFileSync(join(piSessionDir, file), 'utf8').split('\n')) {
      if (line === '') continue;
      const entry = completionSchema.safeParse(JSON.parse(line));
      for (const { taskId, status } of entry.data?.details.results ?? []) {
        const known = counts.get(taskId) ?? { taskId, status, count: 0 };
        counts.set(taskId, { ...known, count: known.count + 1 });
      }
    }
  }
  return [...counts.values()];
}

const canonicalStates = ['created', 'running', 'waiting', 'running', 'completed'].join(' ');

/** What is wrong with a finished run; empty when the flow ended as it must. */
export function findFaults(report: Omit<DemoReport, 'ok'>): readonly string[] {
  const faults: string[] = [];
  const [task] = report.tasks;
  if (report.agents.length !== 2) faults.push(`${report.agents.length} agents instead of two`);
  if (task === undefined || report.tasks.length > 1) {
    faults.push(`${report.tasks.length} tasks instead of one`);
    return faults;
  }
  const states = task.states.join(' ');
  if (states !== canonicalStates) faults.push(`the task was ${states}, not ${canonicalStates}`);
  const count = report.notifications.find(({ taskId }) => taskId === task.taskId)?.count ?? 0;
  if (count !== 1) faults.push(`the Shepherd was told ${count} times instead of once`);
  return faults;
}
