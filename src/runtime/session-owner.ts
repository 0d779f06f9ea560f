/** Who has a session, as its store says. */
import type { OwnerIdentity } from '../hosts/owner.ts';

/** `parked`: let go of with its children running, for whoever opens it with the same key. */
export type OwnerState = 'held' | 'parked' | 'released';

export interface SessionOwner {
  /** Changes with every take and release; what a swap compares. */
  readonly token: string;
  readonly state: OwnerState;
  readonly identity: OwnerIdentity;
  /** Finds the session again: Pi's session id, or a name. */
  readonly key: string;
  /** Its Pi session has a file: it can be opened again, and this session with it. */
  readonly canReturn: boolean;
  /** A command of the CLI, which has it for a moment. */
  readonly isCommand?: true;
  readonly atMs: number;
}
