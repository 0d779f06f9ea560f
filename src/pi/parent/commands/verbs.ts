/** Every verb of `/shepherd`, in the order in which its usage names them. */
import { cancel, close, interrupt, prune, spawn } from './acting.ts';
import { adopt } from './adopt.ts';
import { agents, herdVerb, inspect, read, status } from './looking.ts';
import { settings } from './settings.ts';
import type { Verb } from './verb.ts';

export const verbs: readonly Verb[] = [
  agents,
  herdVerb,
  spawn,
  status,
  read,
  close,
  cancel,
  interrupt,
  adopt,
  prune,
  inspect,
  settings,
];
