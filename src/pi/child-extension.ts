/** The Pi extension of a child agent; the launch loads it with `-e`. Does nothing elsewhere. */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { takeIdentity } from './child/identity.ts';
import { registerChild } from './child/session.ts';

export default function childExtension(pi: ExtensionAPI): void {
  const identity = takeIdentity();
  if (identity !== undefined) registerChild(pi, identity);
}
