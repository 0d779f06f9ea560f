/** Does the effects of a session: the only place where a step's decisions reach the outside. */
import { HostError } from '../errors.ts';
import type { AgentHost, PlaceRef } from '../hosts/host.ts';
import type { Mailbox } from '../mailbox/mailbox.ts';
import { remove } from 'fs-extra/esm';
import { launchDirOf, prepareLaunch, type MakeChildCommand } from './launcher.ts';
import type { EffectOutcome } from './outcomes.ts';
import type { Effect } from './records.ts';
import type { SessionDir } from './session-dir.ts';
import type { Notice } from './shepherd.ts';
import type { Store } from './store.ts';

export interface PerformPorts {
  readonly store: Store;
  readonly mailbox: Mailbox;
  readonly host: AgentHost;
  readonly sessionDir: SessionDir;
  readonly makeCommand: MakeChildCommand;
  readonly orphanGraceMs: number;
  /** Resolves once the parent's session has the notice. */
  readonly notify: (notice: Notice) => Promise<void>;
}

/** How long a child may take to end by itself before its process group is killed. */
const closeGraceMs = 3_000;

/** Creates the performer; what it returns or rejects with becomes the effect's outcome. */
export function createPerformer(ports: PerformPorts) {
  const { store, mailbox, host, sessionDir } = ports;
  // Rises over restarts too: a recipient sees a gap, never a repeat.
  let seq = Date.now();

  function agentOf(agentId: string) {
    const agent = store.get('agent', agentId);
    if (agent === undefined) throw new HostError('not_found', `There is no agent ${agentId}.`);
    return agent;
  }

  function placeOf(agentId: string): PlaceRef {
    const { place } = agentOf(agentId);
    if (place === undefined) throw new HostError('not_found', `${agentId} has no place.`);
    return place;
  }

  /** A reminder of a wait that has ended meanwhile is dropped. */
  function isOutdated({ kind, details }: Notice): boolean {
    if (kind !== 'shepherd.stale.wait') return false;
    return store.get('request', String(details['requestMessageId']))?.state !== 'open';
  }

  async function end(agentId: string): Promise<EffectOutcome> {
    const { place } = agentOf(agentId);
    if (place === undefined) return { ok: true, closed: 'already_gone' };
    return { ok: true, closed: await host.close(place, { graceMs: closeGraceMs }) };
  }

  return function perform(effect: Effect): EffectOutcome | Promise<EffectOutcome> {
    switch (effect.type) {
      case 'launch': {
        const agent = agentOf(effect.agentId);
        const launch = prepareLaunch({ ...ports, agent });
        return host.open(launch).then((place) => ({ ok: true, place }));
      }
      case 'end':
        return end(effect.agentId);
      case 'interrupt':
        return host.interrupt(placeOf(effect.agentId)).then(() => ({ ok: true }));
      case 'retire': {
        const agent = agentOf(effect.agentId);
        mailbox.fence({ agentId: agent.id, launch: agent.launch });
        return { ok: true };
      }
      case 'remove':
        mailbox.remove({ agentId: effect.agentId, launch: effect.launch });
        return remove(launchDirOf(sessionDir, effect.agentId, effect.launch)).then(() => ({
          ok: true,
        }));
      case 'detach': {
        const { agentId, launch, file } = effect;
        mailbox.detach({ agentId, launch }, { file });
        return { ok: true };
      }
      case 'publish': {
        const { draft } = effect;
        const to = { agentId: effect.agentId, launch: agentOf(effect.agentId).launch };
        if (draft.kind === 'task' && draft.attachment !== undefined) {
          const task = store.get('task', draft.taskId);
          if (task !== undefined) mailbox.attach(to, draft.attachment, task.description);
        }
        mailbox.send(to, {
          ...draft,
          v: 1,
          sessionId: sessionDir.sessionId,
          brokerId: sessionDir.brokerId,
          messageId: effect.messageId,
          senderId: effect.senderId,
          createdAt: effect.createdAtMs,
          seq: (seq += 1),
          hops: effect.hops,
        });
        return { ok: true };
      }
      case 'notify': {
        const record = store.get('notice', effect.noticeId);
        if (record === undefined || isOutdated(record.notice)) return { ok: true };
        return ports.notify(record.notice).then(() => ({ ok: true }));
      }
    }
  };
}
