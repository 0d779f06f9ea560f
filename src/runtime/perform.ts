/** Does the effects of a session: the only place where a step's decisions reach the outside. */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { HostError, ShepherdError } from '../errors.ts';
import type { AgentHost, PlaceRef } from '../hosts/host.ts';
import type { WithoutMac } from '../mailbox/capability.ts';
import type { EnvelopeOf } from '../mailbox/envelope.ts';
import type { Incarnation } from '../mailbox/layout.ts';
import type { Mailbox } from '../mailbox/mailbox.ts';
import { remove } from 'fs-extra/esm';
import { createNoteFiles } from '../notes/note-files.ts';
import { appendStallLine } from '../stall/log.ts';
import { performNote } from './fieldnotes.ts';
import { launchDirOf, openBoxes, prepareLaunch, type MakeChildCommand } from './launcher.ts';
import type { EffectOutcome } from './effect-outcome.ts';
import type { Effect } from './records.ts';
import type { SessionDir } from './session-dir.ts';
import type { Notice } from './shepherd.ts';
import { lookAtChild } from './stall-look.ts';
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

/** How long a stalled child is waited for to take the abort of its turn. */
const interruptGraceMs = 2_000;

/** As an envelope's JSON has it; what else is in an envelope leaves this much room. */
const maxNotePathBytes = 1_000;

/** Creates the performer; what it returns or rejects with becomes the effect's outcome. */
export function createPerformer(ports: PerformPorts) {
  const { store, mailbox, host, sessionDir } = ports;
  // Rises over restarts too: a recipient sees a gap, never a repeat.
  let seq = Date.now();
  const noteFiles = createNoteFiles({ dir: sessionDir.notesDir });

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

  /** A wedged child hears no message: its turn is aborted, and then its process ended. */
  async function bail(agentId: string): Promise<EffectOutcome> {
    const { place } = agentOf(agentId);
    if (place === undefined) return { ok: true, closed: 'unconfirmed' };
    // One that does not take it is ended all the same.
    await Promise.race([host.interrupt(place).catch(() => undefined), wait(interruptGraceMs)]);
    return { ok: true, closed: await host.close(place, { graceMs: closeGraceMs }) };
  }

  /** Where the note of a task lies, if there is one; a path that would crowd the envelope is not told. */
  function notePathOf(taskId: string): string | undefined {
    const note = store.get('note', taskId)?.file ?? undefined;
    if (note === undefined) return undefined;
    const path = join(sessionDir.notesDir, note);
    return Buffer.byteLength(JSON.stringify(path)) > maxNotePathBytes ? undefined : path;
  }

  function publish({
    draft,
    agentId,
    launch,
    ...effect
  }: Extract<Effect, { type: 'publish' }>): void {
    const agent = agentOf(agentId);
    const to = { agentId, launch: launch ?? agent.launch };
    // Its launch makes them, and may be still to come.
    if (agent.place === undefined && to.launch === agent.launch) {
      openBoxes({ agent, mailbox, launchDir: launchDirOf(sessionDir, agentId, to.launch) });
    }
    const head = {
      v: 1,
      sessionId: sessionDir.sessionId,
      brokerId: sessionDir.brokerId,
      messageId: effect.messageId,
      senderId: effect.senderId,
      createdAt: effect.createdAtMs,
      seq: (seq += 1),
      hops: effect.hops,
    } as const;
    if (draft.kind !== 'task') {
      mailbox.send(to, { ...draft, ...head });
      return;
    }
    const task = store.get('task', draft.taskId);
    if (draft.attachment !== undefined && task !== undefined) {
      mailbox.attach(to, draft.attachment, task.description);
    }
    const notePath = notePathOf(draft.taskId);
    if (notePath === undefined) mailbox.send(to, { ...draft, ...head });
    else sendWithNote(to, { ...draft, ...head }, notePath);
  }

  /** What was sent without its note before a crash has been sent: the note came later (FN4). */
  function sendWithNote(
    to: Incarnation,
    envelope: WithoutMac<EnvelopeOf<'task'>>,
    notePath: string,
  ): void {
    try {
      mailbox.send(to, { ...envelope, notePath });
    } catch (error) {
      if (!ShepherdError.is(error) || error.code !== 'duplicate_conflict') throw error;
      mailbox.send(to, envelope);
    }
  }

  return function perform(
    effect: Exclude<Effect, { type: 'retire' }>,
  ): EffectOutcome | Promise<EffectOutcome> {
    switch (effect.type) {
      case 'launch': {
        const agent = agentOf(effect.agentId);
        const inTerminal = host.hasTerminal ?? false;
        const launch = prepareLaunch({ ...ports, agent, inTerminal });
        return host.open(launch).then((place) => ({ ok: true, place }));
      }
      case 'end':
        return end(effect.agentId);
      case 'look': {
        const { place, cwd } = agentOf(effect.agentId);
        return lookAtChild(host, { place, cwd }).then((look) => ({ ok: true, look }));
      }
      case 'bail':
        return bail(effect.agentId);
      case 'empty':
        mailbox.empty({ agentId: effect.agentId, launch: effect.launch });
        return { ok: true };
      case 'log':
        return appendStallLine(join(sessionDir.dir, 'stalls.jsonl'), effect.line).then(() => ({
          ok: true,
        }));
      case 'interrupt':
        return host.interrupt(placeOf(effect.agentId)).then(() => ({ ok: true }));
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
      case 'publish':
        publish(effect);
        return { ok: true };
      case 'note': {
        const { taskId, isAgain = false } = effect;
        return performNote({ reader: store, files: noteFiles }, { taskId, mayHave: isAgain });
      }
      case 'notify': {
        const record = store.get('notice', effect.noticeId);
        if (record === undefined || isOutdated(record.notice)) return { ok: true };
        return ports.notify(record.notice).then(() => ({ ok: true }));
      }
    }
  };
}
