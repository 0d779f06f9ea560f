/** What `sheepfold doctor --json` prints: the schema is the contract of that document. */
import { z } from 'zod';

const checkSchema = z.strictObject({
  about: z.enum([
    'node',
    'sqlite',
    'pi',
    'host',
    'tmux',
    'herdr',
    'state_dir',
    'agent_dir',
    'settings',
    'sessions',
  ]),
  /** `warn`: works, but not as one may think; `fail`: Sheepfold does not work like this. */
  status: z.enum(['ok', 'warn', 'fail']),
  message: z.string(),
  /** One line that says what to do; null where nothing has to be done. */
  fix: z.string().nullable(),
  /** The settings file at fault, its key, and what that key accepts. */
  file: z.string().optional(),
  key: z.string().optional(),
  accepted: z.string().optional(),
  /** Name of the session that it is about. */
  session: z.string().optional(),
});
export type Check = Readonly<z.infer<typeof checkSchema>>;

export const doctorReportSchema = z.strictObject({
  /** No check failed; the exit code is 0. */
  ok: z.boolean(),
  /** Version of Sheepfold. */
  version: z.string(),
  projectDir: z.string(),
  stateDir: z.string(),
  /** Pi's own directory of the user. */
  agentDir: z.string(),
  /** In the order of what needs what; several may be about one thing. */
  checks: z.array(checkSchema),
});
export type DoctorReport = z.infer<typeof doctorReportSchema>;
