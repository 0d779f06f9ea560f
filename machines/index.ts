/** The statecharts of Sheepfold: pure definitions, for the runtime, tests, pictures and users. */
export {
  agentMachine,
  type AgentActor,
  type AgentContext,
  type AgentEndedEvent,
  type AgentEndState,
  type AgentEvent,
  type AgentInput,
  type Call,
  type StallRules,
  type TurnSettledEvent,
} from './agent.ts';
export {
  promptMachine,
  type PromptActor,
  type PromptContext,
  type PromptEvent,
  type PromptInput,
  type PromptSettledEvent,
  type PromptStatus,
} from './prompt.ts';
export {
  requestMachine,
  type RequestActor,
  type RequestContext,
  type RequestEvent,
  type RequestInput,
  type RequestOutcome,
  type RequestSettledEvent,
} from './request.ts';
export {
  sessionMachine,
  type SessionActor,
  type SessionContext,
  type SessionEvent,
} from './session.ts';
export {
  taskMachine,
  type OpenRequest,
  type TaskActor,
  type TaskCause,
  type TaskContext,
  type TaskEvent,
  type TaskInput,
  type TaskOutcome,
  type TaskSettledEvent,
  type TaskStatus,
  type TaskWaitEvent,
} from './task.ts';
export {
  watcherMachine,
  type WatcherActor,
  type WatcherContext,
  type WatcherDoneEvent,
  type WatcherEvent,
  type WatcherInput,
} from './watcher.ts';
