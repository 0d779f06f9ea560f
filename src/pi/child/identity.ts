/**
 * Which agent this process is: taken from the environment once, kept for reloads in this process.
 *
 * Pi loads extension modules more than once, so the identity is kept on `globalThis` and not in a
 * module.
 */
import { readIdentity, type Identity } from '../../mailbox/capability.ts';

/** Names the path of the identity file, in the environment of a child. */
const identityVariable = 'SHEEPFOLD_CHILD';

const kept = Symbol.for('sheepfold.child');
/** Set before the file is read: a child whose identity is broken still gets no parent tool. */
const marked = Symbol.for('sheepfold.child.process');

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this file writes the property
const keeper = globalThis as { [kept]?: Identity; [marked]?: true };

/**
 * Takes this process's identity; undefined in a process that is no child.
 *
 * Deletes the variable: a `pi` that a shell of this child starts must not read the same inbox.
 *
 * @throws MailboxError `broker_unavailable`, `invalid_capability`.
 */
export function takeIdentity(): Identity | undefined {
  const path = process.env[identityVariable];
  delete process.env[identityVariable];
  if (path !== undefined && path !== '') {
    keeper[marked] = true;
    keeper[kept] = readIdentity(path);
  }
  return keeper[kept];
}

/** Whether this process is a child, whichever of our extensions is loaded first. */
export function isChildProcess(): boolean {
  return keeper[marked] === true || (process.env[identityVariable] ?? '') !== '';
}
