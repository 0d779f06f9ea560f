/** What an actor's id and context say of its place in the supervision tree (CONTRACT §2). */
import { SHEPHERD_ID } from '../ids.ts';
import type { MachineName } from './report.ts';

/** Every id says what it belongs to; a request has that of its question. */
export function machineOf(actorId: string): MachineName {
  const kind = /^shepherd-(agent|task|prompt|watch)-/.exec(actorId)?.[1];
  switch (kind) {
    case 'agent':
    case 'task':
    case 'prompt':
      return kind;
    case 'watch':
      return 'watcher';
    case undefined:
    default:
      return actorId === 'session' ? 'session' : 'request';
  }
}

/** What it hangs under; null for the session. */
export function underOf(machine: MachineName, context: unknown): string | null {
  const at = (field: string): string | undefined => {
    const found = new Map<string, unknown>(Object.entries(context ?? {})).get(field);
    return typeof found === 'string' ? found : undefined;
  };
  switch (machine) {
    case 'session':
      return null;
    case 'agent':
    case 'watcher':
      return 'session';
    case 'task':
    case 'prompt':
      return at('agentId') ?? 'session';
    case 'request': {
      const asker = at('askerId');
      return at('taskId') ?? (asker === undefined || asker === SHEPHERD_ID ? 'session' : asker);
    }
  }
}
