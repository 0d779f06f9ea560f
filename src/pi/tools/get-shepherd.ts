import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import type { Shepherd } from '../../runtime/shepherd.ts';

/** The runtime of the Pi session that a tool was called in; opened by the first call. */
export type GetShepherd = (ctx: ExtensionContext) => Promise<Shepherd>;
