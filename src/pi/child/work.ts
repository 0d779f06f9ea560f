/**
 * What this child is working on: its task, whose turn is running, what was said and done. Plain
 * memory; it reports nothing and decides nothing about the task.
 */
import type { Delivery, Evidence } from '../../mailbox/envelope.ts';

export interface Work {
  /** The task that this child has, as far as it knows. */
  readonly taskId: string | undefined;
  /** The same, but not once it was handed in: what only waits for its verdict needs no reminder. */
  readonly openTaskId: string | undefined;
  /** The last envelope that woke the model in this run; none when a person started it. */
  readonly causeId: string | undefined;
  /** Counted since the launch; the runtime subtracts what was there when a task began. */
  readonly evidence: Evidence;
  /** The last text of the assistant since the task began. */
  readonly lastText: string | undefined;
  /** A task is about to reach the model by this envelope: its texts start anew. */
  begin(taskId: string, causeId: string): void;
  /** The task that this child had last, also once it is handed in. */
  readonly lastTaskId: string | undefined;
  /** The task is over; another one stays. */
  forget(taskId: string): void;
  /** The task was handed in by this envelope, and nobody has answered yet. */
  handedIn(messageId: string): void;
  /** An envelope of ours was accepted after all; the task that it handed in is over. */
  accepted(messageId: string): void;
  /** It was refused after all; what it handed in is open again. */
  refused(messageId: string): void;
  /** Something about the child's own task, or from its Shepherd, is about to reach the model. */
  resume(causeId: string): void;
  /** A prompt is about to reach the model: what this run says last is the answer to it. */
  prompt(causeId: string): void;
  /** Whether this run was prompted. */
  readonly isPrompted: boolean;
  /** A question of somebody else is about to reach the model. */
  answer(deliverAs: Delivery, causeId: string): void;
  /** Whether a turn runs that is spent on this task, and not on somebody's question. */
  isTurnOf(taskId: string): boolean;
  said(text: string): void;
  toolStarted(): void;
  turnEnded(): void;
  /** Something moved. */
  touch(): void;
  /** Whether Pi runs; retries and follow-ups belong to one run. */
  readonly running: boolean;
  started(): void;
  /** The run is over; the next one belongs to whoever starts it. */
  settled(): void;
}

/** @param now epoch ms. */
export function createWork(now: () => number): Work {
  let taskId: string | undefined;
  let handIn: { readonly messageId: string; readonly taskId: string } | undefined;
  let running = false;
  let isPrompted = false;
  let turnFor: 'task' | 'question' | undefined;
  let causeId: string | undefined;
  let lastText: string | undefined;
  let turns = 0;
  let toolCalls = 0;
  let lastActivityAtMs: number | null = null;

  const touch = (): void => {
    lastActivityAtMs = now();
  };
  let lastTaskId: string | undefined;
  const forget = (id: string): void => {
    if (taskId === id) taskId = undefined;
  };
  return {
    get taskId() {
      return taskId;
    },
    get lastTaskId() {
      return lastTaskId;
    },
    get openTaskId() {
      return handIn?.taskId === taskId ? undefined : taskId;
    },
    get causeId() {
      return causeId;
    },
    get evidence() {
      return { turns, toolCalls, lastActivityAtMs };
    },
    get lastText() {
      return lastText;
    },
    begin(id, by) {
      taskId = id;
      lastTaskId = id;
      causeId = by;
      turnFor = 'task';
      lastText = undefined;
    },
    forget,
    handedIn(messageId) {
      handIn = taskId === undefined ? undefined : { messageId, taskId };
    },
    accepted(messageId) {
      if (handIn?.messageId === messageId) forget(handIn.taskId);
    },
    refused(messageId) {
      if (handIn?.messageId === messageId) handIn = undefined;
    },
    resume(by) {
      causeId = by;
      turnFor = 'task';
    },
    prompt(by) {
      causeId = by;
      turnFor = 'task';
      isPrompted = true;
      lastText = undefined;
    },
    get isPrompted() {
      return isPrompted;
    },
    answer(deliverAs, by) {
      causeId = by;
      // Steered into a turn of the task it is read in passing, and the task goes on.
      if (turnFor === undefined || deliverAs === 'followUp') turnFor = 'question';
    },
    isTurnOf: (id) => running && taskId === id && turnFor !== 'question',
    said(text) {
      lastText = text;
      touch();
    },
    toolStarted() {
      toolCalls += 1;
      touch();
    },
    turnEnded() {
      turns += 1;
      touch();
    },
    touch,
    get running() {
      return running;
    },
    started() {
      running = true;
    },
    settled() {
      running = false;
      isPrompted = false;
      turnFor = undefined;
      causeId = undefined;
    },
  };
}
