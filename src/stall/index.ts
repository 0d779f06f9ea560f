/** `sheepfold/stall`: the pure judgement of stalls, for programs with agents of their own. */
export {
  defaultStallThresholdMs,
  detectAgentStall,
  resolveAgentStallThresholdMs,
  type Instant,
  type StallEvidence,
  type StallInput,
  type StallReason,
  type StallStatus,
  type StallVerdict,
} from './detector.ts';
export { buildAgentStallRecoveryBrief, type RecoveryBrief } from './brief.ts';
export {
  readWorkflowConfig,
  resolveWorkflowConfig,
  type StallDetectionConfig,
  type WorkflowConfig,
  type WorkflowProblem,
} from './workflow-config.ts';
