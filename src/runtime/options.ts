/**
 * What the calls of a session take, for callers that no compiler has checked: a model’s tool call, a
 * program in JavaScript.
 *
 * Only shapes are looked at here. What a value means (a blank task, a timeout of 0) is refused where
 * it is used, with a code of its own.
 */
import { z } from 'zod';
import { ConfigError } from '../errors.ts';
import { excerpt } from './router.ts';

/** Also NaN and Infinity, which are refused as the lengths of time that they are not. */
const number = z.custom<number>((value) => typeof value === 'number', 'takes a number');
const count = z.int().min(1);
const text = z.string();

export const spawnOptions = z.strictObject({
  agent: text,
  label: text,
  placement: z.enum(['pane_right', 'pane_down', 'tab', 'workspace']).optional(),
  cwd: text.optional(),
});

export const delegateOptions = z.strictObject({
  target: text,
  task: text,
  timeoutMs: number.optional(),
  queue: z.boolean().optional(),
  idempotencyKey: text.optional(),
});

export const messageOptions = z.strictObject({
  target: text,
  message: text,
  taskId: text.optional(),
  threadId: text.optional(),
  replyTo: text.optional(),
  expectsReply: z.boolean().optional(),
  delivery: z.enum(['followUp', 'steer']).optional(),
});

export const promptOptions = z.strictObject({ target: text, message: text });

/** `watch(ids)`; that each comes once is for the watch to say. */
export const watchOptions = z.object({
  ids: z.union([text, z.array(text)], 'takes a task id or an array of them'),
});

/** `cancel(id, reason?)`. */
export const cancelOptions = z.object({ id: text, reason: text.optional() });

/** `read(target, { lines? })`. */
export const readOptions = z.strictObject({ target: text, lines: count.optional() });

/** `messages(of?, { limit? })`. */
export const messagesOptions = z.strictObject({ of: text.optional(), limit: count.optional() });

/** Calls that take an agent and nothing else. */
export const targetOptions = z.object({ target: text });

/** Calls that take a task and nothing else. */
export const taskOptions = z.object({ taskId: text });

/**
 * Returns what a call was given, once it has the right shape.
 *
 * @param call its name, as its caller wrote it.
 * @throws ConfigError `invalid_argument` that names each wrong field and what it takes.
 */
export function parseOptions<Schema extends z.ZodType>(
  call: string,
  schema: Schema,
  given: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const fields = issues.flatMap(({ path }) => (path.length === 0 ? [] : [path.join('.')]));
  const reasons = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  throw new ConfigError(
    'invalid_argument',
    `${call} was called wrongly. ${excerpt(reasons.join('; '), 500)}.`,
    { cause: parsed.error, data: { fields } },
  );
}
