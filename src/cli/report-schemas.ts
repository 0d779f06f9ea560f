/** The shapes of `src/runtime/shepherd.ts` as schemas, for what the commands print with `--json`. */
import { z } from 'zod';

const instant = z.number();

const terminalStates = ['completed', 'blocked', 'failed', 'cancelled', 'timed_out'] as const;
const taskStateSchema = z.enum(['created', 'running', 'waiting', ...terminalStates]);

const taskResultSchema = z.strictObject({
  taskId: z.string(),
  agentId: z.string(),
  status: z.enum(terminalStates),
  ok: z.boolean(),
  returnCode: z.literal([0, 1, 2, 124, 130]),
  summary: z.string().optional(),
  text: z.string().optional(),
  error: z.string().optional(),
  override: z.string().optional(),
  lateEvents: z
    .array(
      z.strictObject({
        kind: z.enum(['task_done', 'reply']),
        atMs: instant,
        fromId: z.string(),
        text: z.string(),
      }),
    )
    .readonly(),
  evidence: z.strictObject({
    turns: z.int(),
    toolCalls: z.int(),
    lastActivityAtMs: instant.nullable(),
  }),
  attempts: z.array(z.strictObject({ launch: z.int(), startedAtMs: instant })).readonly(),
  settledAtMs: instant,
});

/** `TaskStatus` */
export const taskStatusSchema = z.strictObject({
  id: z.string(),
  agentId: z.string(),
  state: taskStateSchema,
  description: z.string(),
  states: z.array(z.strictObject({ state: taskStateSchema, atMs: instant })).readonly(),
  queuePosition: z.int().optional(),
  waitingMs: z.number().optional(),
  pendingRequest: z.string().optional(),
  waitingOn: z.string().optional(),
  stale: z.boolean().optional(),
  note: z.string().optional(),
  requests: z
    .array(
      z.strictObject({
        requestId: z.string(),
        askerId: z.string(),
        recipientId: z.string(),
        recipientName: z.string(),
        question: z.string(),
        openedAtMs: instant,
        deadlineAtMs: instant,
        state: z.enum(['open', 'answered', 'expired', 'recipient_gone', 'cancelled']),
      }),
    )
    .readonly(),
  result: taskResultSchema.optional(),
});

/** `AgentStatus` */
export const agentStatusSchema = z.strictObject({
  id: z.string(),
  agent: z.string(),
  label: z.string(),
  state: z.enum([
    'starting',
    'idle',
    'working',
    'blocked',
    'closing',
    'closed',
    'failed',
    'lost',
    'unknown',
  ]),
  model: z.string().nullable(),
  createdAtMs: z.number(),
  task: taskStatusSchema.optional(),
  queue: z.array(z.string()).readonly().optional(),
  stalledMs: z.number().optional(),
  host: z.string().optional(),
  launch: z.int().optional(),
  error: z.string().optional(),
});

/** `MessageStatus` */
export const messageStatusSchema = z.strictObject({
  messageId: z.string(),
  kind: z.enum(['message', 'reply', 'task']),
  fromId: z.string(),
  toId: z.string(),
  fromName: z.string(),
  toName: z.string(),
  taskId: z.string().optional(),
  atMs: instant,
  receipt: z.enum(['queued', 'delivered', 'seen', 'answered', 'dead']),
  error: z.string().optional(),
});
