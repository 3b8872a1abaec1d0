// What a workflow author imports.

export { defineApp, mcpServer, a2aAgent } from './workflow/app.js';
export type { A2aAgentConfig, App, AppConfig, McpRevision, McpServerConfig, ServerConfig } from './workflow/app.js';
export { secret, secretsManager, ssmParameter } from './workflow/server-auth.js';
export type {
  OAuthClient,
  PrivateKey,
  SecretReference,
  SecretSource,
  ServerAuth,
  SigV4,
} from './workflow/server-auth.js';
export type { ServerJob, ServerJobs } from './workflow/server-jobs.js';
export type { ServerLimits } from './workflow/server-limits.js';
export type { OverlapPolicy, ScheduleConfig } from './workflow/schedule.js';
export { answerWith, askPerson } from './workflow/input.js';
export type { AskPersonOptions } from './workflow/input.js';
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
  AskOptions,
  AttachCall,
  InputHandler,
  A2aMessageCall,
  A2aSkillCall,
  McpCall,
  RemoteCall,
  RemoteOutcome,
  RestartCause,
  RestartPolicy,
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
  RemoteTaskExpired,
  RemoteTaskFailed,
  RemoteTaskLost,
  RemoteTaskRejected,
  RemoteTaskTimedOut,
  RunCancelled,
  StepFailed,
} from './base/errors.js';
export type { EngineErrorCode } from './base/errors.js';
export type { ParentClosePolicy, RemoteClosePolicy } from './history/event.js';
export type { LifecycleEvent } from './history/lifecycle-event.js';
export type { InputForm } from './history/input-form.js';
export type { RemoteAnswer, RemoteQuestion } from './history/remote-question.js';
export type { JsonObject, JsonValue } from './base/json.js';
export type { Duration } from './base/time.js';
