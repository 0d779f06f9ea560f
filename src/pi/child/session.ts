/** A child's side of the herd: its mailbox while a Pi session is open, its tools and its reports. */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { describeError } from '../../errors.ts';
import { createIdMaker, SHEPHERD_ID } from '../../ids.ts';
import type { Identity } from '../../mailbox/capability.ts';
import { createChildMailbox, type ChildMailbox } from '../../mailbox/child-mailbox.ts';
import { registerDelivery } from '../delivery-hooks.ts';
import { createDoneTool } from './done-tool.ts';
import { registerHerdrState } from './herdr-state.ts';
import { createChildInbox } from './inbox.ts';
import { createMessageTool } from './message-tool.ts';
import { registerReports } from './reports.ts';
import { createRosterTool } from './roster-tool.ts';
import { createWork } from './work.ts';

/** Registers everything that makes a Pi session the child with this identity. */
export function registerChild(pi: ExtensionAPI, identity: Identity): void {
  const now = Date.now;
  const ids = createIdMaker();
  const { limits } = identity;
  const work = createWork(now);
  let opened: ChildMailbox | undefined;
  const mailbox = (): ChildMailbox | undefined => opened;

  const delivery = registerDelivery(pi);
  registerReports(pi, { work, mailbox, limits, now });
  registerHerdrState(pi);
  pi.registerTool(createMessageTool({ mailbox, work }));
  pi.registerTool(createDoneTool({ mailbox, work, limits }));
  pi.registerTool(createRosterTool({ mailbox }));

  pi.on('session_start', (_event, ctx) => {
    opened?.dispose();
    const report = (error: unknown): void => {
      // What fails once the session is over is repeated by the next one.
      if (opened === box) ctx.ui.notify(describeError(error), 'error');
    };
    const box = createChildMailbox(identity, { now, ids, onTrouble: report });
    opened = box;
    const sessionFile = ctx.sessionManager.getSessionFile();
    // The first of all: it is what makes this agent ready.
    box.send({
      kind: 'hello',
      targetId: SHEPHERD_ID,
      pid: process.pid,
      tools: pi.getActiveTools(),
      ...(sessionFile === undefined ? {} : { sessionFile }),
    });
    box.receive(
      createChildInbox({
        mailbox: box,
        delivery,
        work,
        canRead: () => pi.getActiveTools().includes('read'),
        abort: () => ctx.abort(),
        report,
      }),
    );
  });
  pi.on('session_shutdown', () => {
    opened?.dispose();
    opened = undefined;
  });
}
