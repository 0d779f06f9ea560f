/**
 * Times at which the host was away: asleep, stopped, overloaded, or its clock was set.
 *
 * AB1. It is looked for with each sweep of the mailbox, so about once a second while all is well.
 * AB2. Nothing is killed because of it and no deadline moves; silence and waiting begin anew.
 */
import type { Frame } from './herd.ts';
import { sendPassiveNotice } from './notices.ts';

/** A look that comes so much too late, or a clock that moves so far, is no everyday delay. */
const noticedFromMs = 30_000;

/** Positive: time that passed unseen; negative: the clock was set back. */
export interface Absence {
  readonly forMs: number;
}

export interface AbsenceWatch {
  /** Returns what happened since the look before. */
  look(): Absence | undefined;
  /** It could not be kept: the next look returns it again. */
  again(absence: Absence): void;
}

/** @param clocks `wall` in epoch ms; without `monotonic` nothing is ever noticed. */
export function watchForAbsence(clocks: {
  readonly wall: () => number;
  readonly monotonic: (() => number) | undefined;
}): AbsenceWatch {
  const { wall, monotonic } = clocks;
  let lastWallMs = wall();
  let lastMs = monotonic?.() ?? 0;
  let untold: Absence | undefined;

  return {
    look() {
      if (monotonic === undefined) return undefined;
      const wallMs = wall();
      const nowMs = monotonic();
      // A sleep stops the one and not the other; a stopped or overloaded process is late by both.
      const slept = wallMs - lastWallMs - (nowMs - lastMs);
      const late = nowMs - lastMs;
      lastWallMs = wallMs;
      lastMs = nowMs;
      const found = untold;
      untold = undefined;
      if (Math.abs(slept) > noticedFromMs) return { forMs: slept };
      return late > noticedFromMs ? { forMs: late } : found;
    },
    again(absence) {
      untold = absence;
    },
  };
}

/** One step: every chart that counts silence or waiting hears of it, and the Shepherd gets one note. */
export function tellOfAbsence(frame: Frame, { forMs }: Absence): void {
  const { herd, nowMs } = frame;
  const event = { type: 'host.away', atMs: nowMs } as const;
  const agents = herd.agents();
  for (const agent of agents) {
    const { taskId } = agent.getSnapshot().context;
    frame.send(agent, event);
    const task = taskId === null ? undefined : herd.task(agent.id, taskId);
    if (task !== undefined) frame.send(task, event);
  }
  if (agents.length === 0) return;
  const seconds = Math.round(Math.abs(forMs) / 1000);
  const text =
    forMs < 0
      ? `The clock of this machine was set back by ${seconds} s.`
      : `This machine was away for ${seconds} s: it slept, was overloaded, or its clock was set.`;
  sendPassiveNotice(
    frame,
    `${text} Stalls and long waits are counted from now; deadlines stay as they are.`,
    { code: 'host_away', awayMs: forMs },
  );
}
