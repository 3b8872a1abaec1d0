import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject, JsonValue, OnlyStorable, Stored } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Duration, EpochMs } from '../base/time.js';
import type { ParentClosePolicy, RemoteClosePolicy } from '../history/event.js';
import type { RemoteAnswer, RemoteQuestion } from '../history/remote-question.js';
import type { TaskProgress } from '../history/task-trail.js';
import type { AskOptions, TypedAnswer, TypedAskOptions } from './ask-options.js';
import type { DurablePromise, ExternalWait, Parsed, SignalOptions, TokenOptions } from './external-wait.js';
import type { RemoteOutcome, TypedOutcome } from './outcome.js';
import type { MessageCall, CallOutcome, ServerName, ServerText, SkillCall, ToolCall } from './server-types.js';
import type { FlowControl } from './flow-control.js';
import type { RestartPolicy } from './restart-policy.js';
import type { RunInfo } from './run-info.js';
import type { ServedContext } from './served.js';
import type { RunId } from '../base/ids.js';
import type { RunStartOptions } from './run-start-options.js';
import type { StepContext, StepOptions } from './step-options.js';

export type { RemoteOutcome, TypedOutcome } from './outcome.js';

/** Options of every wait for a remote task. */
export interface RemoteWaitOptions {
  /** Name of the server in the app's configuration. */
  readonly server: string;
  /** Longest wait from this call on, rounded up to seconds; then `RemoteTaskTimedOut`. Default `{ hours: 24 }`. */
  readonly timeout?: Duration;
  /**
   * Answers questions that the server asks before or while the task runs. The server is told that it may ask only if
   * there is a handler; without one, a task that asks anyway is waited for until the timeout. The handler may wait,
   * with the context that it receives, for steps, signals or people (`askPerson`). If it throws, the call fails with
   * that error.
   */
  readonly onInput?: InputHandler;
  /**
   * Hears of changes of the task while it runs: one call at a time, in order, with what a read has shown; of changes
   * that come faster it gets the last, and of one call at most 500. Each costs a turn and a commit. The handler may wait
   * as `onInput` may, and the end of the call closes what it waits for. If it throws, the call fails with that error.
   */
  readonly onProgress?: ProgressHandler;
  /** Whether to show the progress of the task while the run is watched (`outwait watch`). Default false. */
  readonly watch?: boolean;
  /**
   * Schema that types and parses `outcome.data`: any Standard Schema validator (zod, valibot, arktype). It receives the
   * structured value of the result or, without one, its text (parsed if it is JSON). If that does not fit, the call
   * fails with `RemoteResultInvalid`, whose details hold the raw result. A result that the tool marks as an error has
   * no data.
   */
  readonly output?: StandardSchemaV1;
  /** Schema for the whole result in the form of the protocol; if it does not fit, the call fails as with `output`. */
  readonly resultSchema?: StandardSchemaV1;
  /**
   * Policy for the task if the run ends or stops waiting for it (a cancelled scope, a race that another branch
   * won) before the task ends: `cancel` asks the server to cancel it, `leave` lets it run. Default `cancel`.
   */
  readonly onCancel?: RemoteClosePolicy;
  /** Policy for the task if the timeout passes first. Default `cancel`. */
  readonly onTimeout?: RemoteClosePolicy;
}

/** Options of every call that starts a remote task. */
export interface RemoteCallOptions extends RemoteWaitOptions {
  /** Allows repeating an unanswered start on a server that does not deduplicate: the task may run twice. Default false. */
  readonly retrySafe?: boolean;
  /** Calls again, with a new key and the full timeout, if the task ends without an outcome. Default: never. */
  readonly restart?: RestartPolicy;
  /**
   * The key by which the server recognizes a repeat of this call: 1 to 200 visible ASCII characters, sent unchanged;
   * restarts append `#2`, `#3` … Default: a unique key. Calls with the same key on the same server share one task, and
   * cancelling one of them cancels it for all.
   */
  readonly idempotencyKey?: string;
}

/** Waits for a task that was started elsewhere. */
export interface AttachCall extends RemoteWaitOptions {
  readonly taskId: string;
  /** A2A: the context of the task, if the agent requires it. */
  readonly contextId?: string;
}

/** Calls a tool of an MCP server. */
export type McpCall = RemoteCallOptions & {
  readonly tool: string;
  readonly arguments?: JsonObject;
  readonly skill?: never;
  readonly message?: never;
};
/** Calls a skill of an A2A agent with one data part `{ skill, arguments }`, a convention beyond the specification. */
export type A2aSkillCall = RemoteCallOptions & {
  readonly skill: string;
  readonly arguments?: JsonValue;
  readonly tool?: never;
  readonly message?: never;
};
/** Sends an A2A agent a message with the author's own parts, in the field names of A2A 1.0. */
export type A2aMessageCall = RemoteCallOptions & A2aMessage;
/** The part of a call with a message. */
export interface A2aMessage {
  readonly message: { readonly parts: readonly JsonObject[] };
  readonly tool?: never;
  readonly skill?: never;
}
export type RemoteCall = McpCall | A2aSkillCall | A2aMessageCall;

/** `Options` with the types that are inferred from a call: its server, and the output of its schema. */
export type ServerCall<Options, Server extends string, Data> = Omit<Options, 'server' | 'output'> & {
  /** Name of the server in the app's configuration. */
  readonly server: ServerName<Server>;
  /** Types and parses `outcome.data`, see `RemoteWaitOptions`. */
  readonly output?: StandardSchemaV1<unknown, Data>;
};

/** Answers the questions of a remote server. The text of a question is untrusted. */
export type InputHandler = (question: RemoteQuestion, ctx: WorkflowContext) => Promise<RemoteAnswer> | RemoteAnswer;

/** Hears of a change of a remote task. The texts are untrusted. */
export type ProgressHandler = (progress: TaskProgress, ctx: WorkflowContext) => Promise<void> | void;

/** Options of `ctx.child`. */
export interface ChildOptions {
  /** Longest wait; then `parentClose` applies and the call fails with `CHILD_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
  /** Policy for the child if this run ends or stops waiting for it; default `cancel`. */
  readonly parentClose?: ParentClosePolicy;
}

/** Collects the compensations of `ctx.saga`. */
export interface Saga {
  /** Adds work that undoes what was done. If the body fails, it runs as a step; the last one added runs first. */
  compensate(name: string, work: (step: StepContext) => unknown, options?: StepOptions): void;
}

/** A part of the workflow, with its own context. */
export type Branch<Result> = (ctx: WorkflowContext) => Promise<Result>;

/** A result of `ctx.some`. `index` distinguishes the branches of a tuple, and so the types of their values. */
export type SomeResult<Branches extends readonly Branch<unknown>[]> = {
  [At in keyof Branches]: {
    readonly index: At extends `${infer Index extends number}` ? Index : number;
    readonly value: Awaited<ReturnType<Branches[At]>>;
  };
}[number];

/** Controls a part of the workflow whose waits can be closed together. */
export interface ScopeHandle {
  /** Rejects the open waits of the scope, and all later ones, with `RUN_CANCELLED`. */
  cancel(): void;
}

/**
 * The workflow's access to everything outside its own code. Every method that waits returns a plain promise, for use
 * with `Promise.all`, `race`, `any`, loops and try/finally.
 */
export interface WorkflowContext extends ServedContext {
  readonly runId: string;
  /** Facts that are fixed at the start of the run. */
  readonly info: RunInfo;

  /**
   * Starts a task on a remote server and waits for its end. The wait holds no compute and survives restarts. The
   * compiler checks server, tool or skill, and arguments against `ServerTypes`, which `outwait types` writes.
   * @throws RemoteTaskFailed, RemoteTaskRejected, RemoteTaskCancelled, RemoteTaskTimedOut, RemoteTaskExpired,
   * RemoteTaskLost, RemoteStartRefused, RemoteStartFailed (never started), RemoteStartAmbiguous (may be running),
   * RemoteResultInvalid; `PAYLOAD_TOO_LARGE` for a result that cannot be stored, `SERVER_NOT_FOUND`, `INPUT_INVALID`.
   * @example
   * ```ts
   * import { defineWorkflow, textOf } from 'outwait';
   *
   * export const report = defineWorkflow({
   *   name: 'report',
   *   run: async (ctx) =>
   *     textOf(await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', timeout: { hours: 6 } })),
   * });
   * ```
   */
  callRemoteTask<
    Server extends ServerText,
    Tool extends string = never,
    Skill extends string = never,
    Given = JsonObject,
    Data = never,
  >(
    call: ServerCall<RemoteCallOptions, Server, Data> &
      (ToolCall<Server, Tool, Given> | SkillCall<Server, Skill, Given> | MessageCall<Server, A2aMessage>),
  ): Promise<CallOutcome<Server, Tool, Data>>;
  /**
   * Waits, like `callRemoteTask`, for a task that was started elsewhere. It is read first: RemoteStartRefused if the
   * server does not have it. By default it is not stopped: `onCancel` and `onTimeout` are `leave`.
   * @throws as `callRemoteTask`, except RemoteStartAmbiguous; `CONFIG_INVALID` if the server does not allow attaching
   */
  attachRemoteTask<Server extends ServerText, Data = never>(
    call: ServerCall<AttachCall, Server, Data>,
  ): Promise<[Data] extends [never] ? RemoteOutcome : TypedOutcome<Data>>;

  /**
   * Runs `work` at least once and records its result exactly once. Returns the recorded result, also on replay: its
   * JSON form, so a Date becomes a string.
   * @throws StepFailed if the last attempt fails, the error is not retryable, or the result is not JSON or too large
   * @example
   * ```ts
   * import { defineWorkflow } from 'outwait';
   *
   * export const charge = defineWorkflow<{ order: string }>({
   *   name: 'charge',
   *   run: async (ctx, { order }) => ctx.step('charge', async ({ idempotencyKey }) => ({ order, idempotencyKey })),
   * });
   * ```
   */
  step<Result>(
    name: string,
    work: ((step: StepContext) => Promise<Result> | Result) & OnlyStorable<Result>,
    options?: StepOptions,
  ): Promise<Stored<Result>>;

  /** Runs `fn` for each item, at most `concurrency` at a time (default 16). Returns the results in order. */
  map<Item, Result>(
    items: readonly Item[],
    fn: (item: Item, index: number) => Promise<Result>,
    options?: { readonly concurrency?: number },
  ): Promise<Result[]>;

  /** Waits for at least `duration`; beyond 90 s it may take up to one sweep (a minute) longer. */
  sleep(duration: Duration): Promise<void>;
  /** Waits until an instant. Does not wait if it has passed. */
  sleepUntil(instant: EpochMs | Date): Promise<void>;

  /**
   * Waits for a signal with this name. Signals are kept until a wait takes them, oldest first. A schema types and
   * parses the payload; a signal that does not fit is consumed, and the wait fails. With `where` the schema must be
   * synchronous.
   * @throws EngineError `SIGNAL_TIMED_OUT`; `INPUT_INVALID` for a payload that does not fit the schema
   */
  signal<Payload>(name: string, options: SignalOptions<Payload> & Parsed<Payload>): Promise<Payload>;
  signal(name: string, options?: SignalOptions): Promise<JsonValue>;

  /** Creates a token with which any outside system can settle a wait. Resolves when the token can be handed out. */
  externalToken<Value>(options: TokenOptions & Parsed<Value>): Promise<ExternalWait<Value>>;
  externalToken(options?: TokenOptions): Promise<ExternalWait>;
  /**
   * Asks a person. `outwait inputs` and `GET /inputs` list the question until it is answered, once, with `outwait
   * answer` or `POST /inputs/{id}`. Declining and cancelling are answers too. A schema that can be converted to JSON
   * Schema is shown with the question, and types and parses the answer.
   * @throws EngineError `INPUT_TIMED_OUT`; `INPUT_INVALID` for an answer that does not fit the schema; `CONFIG_INVALID` for
   * an addressee that the app does not have
   */
  ask<Content>(question: TypedAskOptions<Content>): Promise<TypedAnswer<Content>>;
  ask(question: AskOptions): Promise<RemoteAnswer>;
  /**
   * Creates a promise that any holder of its token can settle, once. A failure rejects it with ExternalWaitFailed, a
   * value that does not fit the schema with `INPUT_INVALID`.
   */
  promise<Value>(options: TokenOptions & Parsed<Value>): Promise<DurablePromise<Value>>;
  promise(options?: TokenOptions): Promise<DurablePromise<JsonValue>>;

  /**
   * Runs another workflow as a separate run and waits for its result.
   * @throws ChildFailed, whose details hold the child's error; `CHILD_TIMED_OUT`
   */
  child<Output, Given>(
    workflow: Workflow<AnyValue, Output, Given>,
    input: NoInfer<Given>,
    options?: ChildOptions,
  ): Promise<Stored<Output>>;

  /**
   * Starts a run of its own, once, and returns its id: unlike a child it is not waited for, and goes on when this run ends
   * or is cancelled. It belongs to the tenant of this run.
   * @throws EngineError `INPUT_INVALID`, `WORKFLOW_NOT_FOUND`, `KEY_REUSED`, `CONCURRENCY_KEY_BUSY`
   */
  startRun<Given>(
    workflow: Workflow<AnyValue, AnyValue, Given>,
    input: NoInfer<Given>,
    options?: RunStartOptions,
  ): Promise<RunId>;
  /**
   * Sends another run a signal, once. Resolves with false if the run has ended. A run that continues as another one passes
   * it on. The run must be of the tenant of this run, if this one has a tenant.
   * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`
   */
  signalRun(runId: RunId, name: string, payload?: JsonValue): Promise<boolean>;

  /**
   * Works like Promise.race over branches, each with its own context, but closes the open waits of the losers and
   * cancels their remote tasks. Settles when the shielded parts and sagas of the losers have ended.
   */
  race<Branches extends readonly Branch<unknown>[]>(
    branches: readonly [...Branches],
  ): Promise<Awaited<ReturnType<Branches[number]>>>;
  /**
   * Waits until `count` branches have succeeded, then closes the others as `race` does. Returns the results in the
   * order of their arrival, each with the index of its branch.
   * @throws TooFewSucceeded if fewer than `count` branches can still succeed, or RunCancelled if a cancel ended one of
   * the failed ones; `INPUT_INVALID` unless `count` is a whole number from 1 to the number of branches
   */
  some<Branches extends readonly Branch<unknown>[]>(
    count: number,
    branches: readonly [...Branches],
  ): Promise<SomeResult<Branches>[]>;
  /** Runs `body` with a context whose waits can be closed together. If cancelled, awaits its shielded parts and sagas. */
  scope<Result>(body: (ctx: WorkflowContext, scope: ScopeHandle) => Promise<Result>): Promise<Result>;
  /** Runs `body` with a context whose waits are not closed by a cancel from outside: for cleanup. */
  shield<Result>(body: (ctx: WorkflowContext) => Promise<Result>): Promise<Result>;
  /** Runs `body`. If it fails, runs its compensations, shielded and in reverse order, and then throws the error. */
  saga<Result>(body: (saga: Saga) => Promise<Result>): Promise<Result>;

  /** Ends this run and continues it as a new run of the workflow, with `input` and unread signals. Never returns. */
  continueAsNew(): Promise<never>;
  continueAsNew<Input>(input: Input & OnlyStorable<Input>): Promise<never>;
  /** Whether the history is so long (10,000 events) that the workflow should continue as a new run. */
  readonly shouldContinueAsNew: boolean;

  /** Returns true if new code may take its new path, false if the run passed here with the old code. Records true. */
  patched(patchId: string): boolean;
  /** Answers queries with this name, also after the end. `handler` must be synchronous and change nothing. */
  onQuery(name: string, handler: (input: JsonValue | undefined) => unknown): void;
  /** Reports the progress of the workflow. More than 1 KiB is truncated to a string. */
  progress<Progress>(progress: Progress & OnlyStorable<Progress>): void;

  /** Returns the time of the event that woke the workflow; the same on every replay. Never goes back. */
  now(): EpochMs;
  /** Returns a uniform random number in [0, 1); the same sequence on every replay. Not for secrets. */
  random(): number;
  /** Returns a version 4 UUID; the same on every replay. */
  uuid(): string;
  /** Logs each entry once: silent during replay. */
  readonly log: Log;
}

/** The author's function with its name and version. `Given`: the input of a start, before the schema has parsed it. */
export interface Workflow<Input = unknown, Output = unknown, Given = Input> {
  readonly name: string;
  readonly version: string;
  readonly input?: StandardSchemaV1<Given, Input>;
  /** How its starts are limited. */
  readonly flowControl?: FlowControl<Input>;
  readonly run: (ctx: WorkflowContext, input: Input) => Promise<Output>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- input is contravariant in `run`: only `any` admits every workflow
export type AnyValue = any;
export type AnyWorkflow = Workflow<AnyValue, AnyValue, AnyValue>;
