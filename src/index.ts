/** Sheepfold's public API: open a session, drive it, see what happens. */
export { type AgentScope } from './agents/catalog.ts';
export { type AgentDefinition } from './agents/definition.ts';
export {
  ConfigError,
  describeError,
  HostError,
  MailboxError,
  ShepherdError,
  TaskError,
  type ShepherdErrorCode,
} from './errors.ts';
export {
  type AgentHost,
  type CloseOutcome,
  type HostEvent,
  type Inspection,
  type Launch,
  type Placement,
  type PlaceRef,
  type ProcessExit,
} from './hosts/host.ts';
export { createMemoryHost } from './hosts/memory.ts';
export { createProcessHost } from './hosts/process.ts';
export { createHerdrHost } from './hosts/herdr/host.ts';
export { createTmuxHost } from './hosts/tmux/host.ts';
export { createIdMaker, type IdMaker } from './ids.ts';
export { startInspector, type Inspector, type InspectorOptions } from './inspector/server.ts';
export { toStatelyInspector, type StatelyEvent } from './inspector/stately.ts';
export { readIdentity, type Identity } from './mailbox/capability.ts';
export { createChildMailbox, type ChildMailbox } from './mailbox/child-mailbox.ts';
export { type Delivery, type Envelope, type EnvelopeDraft } from './mailbox/envelope.ts';
export { isChildProcess } from './pi/child/identity.ts';
export { type ApproveAgent } from './runtime/approval.ts';
export { createShepherd, type ShepherdOptions } from './runtime/create-shepherd.ts';
export {
  type ChildCommand,
  type ChildCommandInput,
  type MakeChildCommand,
} from './runtime/launcher.ts';
export { type LiveOptions, type LivePolicy } from './runtime/live-options.ts';
export { type Policy, type Retention } from './runtime/policy.ts';
export {
  type AgentState,
  type AgentStatus,
  type CancelResult,
  type Change,
  type DefinitionsView,
  type DefinitionView,
  type DelegateOptions,
  type DelegateResult,
  type LateEvent,
  type MessageOptions,
  type MessageResult,
  type MessageStatus,
  type Notice,
  type PromptResult,
  type PromptWatchResult,
  type PruneResult,
  type Receipt,
  type RequestView,
  type Shepherd,
  type SpawnOptions,
  type SpawnResult,
  type TaskResult,
  type TaskState,
  type TaskStatus,
  type TerminalState,
  type WatchResult,
} from './runtime/shepherd.ts';
