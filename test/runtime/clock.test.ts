import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createActorClock, driveClock } from '../../src/runtime/clock.ts';
import { createSimulatedClock } from '../support/clock.ts';

/** Arms a timer that notes its name. */
function arm(clock: ReturnType<typeof createActorClock>, log: string[], name: string, ms: number) {
  return clock.setTimeout(() => log.push(name), ms);
}

describe('C1. Timers fire in the order of their instants, overdue ones too', () => {
  it('orders by instant, then by arming', () => {
    const clock = createSimulatedClock(1_000);
    const log: string[] = [];
    arm(clock, log, 'later', 30);
    arm(clock, log, 'first of two', 10);
    arm(clock, log, 'second of two', 10);
    arm(clock, log, 'overdue by 5', -5);
    arm(clock, log, 'overdue by 500', -500);

    clock.advanceTo(2_000);

    expect(log).toEqual([
      'overdue by 500',
      'overdue by 5',
      'first of two',
      'second of two',
      'later',
    ]);
  });

  it('orders many instants, whatever the order of arming', () => {
    const clock = createSimulatedClock();
    const fired: number[] = [];
    const delays = Array.from({ length: 500 }, (_, index) => (index * 7_919) % 1_009);
    for (const delayMs of delays) clock.setTimeout(() => fired.push(delayMs), delayMs);

    clock.advanceTo(2_000);

    expect(fired).toEqual(delays.toSorted((a, b) => a - b));
  });

  it('gives out nothing that is not due', () => {
    const clock = createActorClock(0);
    arm(clock, [], 'x', 10);

    expect(clock.takeDue(9)).toBeUndefined();
    expect(clock.takeDue(10)?.atMs).toBe(10);
    expect(clock.takeDue(10)).toBeUndefined();
  });

  it('forgets a timer that was cleared, also the next one', () => {
    const clock = createSimulatedClock();
    const log: string[] = [];
    const first = arm(clock, log, 'first', 10);
    arm(clock, log, 'second', 20);

    clock.clearTimeout(first);
    clock.clearTimeout(first);
    clock.clearTimeout(999);

    expect(clock.nextDueAtMs()).toBe(20);
    clock.advanceTo(100);
    expect(log).toEqual(['second']);
  });
});

describe('C2. Infinity and NaN never fire; a delay of any length keeps its instant', () => {
  it.each([Infinity, NaN, -Infinity])('never fires %s', (delayMs) => {
    const clock = createActorClock(0);

    arm(clock, [], 'x', delayMs);

    expect(clock.nextDueAtMs()).toBeUndefined();
  });

  it('keeps an instant beyond 24.8 days', () => {
    const clock = createActorClock(0);

    arm(clock, [], 'x', 2 ** 40);

    expect(clock.nextDueAtMs()).toBe(2 ** 40);
  });
});

describe('C4. Cancelled timers take no more room than live ones do', () => {
  it('forgets them before they are due, and fires the others in order', () => {
    const clock = createSimulatedClock();
    const log: string[] = [];
    for (const ms of [30, 10, 20]) arm(clock, log, `after ${ms}`, ms);

    for (let index = 0; index < 5_000; index += 1) {
      clock.clearTimeout(arm(clock, log, 'never', 1_000_000 - index));
    }

    expect(clock.size()).toBeLessThan(100);
    clock.advanceTo(2_000_000);
    expect(log).toEqual(['after 10', 'after 20', 'after 30']);
  });
});

describe('C3. Time stands still until it is moved', () => {
  it('counts from the instant to which it was moved, backwards too', () => {
    const clock = createActorClock(1_000);
    clock.moveTo(5_000);
    arm(clock, [], 'x', 10);
    clock.moveTo(2_000);
    arm(clock, [], 'y', 10);

    expect(clock.now()).toBe(2_000);
    expect(clock.takeDue(Infinity)?.atMs).toBe(2_010);
    expect(clock.takeDue(Infinity)?.atMs).toBe(5_010);
  });

  it('turns an instant that was made a delay into the instant again', () => {
    const clock = createActorClock(1_714_953_600_123);
    const instantMs = 1_714_953_999_999;

    arm(clock, [], 'x', instantMs - clock.now());

    expect(clock.nextDueAtMs()).toBe(instantMs);
  });
});

describe('the simulated clock', () => {
  it('passes over a chain of timers one by one', () => {
    const clock = createSimulatedClock();
    const firedAtMs: number[] = [];
    const link = (): void => {
      firedAtMs.push(clock.now());
      if (firedAtMs.length < 3) clock.setTimeout(link, 10);
    };
    clock.setTimeout(link, 10);

    clock.advanceTo(25);
    expect(firedAtMs).toEqual([10, 20]);
    clock.advanceTo(100);

    expect(firedAtMs).toEqual([10, 20, 30]);
    expect(clock.now()).toBe(100);
  });
});

/** A driven clock whose due timers are fired, and when. */
function drive() {
  const clock = createActorClock(0);
  const woken: number[] = [];
  const driver = driveClock({
    clock,
    wall: Date.now,
    onDue() {
      woken.push(Date.now());
      clock.moveTo(Date.now());
      for (let due = clock.takeDue(Date.now()); due; due = clock.takeDue(Date.now())) due.fire();
    },
  });
  return { clock, driver, woken };
}

describe('the driver of the one real timer', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('wakes at the next instant and arms the one after it', () => {
    const { clock, driver, woken } = drive();
    for (const delayMs of [300, 100]) clock.setTimeout(() => {}, delayMs);

    driver.arm();
    vi.advanceTimersByTime(1_000);

    expect(woken).toEqual([100, 300]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps one real timer, for the earliest instant', () => {
    const { clock, driver, woken } = drive();
    clock.setTimeout(() => {}, 5_000);
    driver.arm();

    clock.setTimeout(() => {}, 200);
    driver.arm();
    driver.arm();

    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(200);
    expect(woken).toEqual([200]);
  });

  it('wakes at once for what is overdue', () => {
    const { clock, driver, woken } = drive();
    clock.setTimeout(() => {}, -5_000);

    driver.arm();
    vi.advanceTimersByTime(1);

    expect(woken).toHaveLength(1);
  });

  it('chains over instants that are farther than a Node timer reaches', () => {
    const { clock, driver, woken } = drive();
    const farMs = 3 * 2 ** 31;
    clock.setTimeout(() => {}, farMs);

    driver.arm();
    vi.advanceTimersByTime(farMs - 1);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(1);

    expect(woken).toEqual([farMs]);
  });

  it('waits on when the wall clock was set back', () => {
    const { clock, driver, woken } = drive();
    clock.setTimeout(() => {}, 1_000);
    driver.arm();

    vi.setSystemTime(-500);
    vi.advanceTimersByTime(1_000);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(500);

    expect(woken).toEqual([1_000]);
  });

  it('does not spin while what is due cannot be done', () => {
    const clock = createActorClock(0);
    let woken = 0;
    clock.setTimeout(() => {}, 100);
    const driver = driveClock({ clock, wall: Date.now, onDue: () => (woken += 1) });

    driver.arm();
    vi.advanceTimersByTime(10_100);

    expect(woken).toBeGreaterThan(5);
    expect(woken).toBeLessThan(50);
  });

  it('wakes nobody once it is stopped, or without a timer', () => {
    const { clock, driver, woken } = drive();
    driver.arm();
    expect(vi.getTimerCount()).toBe(0);
    clock.setTimeout(() => {}, 100);
    driver.arm();

    driver.stop();
    vi.advanceTimersByTime(1_000);

    expect(woken).toEqual([]);
  });
});
