// What a workflow author imports.

export { defineApp, mcpServer, a2aAgent, secret } from './workflow/app.js';
export type {
  A2aAgentConfig,
  App,
  AppConfig,
  McpServerConfig,
  SecretReference,
  ServerAuth,
  ServerConfig,
} from './workflow/app.js';
export type { OverlapPolicy, ScheduleConfig } from './workflow/schedule.js';
export { defineWorkflow } from './workflow/define-workflow.js';
export type { Workflow, WorkflowOptions } from './workflow/define-workflow.js';
export type {
  ChildOptions,
  DurablePromise,
  ExternalWait,
  Saga,
  ScopeHandle,
  SignalOptions,
  TokenOptions,
  A2aMessageCall,
  A2aSkillCall,
  McpCall,
  RemoteCall,
  RemoteOutcome,
  RetryPolicy,
  StepContext,
  StepOptions,
  WorkflowContext,
} from './workflow/context.js';
export { artifactsOf, dataOf, textOf } from './workflow/outcome.js';
export {
  ChildFailed,
  EngineError,
  ExternalWaitFailed,
  hasCode,
  isEngineError,
  NonRetryableError,
  RemoteStartAmbiguous,
  RemoteStartFailed,
  RemoteStartRefused,
  RemoteResultInvalid,
  RemoteTaskCancelled,
  RemoteTaskError,
  RemoteTaskFailed,
  RemoteTaskRejected,
  RemoteTaskTimedOut,
  RunCancelled,
  StepFailed,
} from './base/errors.js';
export type { EngineErrorCode } from './base/errors.js';
export type { JsonObject, JsonValue } from './base/json.js';
export type { Duration } from './base/time.js';
