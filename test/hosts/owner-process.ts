/** A process that does nothing but live: the owner of a session in tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describeSelf, type OwnerIdentity } from '../../src/hosts/owner.ts';
import { identify } from '../../src/hosts/processes.ts';

export interface OwnerProcess {
  readonly identity: OwnerIdentity;
  /** SIGKILL; resolves when it is gone, also when it had gone before. */
  kill(): Promise<void>;
}

export async function startOwner(): Promise<OwnerProcess> {
  const owner = spawn('sleep', ['120'], { stdio: 'ignore' });
  const exited = once(owner, 'exit');
  await once(owner, 'spawn');
  const { pid = 0 } = owner;
  return {
    identity: { ...(await describeSelf()), ...(await identify(pid)) },
    async kill() {
      owner.kill('SIGKILL');
      await exited;
    },
  };
}
