/**
 * The Shepherd's Pi extension for scenarios that cannot take minutes: the product's own, with a session
 * whose numbers are the scenario's.
 *
 * A process of its own loads it, which is told those numbers by its environment.
 */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { registerParent } from '../../pi/parent/session.ts';
import { createShepherd } from '../../runtime/create-shepherd.ts';
import { policyVariable } from './scenario.ts';

const policySchema = z.record(z.string(), z.union([z.number(), z.string()]));

export default function demoExtension(pi: ExtensionAPI): void {
  const policy = policySchema.parse(JSON.parse(process.env[policyVariable] ?? '{}'));
  registerParent(pi, {
    open: ({ ctx, sessionName, adopt, notify }) =>
      createShepherd({
        cwd: ctx.cwd,
        sessionKey: ctx.sessionManager.getSessionId(),
        sessionName,
        adopt,
        notify,
        model: () => (ctx.model === undefined ? null : `${ctx.model.provider}/${ctx.model.id}`),
        policy,
      }),
  });
}
