/**
 * What follows from each fact that a chart recorded: changed records, further events, effects.
 *
 * The one place between the charts' decisions and the rest of a step.
 */
import type { OpenRequest, TaskOutcome } from '../../machines/index.ts';
import type { Evidence } from '../mailbox/envelope.ts';
import { SHEPHERD_ID } from '../ids.ts';
import { TaskError } from '../errors.ts';
import type { Fact } from './charts.ts';
import { publishToChild, tellChild } from './child-notices.ts';
import { dispatchTask } from './delegate.ts';
import { changesNote, noteTask } from './fieldnotes.ts';
import { launchFresh } from './fresh-launch.ts';
import type { Frame } from './herd.ts';
import {
  sendCompletion,
  sendPassiveNotice,
  sendPromptCompletion,
  sendStaleWait,
  sendUnwatchedOutcome,
} from './notices.ts';
import { settlePrompt } from './prompts.ts';
import type { RequestRecord, TaskRecord } from './records.ts';
import { excerpt, nameOf } from './router.ts';
import { recordCleared, recordRecovered, recordStalled, surfaceStall } from './stalls.ts';
import { describeAgentError } from './views.ts';
import type { AgentState, TaskResult, TerminalState } from './shepherd.ts';

/** Applies one fact to the running step. */
export function applyFact(frame: Frame, fact: Fact): void {
  const { herd, draft, nowMs } = frame;
  switch (fact.type) {
    case 'agent.start':
      herd.startAgent(fact.agent);
      frame.effect({ type: 'launch', agentId: fact.agent.agentId });
      return;
    case 'agent.state':
      recordAgentState(frame, fact.agentId, fact.state);
      return;
    case 'agent.end_process':
      giveUpOn(frame, fact.agentId);
      frame.effect({ type: 'end', agentId: fact.agentId });
      return;
    case 'agent.release_task':
      releaseTask(frame, fact.agentId, fact.taskId);
      return;
    case 'agent.queue':
      draft.change('agent', fact.agentId, { queue: fact.queue });
      return;
    case 'agent.slot_free': {
      const agent = herd.agent(fact.agentId);
      if (agent !== undefined) frame.send(agent, { type: 'queue.advance', atMs: nowMs });
      return;
    }
    case 'agent.remind':
      tellChild(frame, fact.agentId, {
        code: 'done_reminder',
        taskId: fact.taskId,
        content:
          `Your turn has ended, and your task ${fact.taskId} is still open. If it is finished, or ` +
          'cannot be, call shepherd_done now; if you need an answer, ask for it with shepherd_message ' +
          'and expectsReply; else go on with it.',
      });
      return;
    case 'agent.forgotten':
      sendPassiveNotice(
        frame,
        `${nameOf(draft, fact.agentId)} ends its turns and leaves ${fact.taskId} open, also when it is ` +
          'reminded. Ask it what is missing (shepherd_message), or cancel the task (shepherd_cancel).',
        { agentId: fact.agentId, taskId: fact.taskId, code: 'done_forgotten' },
      );
      return;
    case 'agent.bailed':
      sendPassiveNotice(
        frame,
        `${nameOf(draft, fact.agentId)} did not let go of ${fact.taskId}, which is over, and is ended.`,
        { agentId: fact.agentId, taskId: fact.taskId, code: 'bailed' },
      );
      return;
    case 'agent.stalled':
      recordStalled(frame, fact);
      return;
    case 'agent.stall_cleared':
      recordCleared(frame, fact.agentId);
      return;
    case 'agent.verify_stall':
      frame.effect({ type: 'look', agentId: fact.agentId });
      return;
    case 'agent.bail':
      frame.effect({ type: 'bail', agentId: fact.agentId });
      return;
    case 'agent.launch_fresh':
      launchFresh(frame, fact.agentId, fact.launch);
      return;
    case 'agent.recovered':
      recordRecovered(frame, fact.agentId);
      return;
    case 'agent.surfaced':
      surfaceStall(frame, fact);
      return;
    case 'agent.ended':
      endAgent(frame, fact.agentId);
      return;
    case 'agents.close':
      for (const agent of herd.agents()) frame.send(agent, { type: 'agent.close', atMs: nowMs });
      return;
    case 'task.dispatched':
      dispatchTask(frame, fact);
      return;
    case 'task.state': {
      const task = draft.get('task', fact.taskId);
      if (task === undefined) return;
      const states = [...task.states, { state: fact.state, atMs: notBefore(task, fact.atMs) }];
      draft.put('task', { ...task, state: fact.state, states, stale: false });
      if (changesNote(task, fact.state)) noteTask(frame, task.id);
      return;
    }
    case 'task.settled':
      settleTask(frame, fact.taskId, fact.outcome);
      return;
    case 'task.requests_closed':
      for (const { requestId } of fact.requests) {
        draft.change('request', requestId, { state: 'cancelled', settledAtMs: fact.atMs });
        const request = draft.get('request', requestId);
        if (request !== undefined && !isOfOwner(frame, request)) {
          tellAsker(frame, { ...request, reason: 'the task that it belonged to has ended' });
        }
      }
      return;
    case 'task.stale': {
      const task = draft.get('task', fact.taskId);
      const request = draft.get('request', fact.requestId);
      if (task === undefined || request === undefined) return;
      draft.put('task', { ...task, stale: true });
      sendStaleWait(frame, task, request);
      return;
    }
    case 'task.fresh':
      draft.change('task', fact.taskId, { stale: false });
      return;
    case 'task.completion_refused':
      frame.refusals.push(completionRefused(frame, fact.taskId, fact.requests));
      return;
    case 'prompt.settled':
      settlePrompt(frame, fact.prompt);
      return;
    case 'request.start':
      herd.startRequest(fact.request);
      return;
    case 'request.settled': {
      const { requestId, outcome, settledAtMs } = fact.request;
      const request = draft.get('request', requestId);
      if (request === undefined || outcome === null) return;
      draft.put('request', { ...request, state: outcome, settledAtMs: settledAtMs ?? nowMs });
      // An expiry that settles a task is told with the task.
      const isToldWithTask = outcome === 'expired' && isOfOwner(frame, request);
      if (outcome !== 'answered' && !isToldWithTask)
        tellAsker(frame, { ...request, state: outcome });
      return;
    }
    case 'request.reap':
      herd.reap(fact.requestId);
      return;
    case 'watcher.start':
      herd.startWatcher(fact.watcher);
      return;
    case 'watcher.outcomes': {
      const tasks = fact.taskIds.flatMap((id) => draft.get('task', id) ?? []);
      if (tasks.length > 0) sendCompletion(frame, fact.watcherId, tasks);
      const prompts = fact.taskIds.flatMap((id) => draft.get('prompt', id)?.result ?? []);
      if (prompts.length > 0) sendPromptCompletion(frame, fact.watcherId, prompts);
      return;
    }
    case 'watcher.reap':
      herd.reap(fact.watcherId);
      return;
    case 'actor.crashed':
      // The step is about to be rolled back; `containCrash` takes it from there.
      return;
  }
}

/** An agent that failed without a word of its own did not say hello in time. */
function recordAgentState(frame: Frame, agentId: string, state: AgentState): void {
  const agent = frame.draft.get('agent', agentId);
  if (agent === undefined) return;
  const seconds = frame.herd.policy.spawnTimeoutMs / 1000;
  const error =
    state === 'failed'
      ? (agent.error ?? {
          code: 'spawn_deadline' as const,
          message: `It did not say hello within ${seconds} s.`,
        })
      : agent.error;
  frame.draft.put('agent', { ...agent, state, ...(error === undefined ? {} : { error }) });
}

/**
 * Tells the child that its task is over. The child stops the turn that still works on it, and only
 * that: a turn spent on somebody's question goes on. One that does not let go in time is bailed; its
 * time begins when it has been told (`outcomes.ts`).
 */
function releaseTask(frame: Frame, agentId: string, taskId: string): void {
  const { herd, draft } = frame;
  const actor = herd.agent(agentId);
  const result = draft.get('task', taskId)?.result;
  if (actor === undefined || result === undefined) return;
  const agent = actor.getSnapshot();
  if (!agent.hasTag('ready') && !agent.matches({ process: 'starting' })) return;
  publishToChild(frame, {
    kind: 'task_closed',
    targetId: agentId,
    taskId,
    status: result.status,
    ...(result.error === undefined ? {} : { error: result.error }),
  });
}

/** Whether a question was asked by the owner of the task that requires its answer. */
function isOfOwner({ draft }: Frame, { taskId, askerId }: RequestRecord): boolean {
  return taskId !== null && draft.get('task', taskId)?.agentId === askerId;
}

/**
 * Who asked an agent that is ended, or ends, hears at once that no answer will come; what it asked
 * itself is withdrawn, under whose task soever.
 */
function giveUpOn(frame: Frame, agentId: string): void {
  const { herd, draft, nowMs } = frame;
  for (const requestId of herd.openRequestIds()) {
    const asked = draft.get('request', requestId);
    const request = herd.request(requestId);
    if (asked === undefined || request === undefined) continue;
    if (asked.recipientId === agentId) {
      frame.send(request, { type: 'recipient.gone', agentId, atMs: nowMs });
    } else if (asked.askerId === agentId) {
      frame.send(request, { type: 'request.cancel', atMs: nowMs });
    }
  }
}

function endAgent(frame: Frame, agentId: string): void {
  frame.draft.change('agent', agentId, { endedAtMs: frame.nowMs });
  giveUpOn(frame, agentId);
  frame.effect({ type: 'retire', agentId });
  frame.herd.reap(agentId);
}

const returnCodes = {
  completed: 0,
  failed: 1,
  blocked: 2,
  timed_out: 124,
  cancelled: 130,
} as const satisfies Record<TerminalState, number>;

/** What ended a task, in words, where neither its owner nor a handler has said it. */
function describeCause(frame: Frame, task: TaskRecord, outcome: TaskOutcome): string | undefined {
  const agent = frame.draft.get('agent', task.agentId);
  const request = frame.draft.get('request', outcome.requestId ?? '');
  const who = nameOf(frame.draft, task.agentId);
  switch (outcome.cause) {
    case 'owner':
      return undefined;
    case 'reply_deadline': {
      const recipient = request === undefined ? 'nobody' : nameOf(frame.draft, request.recipientId);
      return `reply_deadline: ${recipient} did not answer "${excerpt(request?.question ?? '')}" in time.`;
    }
    case 'task_deadline':
      return 'task_deadline: the task did not settle in time.';
    case 'cancelled':
      return 'cancelled: the task was withdrawn.';
    case 'agent_closed':
      return `agent_closed: ${who} was closed.`;
    case 'agent_lost':
      return agent?.error === undefined
        ? `agent_lost: ${who} ended without settling the task.`
        : describeAgentError(agent.error);
    case 'publish_failed':
      return 'publish_failed: the task could not be put into the inbox.';
    case 'delivery_failed':
      return 'undelivered: the task could not be brought before its model.';
    case 'provider_gave_up':
      return 'provider_error: the model provider gave up.';
    case 'actor_crashed':
      return 'internal_error: an actor of this task failed.';
  }
}

/** Instants of states never run backwards, although the clocks of two senders may differ. */
function notBefore(task: TaskRecord, atMs: number): number {
  return Math.max(atMs, task.states.at(-1)?.atMs ?? 0);
}

/** A count that began anew (a fresh child) stands as it is. */
function since(from: number, to: number): number {
  return to >= from ? to - from : to;
}

function evidenceSince(start: Evidence, now: Evidence): Evidence {
  return {
    turns: since(start.turns, now.turns),
    toolCalls: since(start.toolCalls, now.toolCalls),
    lastActivityAtMs: now.lastActivityAtMs,
  };
}

function settleTask(frame: Frame, taskId: string, outcome: TaskOutcome): void {
  const { herd, draft, nowMs } = frame;
  const task = draft.get('task', taskId);
  if (task === undefined || task.result !== undefined) return;
  const agent = draft.get('agent', task.agentId);
  const error = task.error ?? describeCause(frame, task, outcome);
  const text = task.text ?? task.summary;
  // A reason for what was not in the way is none.
  const isOverridden =
    task.override !== undefined && outcome.status === 'completed' && outcome.requestId !== null;
  const result: TaskResult = {
    taskId,
    agentId: task.agentId,
    status: outcome.status,
    ok: outcome.status === 'completed',
    returnCode: returnCodes[outcome.status],
    ...(task.summary === undefined ? {} : { summary: task.summary }),
    ...(text === undefined ? {} : { text }),
    ...(error === undefined || outcome.status === 'completed' ? {} : { error }),
    ...(isOverridden ? { override: task.override } : {}),
    lateEvents: [],
    evidence: evidenceSince(
      task.evidenceAtStart,
      task.evidence ?? agent?.evidence ?? task.evidenceAtStart,
    ),
    attempts: task.attempts,
    settledAtMs: outcome.atMs,
  };
  draft.put('task', {
    ...task,
    state: outcome.status,
    states: [...task.states, { state: outcome.status, atMs: notBefore(task, outcome.atMs) }],
    cause: outcome.cause,
    stale: false,
    result,
  });
  noteTask(frame, taskId);
  const watchers = herd
    .watchers()
    .filter((watcher) => watcher.getSnapshot().context.pending.includes(taskId));
  for (const watcher of watchers) {
    frame.send(watcher, { type: 'task.settled', taskId, atMs: nowMs });
  }
  if (watchers.length === 0) sendUnwatchedOutcome(frame, result);
}

/** Tells whoever asked that no answer will come; the asker decides what to do instead. */
function tellAsker(frame: Frame, request: RequestRecord): void {
  const { draft } = frame;
  const recipient = nameOf(draft, request.recipientId);
  const why = {
    open: '',
    answered: '',
    expired: `${recipient} did not answer in time`,
    recipient_gone: `${recipient} has ended and will not answer`,
    cancelled: `the question was withdrawn${request.reason === undefined ? '' : `: ${request.reason}`}`,
  }[request.state];
  const text = `No reply to your question ${request.id}: ${why}. You asked: ${excerpt(request.question)}`;
  if (request.askerId === SHEPHERD_ID) {
    // It withdrew its own question, or has been told why that could not be delivered.
    if (request.state === 'cancelled') return;
    sendPassiveNotice(frame, text, { requestId: request.id, code: request.state });
    return;
  }
  tellChild(frame, request.askerId, {
    content: text,
    code: request.state,
    requestId: request.id,
    ...(request.taskId === null ? {} : { taskId: request.taskId }),
  });
}

function completionRefused(
  frame: Frame,
  taskId: string,
  requests: readonly OpenRequest[],
): TaskError {
  const ownerId = frame.draft.get('task', taskId)?.agentId;
  const open = requests.map(({ requestId, recipientId }) =>
    recipientId === ownerId
      ? `${requestId}, which you are to answer yourself`
      : `${requestId} to ${nameOf(frame.draft, recipientId)}`,
  );
  return new TaskError(
    'completion_refused',
    `${taskId} cannot be completed while a required reply is outstanding: ${open.join(', ')}. ` +
      'Wait for it (end your turn), or give `override` with the reason to complete without it.',
    { data: { taskId, requests: requests.map((request) => request.requestId) } },
  );
}
