/**
 * The boxes of this session's incarnations: which are open, which are closed for good.
 *
 * BX1. What a replaced incarnation still says is refused, and for that it has to be heard.
 * BX2. An outbox is closed only once it is read to its end.
 */
import { isDiskError, ShepherdError } from '../errors.ts';
import type { Envelope } from '../mailbox/envelope.ts';
import type { Incarnation } from '../mailbox/layout.ts';
import type { Mailbox } from '../mailbox/mailbox.ts';
import { openBoxes } from './launcher.ts';
import type { EffectOutcome } from './effect-outcome.ts';
import type { AgentRecord, Effect } from './records.ts';
import type { Store } from './store.ts';

export type RetireEffect = Extract<Effect, { type: 'retire' }>;
type BailEffect = Extract<Effect, { type: 'bail' }>;

/** Whether an incarnation has ended with this effect, so that its outbox can be read to its end. */
export function isOver(
  effect: Effect,
  outcome: EffectOutcome,
): effect is RetireEffect | BailEffect {
  if (effect.type === 'retire') return true;
  return effect.type === 'bail' && outcome.ok && outcome.closed !== 'unconfirmed';
}

/** A launch id is `<agent id>.<launch>`. */
export function incarnationOf(launchId: string): Incarnation {
  const dot = launchId.lastIndexOf('.');
  return { agentId: launchId.slice(0, dot), launch: Number(launchId.slice(dot + 1)) };
}

export interface SessionBoxes {
  /** How much the living incarnation of an agent has not acked. */
  depth(agentId: string): number;
  /** Opens those of an agent that lives, and of its replaced incarnations. */
  reopen(agent: AgentRecord): void;
  /** Opens those of an agent that has ended and is not retired: they may hold mail that nobody has read. */
  reopenEnded(agent: AgentRecord): void;
  /**
   * Closes those of an incarnation that is over, its outbox being read; returns what it has not read itself,
   * or undefined when the disk has to be tried again.
   */
  close(effect: RetireEffect | BailEffect): readonly Envelope[] | undefined;
}

export function createSessionBoxes({
  store,
  mailbox,
}: {
  readonly store: Store;
  readonly mailbox: Mailbox;
}): SessionBoxes {
  const incarnation = (agentId: string): Incarnation | undefined => {
    const launch = store.get('agent', agentId)?.launch;
    return launch === undefined ? undefined : { agentId, launch };
  };

  return {
    depth(agentId) {
      const to = incarnation(agentId);
      return to === undefined ? 0 : ifMade(() => mailbox.depth(to), 0);
    },
    reopen(agent) {
      const { place, superseded = [] } = agent;
      if (place !== undefined) openBoxes({ agent, mailbox, launchDir: place.launchDir });
      for (const { launch, secret, launchDir } of superseded) {
        if (launchDir === undefined) continue;
        openBoxes({ agent: { ...agent, launch, secret }, mailbox, launchDir });
      }
    },
    reopenEnded({ id, launch, secret, label, definition }) {
      mailbox.open({ agentId: id, launch }, { secret, label, agent: definition.name });
    },
    close(effect) {
      const from = incarnation(effect.agentId);
      if (from === undefined) return [];
      if (effect.type === 'retire') {
        const { superseded = [] } = store.get('agent', from.agentId) ?? {};
        for (const { launch } of [...superseded, from]) {
          mailbox.fence({ agentId: from.agentId, launch });
        }
      }
      try {
        return ifMade(() => mailbox.unacked(from), []);
      } catch (error) {
        if (isDiskError(error)) return undefined;
        throw error;
      }
    },
  };
}

/** Boxes are made by a launch; before it nothing lies there. */
function ifMade<T>(read: () => T, nothing: T): T {
  try {
    return read();
  } catch (error) {
    if (ShepherdError.is(error) && error.code === 'invalid_target') return nothing;
    throw error;
  }
}
