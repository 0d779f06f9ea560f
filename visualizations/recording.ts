/** A session that was played, as `record.ts` keeps it: what two of the pictures are made from. */
import { z } from 'zod';

export const recordingSchema = z.strictObject({
  /** In the order in which they began. */
  actors: z.array(
    z.strictObject({
      name: z.string(),
      machine: z.enum(['session', 'agent', 'task', 'request', 'prompt', 'watcher']),
      under: z.string().nullable(),
    }),
  ),
  steps: z.array(
    z.strictObject({
      /** Since the first step. */
      atMs: z.number(),
      mails: z.array(
        z.strictObject({
          kind: z.string(),
          from: z.string(),
          to: z.string(),
          asks: z.literal(true).optional(),
          code: z.string().optional(),
        }),
      ),
      /** States that tasks entered, by the chart's ids. */
      states: z.array(z.strictObject({ task: z.string(), state: z.string() })),
    }),
  ),
});
export type Recording = z.infer<typeof recordingSchema>;
