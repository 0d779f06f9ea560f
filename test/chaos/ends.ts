/** How each scene has to end, said in advance: a truth that is wrong itself would prove nothing. */
import { lastWords } from './order.ts';
import type { End, Mode } from './scene.ts';

const consulted = { consult: 'completed', 'agent one': 'lives', 'agent two': 'lives' };

export const ends: Readonly<Record<Mode, End>> = {
  task_deadline: {
    ...consulted,
    nothing: 'timed_out task_deadline: the task did not settle in time.',
  },
  reply_deadline: {
    write: 'completed',
    ask: 'blocked reply_deadline: scout: one did not answer "ignore me" in time.',
    'agent one': 'lives',
    'agent two': 'lives',
    'agent three': 'lives',
  },
  instants: {
    early: 'completed',
    late: 'blocked reply_deadline: scout: two did not answer "late" in time., late reply',
    'agent one': 'lives',
    'agent two': 'lives',
    'agent three': 'lives',
  },
  child_death: {
    ...consulted,
    die: `failed agent_lost: the process was ended by SIGKILL:\n${lastWords}`,
    'agent three': 'lost',
  },
  stale_wait: { patient: 'completed', 'agent two': 'lives', 'agent three': 'lives' },
  closed_agent: {
    ...consulted,
    sleep: 'cancelled agent_closed: scout: four was closed., late task_done',
    'agent four': 'closed',
    files: '2 mailboxes, 2 launches',
  },
};
