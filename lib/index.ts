// API for authors of workflows: `outwait`.

// Defining workflows.
export { defineWorkflow } from './workflow/define-workflow.js';
export type { AnyValue, AnyWorkflow, Workflow, WorkflowOptions } from './workflow/define-workflow.js';
export type {
  Concurrency,
  Debounce,
  FlowControl,
  KeyOf,
  Throttle,
  WhenBusy,
  WhenExceeded,
} from './workflow/flow-control.js';

// Using `ctx` in a workflow.
export type { Branch, ChildOptions, Saga, ScopeHandle, SomeResult, WorkflowContext } from './workflow/context.js';
export type {
  DurablePromise,
  ExternalOutcome,
  ExternalWait,
  Parsed,
  SignalOptions,
  TokenOptions,
} from './workflow/external-wait.js';
export type { Addressing, AskOptions, AnswerSchema, TypedAnswer, TypedAskOptions } from './workflow/ask-options.js';
export type { RestartCause, RestartPolicy } from './workflow/restart-policy.js';
export type { RunInfo, RunParent } from './workflow/run-info.js';
export type { RunStartOptions } from './workflow/run-start-options.js';
export type { ArtifactUpdate, RunCaller, ServedContext, TaskInfo } from './workflow/served.js';
export type { Artifact, Part, TaskMessage } from './history/task-content.js';
export type { RetryPolicy, StepContext, StepOptions } from './workflow/step-options.js';

// Calling remote tasks, and reading their outcomes.
export type {
  A2aMessageCall,
  A2aSkillCall,
  AttachCall,
  McpCall,
  RemoteCall,
  RemoteCallOptions,
  RemoteWaitOptions,
} from './workflow/context.js';
export type { ErrorOutcome, OutcomeWithData, RemoteOutcome, TypedOutcome } from './workflow/outcome.js';
export { artifactsOf, dataOf, textOf } from './workflow/outcome.js';
export type { DataOf, DeclaredOutcome } from './workflow/outcome.js';
export type { ParentClosePolicy, RemoteClosePolicy } from './history/event.js';

// Types of the app's servers, against which the compiler checks calls.
export type * from './workflow/server-types.js';
export type { A2aMessage, ServerCall } from './workflow/context.js';

// Answering questions of remote tasks.
export { answerWith, askPerson } from './workflow/input.js';
export type { AskPersonOptions } from './workflow/input.js';
export type { InputHandler } from './workflow/context.js';
export type { AddressedQuestion, Question } from './history/question.js';
export type { RemoteAnswer, RemoteQuestion } from './history/remote-question.js';

// Following remote tasks.
export type { ProgressHandler } from './workflow/context.js';
export type { TaskProgress } from './history/task-trail.js';

// Configuring an app: its servers, schedules, hooks and access.
export { a2aAgent, defineApp, mcpServer } from './workflow/app.js';
export type {
  A2aAgentConfig,
  A2aAgentOptions,
  A2aAgentPlace,
  App,
  AppConfig,
  McpRevision,
  McpServerConfig,
  ServerConfig,
  ServerOptions,
} from './workflow/app.js';
export type { Tracing, TracingParts, TracingSetup } from './workflow/tracing.js';
export type { ServerJob, ServerJobs } from './workflow/server-jobs.js';
export type { ServerLimits } from './workflow/server-limits.js';
export { secret, secretsManager, ssmParameter } from './workflow/server-auth.js';
export type {
  OAuthClient,
  PrivateKey,
  PrivateKeyAlgorithm,
  SecretReference,
  SecretSource,
  ServerAuth,
  SigV4,
} from './workflow/server-auth.js';
export { bearerWebhook, githubWebhook, slackWebhook, standardWebhook, stripeWebhook } from './workflow/hook-auth.js';
export type { HookAuth, HookScheme, HookSecret, SecretAuth, SecretScheme } from './workflow/hook-auth.js';
export { jwtWebhook } from './workflow/jwt-auth.js';
export type { JwtAlgorithm, JwtAuth, JwtOptions } from './workflow/jwt-options.js';
export type { Hook, HookConfig, HookEvent, HookOptions, HookReaction, HookSignal, HookStart } from './workflow/hook.js';
export { snsTopic, webhookTo } from './workflow/people.js';
export type { People, Receiver, SnsReceiver, WebhookOptions, WebhookReceiver } from './workflow/people.js';
export type { AccessConfig, ClaimRules, PrincipalRules, TenantLimits } from './workflow/access.js';
export type {
  AgentConfig,
  AgentExtension,
  AgentSecurity,
  ServeConfig,
  ServeLimits,
  SkillConfig,
  TextHook,
  TextHooks,
  TextInfo,
  ToolHints,
} from './workflow/serve.js';
export type { CallbackRules } from './workflow/callbacks.js';
export type { Role } from './base/caller.js';
export type { OverlapPolicy, Schedule, ScheduleConfig, ScheduleOptions } from './workflow/schedule.js';

// Errors that a workflow can catch, each with a code.
export {
  ChildFailed,
  engineErrorCodes,
  EngineError,
  ExternalWaitFailed,
  hasCode,
  isEngineError,
  NonRetryableError,
  RemoteResultInvalid,
  RemoteStartAmbiguous,
  RemoteStartFailed,
  RemoteStartRefused,
  RemoteTaskCancelled,
  RemoteTaskError,
  RemoteTaskExpired,
  RemoteTaskFailed,
  RemoteTaskLost,
  RemoteTaskRejected,
  RemoteTaskTimedOut,
  RunCancelled,
  StepFailed,
  TooFewSucceeded,
} from './base/errors.js';
export type { EngineErrorCode } from './base/errors.js';

// Lifecycle events, as delivered by a bus.
export type {
  InputRequiredEvent,
  LifecycleEvent,
  RemoteTaskEventFields,
  RemoteTaskProgressedEvent,
  RemoteTaskSettledEvent,
  RemoteTaskStartedEvent,
  RunBlockedEvent,
  RunCancelledEvent,
  RunCompletedEvent,
  RunContinuedEvent,
  RunEventFields,
  RunFailedEvent,
  RunStartedEvent,
  RunTerminatedEvent,
} from './history/lifecycle-event.js';
export type { RemoteProtocol } from './history/remote-protocol.js';
export type { OutcomeKind, SettledBy } from './history/settlement.js';

// Types that the others use.
export type { RunId, WaitId } from './base/ids.js';
export type { JsonObject, JsonValue, OnlyStorable, Storable, Stored } from './base/json.js';
export type { Log } from './base/log.js';
export type { Duration, EpochMs } from './base/time.js';
