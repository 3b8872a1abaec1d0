import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject, JsonValue, OnlyStorable, Stored } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Duration, EpochMs } from '../base/time.js';
import type { ParentClosePolicy, RemoteClosePolicy } from '../history/event.js';
import type { RemoteAnswer, RemoteQuestion } from '../history/remote-question.js';
import type { AskOptions, TypedAnswer, TypedAskOptions } from './ask-options.js';
import type { RemoteOutcome, TypedOutcome } from './outcome.js';
import type { MessageCall, CallOutcome, ServerName, ServerText, SkillCall, ToolCall } from './server-types.js';
import type { RestartPolicy } from './restart-policy.js';
import type { RunInfo } from './run-info.js';
import type { StepContext, StepOptions } from './step-options.js';

export type { RemoteOutcome, TypedOutcome } from './outcome.js';

/** What each wait for a remote task takes. */
export interface RemoteWaitOptions {
  /** Name of the server in the app's configuration. */
  readonly server: string;
  /** Longest wait, from this call on; default `{ hours: 24 }`; rounded up to whole seconds, at least 1 s. Then `RemoteTaskTimedOut`. */
  readonly timeout?: Duration;
  /**
   * Answers what the server asks before or while the task runs; only then is it told that it may ask. The handler may
   * wait, with the context it is given, for steps, signals or people (`askPerson`). If it throws, so does the call.
   * Without a handler a task that asks is waited for until the timeout.
   */
  readonly onInput?: InputHandler;
  /** As long as somebody follows the run (`outwait watch`), what the task says of its progress is shown to them. Default false. */
  readonly watch?: boolean;
  /**
   * What the call is to give: `outcome.data` is then typed by this schema and parsed with it, from the structured value of
   * the result, or else its text, as JSON where it is JSON. A result that does not fit is `RemoteResultInvalid`, with the raw
   * result in its details; one that the tool marks as an error has no data. Any Standard Schema validator (zod, valibot, arktype).
   */
  readonly output?: StandardSchemaV1;
  /** Checks the whole result, as the protocol has it; one that fails is `RemoteResultInvalid`, with the raw result in its details. */
  readonly resultSchema?: StandardSchemaV1;
  /**
   * What becomes of the task when the run ends, or no longer waits for it (a cancelled scope, a race that another branch
   * has won), before the task does: `cancel` asks the server to cancel it, `leave` lets it run. Default `cancel`.
   */
  readonly onCancel?: RemoteClosePolicy;
  /** The same when the timeout passes first. Default `cancel`. */
  readonly onTimeout?: RemoteClosePolicy;
}

/** What each call of a remote task takes. */
export interface RemoteCallOptions extends RemoteWaitOptions {
  /** A second execution does no harm, so a start that got no answer may be repeated towards a server that does not dedupe. Default false. */
  readonly retrySafe?: boolean;
  /** Calls again, with a fresh key and a timeout of its own, when the task ends without an outcome. Default: not. */
  readonly restart?: RestartPolicy;
  /**
   * The key by which the server tells a repeat of this call, 1 to 200 visible ASCII characters; sent as it is, with `#2`,
   * `#3` … behind it for restarts. Default: one that no other call has. Calls with one key on one server are one task:
   * it is theirs together, and a cancel of one of them cancels it.
   */
  readonly idempotencyKey?: string;
}

/** Waits for a task that somebody else has started. */
export interface AttachCall extends RemoteWaitOptions {
  readonly taskId: string;
  /** A2A: the context of the task, where the agent wants it. */
  readonly contextId?: string;
}

/** Calls a tool of an MCP server. */
export type McpCall = RemoteCallOptions & {
  readonly tool: string;
  readonly arguments?: JsonObject;
  readonly skill?: never;
  readonly message?: never;
};
/** Calls a skill of an A2A agent: one data part `{ skill, arguments }`, a convention of this project and of those it follows. */
export type A2aSkillCall = RemoteCallOptions & {
  readonly skill: string;
  readonly arguments?: JsonValue;
  readonly tool?: never;
  readonly message?: never;
};
/** Sends an A2A agent a message with parts of the author's own, in the names of A2A 1.0. */
export type A2aMessageCall = RemoteCallOptions & A2aMessage;
/** The part of a call that holds a message. */
export interface A2aMessage {
  readonly message: { readonly parts: readonly JsonObject[] };
  readonly tool?: never;
  readonly skill?: never;
}
export type RemoteCall = McpCall | A2aSkillCall | A2aMessageCall;

/** `Options` with types for what is inferred of a call: its server, and what its schema makes of the result. */
export type ServerCall<Options, Server extends string, Data> = Omit<Options, 'server' | 'output'> & {
  /** Name of the server in the app's configuration. */
  readonly server: ServerName<Server>;
  /** Types and parses `outcome.data`, see `RemoteWaitOptions`. */
  readonly output?: StandardSchemaV1<unknown, Data>;
};

/** Decides what a remote server that asks is answered; the question is untrusted text. */
export type InputHandler = (question: RemoteQuestion, ctx: WorkflowContext) => Promise<RemoteAnswer> | RemoteAnswer;

export interface SignalOptions<Payload = JsonValue> {
  /** Longest wait; then `SIGNAL_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
  /** Takes only a signal that this accepts; others stay for later waits. With a schema it is given what that makes of the payload. */
  readonly where?: (payload: Payload) => boolean;
}

/** A schema that types and parses what somebody outside sends. Any Standard Schema validator. */
export interface Parsed<Value> {
  readonly schema: StandardSchemaV1<unknown, Value>;
}

/** A wait that somebody outside ends, once. */
export interface ExternalWait<Value = JsonValue> {
  /** The capability to settle it: the bearer token of `POST /activities/external/complete` or `/fail`. */
  readonly token: string;
  /** @throws ExternalWaitFailed, `EXTERNAL_TIMED_OUT`, `INPUT_INVALID` for a result that does not fit the schema */
  readonly outcome: Promise<ExternalOutcome<Value>>;
}

/** What a token was settled with. A result that is marked as an error is held to no schema. */
export type ExternalOutcome<Value = JsonValue> =
  { readonly result: Value; readonly isError: false } | { readonly result: JsonValue; readonly isError: true };

/** A durable promise. */
export interface DurablePromise<Value> {
  /** Whoever holds it may settle the promise, once. */
  readonly token: string;
  readonly promise: Promise<Value>;
}

export interface TokenOptions {
  /** What it is for; shown to whoever asks what the run waits for. Default `token`. */
  readonly name?: string;
  /** Longest wait. Default: no limit. */
  readonly timeout?: Duration;
}

export interface ChildOptions {
  /** Longest wait; then the child is treated by `parentClose` and the call fails with `CHILD_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
  /** What happens to the child when this run ends or no longer waits for it; default `cancel`. */
  readonly parentClose?: ParentClosePolicy;
}

export interface Saga {
  /** Work that undoes what was just done; runs as a step, the last one added first, if the saga's body fails. */
  compensate(name: string, work: (step: StepContext) => unknown, options?: StepOptions): void;
}

/** A part of the workflow, with a context of its own. */
export type Branch<Result> = (ctx: WorkflowContext) => Promise<Result>;

/** What a branch of `ctx.some` gave. `index` tells the branches of a tuple, and so the types of their values, apart. */
export type SomeResult<Branches extends readonly Branch<unknown>[]> = {
  [At in keyof Branches]: {
    readonly index: At extends `${infer Index extends number}` ? Index : number;
    readonly value: Awaited<ReturnType<Branches[At]>>;
  };
}[number];

/** A part of the workflow whose waits can be closed together. */
export interface ScopeHandle {
  /** Rejects the open waits of the scope, and all that it will ask for, with `RUN_CANCELLED`. */
  cancel(): void;
}

/**
 * What a workflow may use of the world. Every method that waits returns a plain promise: `Promise.all`, `race`, `any`,
 * loops and try/finally mix them freely.
 */
export interface WorkflowContext {
  readonly runId: string;
  /** What is known of the run from its start. */
  readonly info: RunInfo;

  /**
   * Starts a task on a remote server and waits for its end. The wait holds no compute and survives restarts.
   * Server, tool or skill, and arguments are checked against `ServerTypes`, once `outwait types` has written it.
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
   * Waits like `callRemoteTask` for a task that somebody else has started. It is read first; a server that does not know
   * it refuses. Who has not started it does not stop it: `onCancel` and `onTimeout` are `leave` unless given.
   * @throws what `callRemoteTask` throws, but for RemoteStartAmbiguous; `CONFIG_INVALID` for a server that takes over none
   */
  attachRemoteTask<Server extends ServerText, Data = never>(
    call: ServerCall<AttachCall, Server, Data>,
  ): Promise<[Data] extends [never] ? RemoteOutcome : TypedOutcome<Data>>;

  /**
   * Runs `work` at least once and records its result exactly once; a replay returns the recorded result, and so does this
   * call: what JSON leaves of it, a Date as text.
   * @throws StepFailed when the attempts are used up, the error is a NonRetryableError, or the result is no JSON or too large.
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

  /** Runs `fn` for each item, at most `concurrency` at a time (default 16), and gives the results in order. */
  map<Item, Result>(
    items: readonly Item[],
    fn: (item: Item, index: number) => Promise<Result>,
    options?: { readonly concurrency?: number },
  ): Promise<Result[]>;

  /** Waits at least as long as said, to the precision of one sweep (a minute) beyond 90 s. */
  sleep(duration: Duration): Promise<void>;
  /** Waits until an instant; one that has passed is now. */
  sleepUntil(instant: EpochMs | Date): Promise<void>;

  /**
   * Waits for a signal of that name. Signals are kept until a wait takes them, oldest first. With a schema the payload is
   * typed and parsed; one that does not fit is taken all the same, and the wait fails. With `where` the schema must answer
   * at once, without a promise.
   * @throws EngineError `SIGNAL_TIMED_OUT`; `INPUT_INVALID` for a payload that does not fit the schema
   */
  signal<Payload>(name: string, options: SignalOptions<Payload> & Parsed<Payload>): Promise<Payload>;
  signal(name: string, options?: SignalOptions): Promise<JsonValue>;

  /** A token that any outside system may settle. Resolves when the token may be handed out. */
  externalToken<Value>(options: TokenOptions & Parsed<Value>): Promise<ExternalWait<Value>>;
  externalToken(options?: TokenOptions): Promise<ExternalWait>;
  /**
   * Asks a person: the question is listed by `outwait inputs` and `GET /inputs` until somebody answers, once, with
   * `outwait answer` or `POST /inputs/{id}`. Declining and cancelling are answers too. A schema that can be written as
   * JSON Schema is shown with the question, and types and parses the answer.
   * @throws EngineError `INPUT_TIMED_OUT`; `INPUT_INVALID` for an answer that does not fit the schema
   */
  ask<Content>(question: TypedAskOptions<Content>): Promise<TypedAnswer<Content>>;
  ask(question: AskOptions): Promise<RemoteAnswer>;
  /**
   * A promise that any caller may settle, once. A failure rejects it with ExternalWaitFailed, a value that does not fit the
   * schema with `INPUT_INVALID`.
   */
  promise<Value>(options: TokenOptions & Parsed<Value>): Promise<DurablePromise<Value>>;
  promise(options?: TokenOptions): Promise<DurablePromise<JsonValue>>;

  /**
   * Runs another workflow as a run of its own and waits for its result.
   * @throws ChildFailed with the child's error in its details; `CHILD_TIMED_OUT`
   */
  child<Output, Given>(
    workflow: Workflow<AnyValue, Output, Given>,
    input: NoInfer<Given>,
    options?: ChildOptions,
  ): Promise<Stored<Output>>;

  /**
   * Like Promise.race over branches, each with a context of its own; the open waits of the losers are closed and their remote
   * tasks cancelled. Settles when their shielded parts and sagas have ended.
   */
  race<Branches extends readonly Branch<unknown>[]>(
    branches: readonly [...Branches],
  ): Promise<Awaited<ReturnType<Branches[number]>>>;
  /**
   * Waits until `count` branches have succeeded and gives their results in the order in which they came, each with the index
   * of its branch; then it closes the others as `race` does. A branch that a cancel ended rejects it with that cancel once
   * too few are left.
   * @throws TooFewSucceeded when fewer than `count` can still succeed; `INPUT_INVALID` unless `count` is a whole number
   * from 1 to the number of branches
   */
  some<Branches extends readonly Branch<unknown>[]>(
    count: number,
    branches: readonly [...Branches],
  ): Promise<SomeResult<Branches>[]>;
  /** Runs `body` with a context whose waits can be closed together; settles after shielded parts and sagas of what was closed. */
  scope<Result>(body: (ctx: WorkflowContext, scope: ScopeHandle) => Promise<Result>): Promise<Result>;
  /** Runs `body` with a context whose waits no cancel from outside closes: for cleanup. */
  shield<Result>(body: (ctx: WorkflowContext) => Promise<Result>): Promise<Result>;
  /** Runs `body`; if it fails, runs the compensations that it added, last in first out, shielded, and then fails the same. */
  saga<Result>(body: (saga: Saga) => Promise<Result>): Promise<Result>;

  /** Ends this run and goes on as a new one of the same workflow, with `input` and the signals that nobody has read. Never returns. */
  continueAsNew(): Promise<never>;
  continueAsNew<Input>(input: Input & OnlyStorable<Input>): Promise<never>;
  /** The history has grown so long that the workflow should go on as a new run: 10,000 events. */
  readonly shouldContinueAsNew: boolean;

  /** May new code take its new path? True unless this run has passed this point with the old code. Recorded once it is true. */
  patched(patchId: string): boolean;
  /** Answers queries of that name, any time, also after the end. `handler` must not wait and change nothing. */
  onQuery(name: string, handler: (input: JsonValue | undefined) => unknown): void;
  /** Says how far the workflow has come. Beyond 1 KiB it is kept as text, cut. */
  progress<Progress>(progress: Progress & OnlyStorable<Progress>): void;

  /** The time of the event that woke the workflow; the same on every replay. Never goes back. */
  now(): EpochMs;
  /** Uniform in [0, 1); the same sequence on every replay. Not for secrets. */
  random(): number;
  /** A UUID of version 4; the same on every replay. */
  uuid(): string;
  /** Logs once: silent while the history is replayed. */
  readonly log: Log;
}

/** The author's function with its name and version. `Given`: what a start takes, of which the schema makes the input. */
export interface Workflow<Input = unknown, Output = unknown, Given = Input> {
  readonly name: string;
  readonly version: string;
  readonly input?: StandardSchemaV1<Given, Input>;
  readonly run: (ctx: WorkflowContext, input: Input) => Promise<Output>;
}

// Input is contravariant in `run`, so only `any` admits every workflow.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyValue = any;
export type AnyWorkflow = Workflow<AnyValue, AnyValue, AnyValue>;
