/** Makes a Pi session the Shepherd: its tools, its command, its notices, and its herd from start to end. */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { registerNoticeRenderers } from '../render/notice.ts';
import { registerToolCallRenderer } from '../render/tool-call.ts';
import { createParentTools } from '../tools/parent-tools.ts';
import { registerShepherdCommand } from './commands/command.ts';
import { createSessionHerd, type HerdPolicy } from './herd-of-session.ts';
import { registerNotices } from './notices.ts';

/** Registers all of it; nothing is opened before Pi's `session_start`. */
export function registerParent(pi: ExtensionAPI, policy: HerdPolicy): void {
  const notices = registerNotices(pi);
  const herd = createSessionHerd(pi, { policy, notices });
  const tools = createParentTools((ctx) => herd.open(ctx));
  for (const tool of tools) pi.registerTool(tool);
  registerToolCallRenderer(pi, tools);
  registerNoticeRenderers(pi);
  registerShepherdCommand(pi, { herd, policy });

  pi.on('session_start', (_event, ctx) => {
    herd.begin(ctx);
    notices.repeatUnanswered(ctx);
  });
  pi.on('session_shutdown', ({ reason }, ctx) => herd.end(ctx, reason));
}
