/** The Pi extension of the Shepherd. A child never gets it, whatever packages its user installed. */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { isChildProcess } from './child/identity.ts';
import { createHerdPolicy } from './open-shepherd.ts';
import { registerParent } from './parent/session.ts';

export default function parentExtension(pi: ExtensionAPI): void {
  if (!isChildProcess()) registerParent(pi, createHerdPolicy());
}
