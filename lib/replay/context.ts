import { defined } from '../base/defined.js';
import {
  EngineError,
  ExternalWaitFailed,
  hasCode,
  readable,
  RunCancelled,
  storedError,
  type StoredError,
} from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import { canonicalJson, cutUtf8, utf8Bytes, type JsonValue } from '../base/json.js';
import { checkJsonBytes, jsonBytes } from '../base/json-limit.js';
import { continueAsNewEvents, inputPreviewBytes, mapConcurrency, progressMaxBytes } from '../base/limits.js';
import type { Log } from '../base/log.js';
import type { Duration, EpochMs } from '../base/time.js';
import type { RemoteClosePolicy } from '../history/event.js';
import type { InputForm } from '../history/input-form.js';
import { questionIdOf, type AskedQuestion } from '../history/remote-question.js';
import type {
  AskOptions,
  AttachCall,
  ChildOptions,
  InputHandler,
  RemoteCall,
  RemoteOutcome,
  Saga,
  ScopeHandle,
  SignalOptions,
  StepContext,
  StepOptions,
  TokenOptions,
  WorkflowContext,
} from '../workflow/context.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import { checkName, invalid, json, toMs } from './arguments.js';
import type { Command, StartRemoteTask } from './command.js';
import { ContinueAsNew } from './continue-as-new.js';
import { handled, mapInOrder, runSaga } from './compose.js';
import { toAnswer, toForm } from './input.js';
import {
  argumentsOf,
  callKey,
  checkResult,
  closePolicy,
  nameOf,
  remoteTimeoutMs,
  restarting,
  toAttachRequest,
  toRequest,
} from './remote-call.js';
import type { SeededRandom } from './seeded.js';
import type { Signals } from './signals.js';
import { stepPolicy } from './step-policy.js';
import { Scope, type Waits } from './waits.js';

/** What the context needs of the execution that it belongs to. */
export interface ContextHost {
  readonly runId: string;
  readonly seed: string;
  readonly waits: Waits;
  readonly signals: Signals;
  readonly random: SeededRandom;
  readonly digest: (text: string) => string;
  readonly log: Log;
  /** True while the workflow's own code may run: between an event and the end of its microtasks. */
  isAdvancing(): boolean;
  /** False while recorded events are replayed. */
  isLive(): boolean;
  nowMs(): EpochMs;
  eventCount(): number;
  /** What is done with the questions of a call; undefined: nothing any more. */
  onQuestion(waitId: WaitId, ask: ((asked: AskedQuestion) => void) | undefined): void;
  /** The text of a token, once its item is there. */
  tokenIssued(waitId: WaitId): Promise<string>;
  isPatched(patchId: string): boolean;
  reportProgress(progress: JsonValue): void;
  setQuery(name: string, handler: (input: JsonValue | undefined) => unknown): void;
  /** Called with what the author did wrong when the context is used from outside its turn. */
  misused(error: StoredError): void;
  /** Called when compensations of a saga have failed. */
  notUndone(error: EngineError): void;
  /** Called with what a part of the workflow has just asked for and does not wait for, for it has ended. */
  dropped(asked: readonly Command[]): void;
}

/**
 * The context of one execution, or of a scope of it. Bad arguments reject the promise of the call before a command
 * exists: the same code does the same on every replay.
 */
export function createContext(host: ContextHost, scope: Scope): WorkflowContext {
  const { waits, signals } = host;

  function checkTurn(method: string): void {
    checkDeed(`ctx.${method} was called`);
  }

  function checkDeed(deed: string): void {
    if (host.isAdvancing()) return;
    const error = storedError(
      'WORKFLOW_STUCK',
      `${deed} outside of the workflow's turn: inside a step, or after something awaited a promise that is not one of ctx. Work of your own belongs into ctx.step, calls of ctx beside it.`,
    );
    host.misused(error);
    throw new EngineError(error.code, error.message);
  }

  const step = handled(async (name: string, work: (step: StepContext) => unknown, options: StepOptions = {}) => {
    checkTurn('step');
    checkName(name, 'the name of a step');
    if (typeof work !== 'function') throw invalid(`step "${name}" must be given a function`);
    const policy = stepPolicy(name, options);
    return waits.ask<unknown>(scope, (waitId) => ({ kind: 'runStep', waitId, name, work, policy }));
  }) as WorkflowContext['step'];

  async function token(options: TokenOptions | undefined, method: string, form?: InputForm) {
    checkTurn(method);
    const name = options?.name ?? 'token';
    checkName(name, 'the name of a token');
    const timeout = timeoutOf(options?.timeout, `the timeout of token "${name}"`);
    let asked = '';
    const outcome = waits.ask<{ readonly result: JsonValue; readonly isError: boolean }>(scope, (waitId) => {
      asked = waitId;
      return { kind: 'issueToken', waitId, name, ...defined({ form }), ...timeout };
    });
    // A wait that was closed before its token was issued has no token.
    const text = await Promise.race([host.tokenIssued(asked), outcome.then(() => '')]);
    return { token: text, outcome };
  }

  /** One remote task, from its request to its outcome. */
  async function remoteTask(
    method: string,
    call: RemoteCall | AttachCall,
    terms: () => {
      readonly request: StartRemoteTask['request'];
      /** Where the call does not say. */
      readonly onClose: RemoteClosePolicy;
      readonly retrySafe: boolean;
      readonly key: string | undefined;
    },
  ): Promise<RemoteOutcome> {
    checkTurn(method);
    const { request, onClose, retrySafe, key } = terms();
    const { server, onInput } = call;
    const requestText = canonicalJson(request);
    const bytes = utf8Bytes(requestText);
    checkJsonBytes(`the arguments of the call to "${server}" are`, bytes);
    const timeoutMs = remoteTimeoutMs(call.timeout);
    const input = bytes <= inputPreviewBytes ? argumentsOf(request) : undefined;
    const onCancel = closePolicy(call.onCancel, 'onCancel') ?? onClose;
    const onTimeout = closePolicy(call.onTimeout, 'onTimeout') ?? onClose;
    const outcome = await answering(onInput, (waitId) => ({
      kind: 'startRemoteTask',
      waitId,
      server,
      name: nameOf(request),
      request,
      // A call with another key is another call: its repeat would be a second task.
      digest: host.digest(`${server}\n${requestText}${key === undefined ? '' : `\n${key}`}`),
      ...defined({ input }),
      timeoutMs,
      retrySafe,
      ...defined({ key }),
      onCancel,
      onTimeout,
      answersQuestions: onInput !== undefined,
      watch: call.watch === true,
    }));
    if (call.resultSchema !== undefined && !outcome.isError)
      await checkResult(call.resultSchema, server, outcome.result);
    return outcome;
  }

  /** Asks for a remote task, and lets `handler` answer what its server asks for as long as the call is open. */
  function answering(
    handler: InputHandler | undefined,
    toCommand: (waitId: WaitId) => StartRemoteTask,
  ): Promise<RemoteOutcome> {
    return handler === undefined ? waits.ask<RemoteOutcome>(scope, toCommand) : answeringWith(handler, toCommand);
  }

  async function answeringWith(
    handler: InputHandler,
    toCommand: (waitId: WaitId) => StartRemoteTask,
  ): Promise<RemoteOutcome> {
    const inner = new Scope(scope);
    let callId = '';
    const outcome = waits.ask<RemoteOutcome>(scope, (waitId) => {
      callId = waitId;
      return toCommand(waitId);
    });
    if (callId === '') return outcome;
    host.onQuestion(callId, (asked) => void answer(inner, callId, handler, asked));
    try {
      return await outcome;
    } finally {
      host.onQuestion(callId, undefined);
      waits.cancelScope(inner, cancelled('the remote task waits for no answer any more'));
    }
  }

  /** A handler that fails, or an answer that the server does not take, fails the call. */
  async function answer(inner: Scope, callId: WaitId, handler: InputHandler, asked: AskedQuestion): Promise<void> {
    try {
      const given = toAnswer(await handle(inner, handler, asked));
      const questionId = questionIdOf(asked);
      const digest = host.digest(`answer ${questionId}\n${canonicalJson(given)}`);
      await waits.ask<undefined>(inner, (waitId) => ({
        kind: 'answerRemote',
        waitId,
        callId,
        questionId,
        answer: given,
        digest,
      }));
    } catch (error) {
      // A replay would not find it again at this point.
      if (!host.isAdvancing()) return;
      const thrown = readable(error);
      waits.drop(
        callId,
        thrown instanceof Error ? thrown : new EngineError('INPUT_INVALID', 'onInput threw what is no error'),
      );
    }
  }

  async function handle(inner: Scope, handler: InputHandler, { question }: AskedQuestion): Promise<unknown> {
    try {
      return await handler(question, createContext(host, inner));
    } finally {
      checkDeed('onInput of a call ended');
    }
  }

  async function race<Result>(branches: readonly ((ctx: WorkflowContext) => Promise<Result>)[]): Promise<Result> {
    checkTurn('race');
    if (branches.length === 0) throw invalid('a race needs at least one branch');
    const scopes = branches.map(() => new Scope(scope));
    const begin = (branch: (ctx: WorkflowContext) => Promise<Result>, at: number): Promise<Result> =>
      branch(createContext(host, scopes[at] ?? scope));
    const close = (): void => {
      for (const loser of scopes) waits.cancelScope(loser, cancelled('another branch of the race was first'));
    };
    if (waits.isStructured) {
      const ends = branches.map(async (branch, at) => begin(branch, at));
      let winner: Scope | undefined;
      for (const [at, end] of ends.entries())
        end.then(
          () => (winner ??= scopes[at]),
          () => (winner ??= scope),
        );
      return paidRace(ends, async () => {
        // A branch that failed may have asked for it before it knew.
        if (winner !== undefined && winner !== scope) host.dropped(waits.openUnrecorded(winner));
        close();
        await waits.paid(scope, scopes);
      });
    }
    try {
      return await Promise.race(branches.map(begin));
    } finally {
      close();
    }
  }

  return {
    runId: host.runId,

    callRemoteTask: handled((call: RemoteCall) =>
      restarting(call, (attempt) =>
        remoteTask('callRemoteTask', call, () => ({
          request: toRequest(call),
          onClose: 'cancel',
          retrySafe: call.retrySafe === true,
          key: callKey(call.idempotencyKey, attempt),
        })),
      ),
    ),

    attachRemoteTask: handled((call: AttachCall) =>
      // Who did not start a task does not stop it, and to read it twice does no harm.
      remoteTask('attachRemoteTask', call, () => ({
        request: toAttachRequest(call),
        onClose: 'leave',
        retrySafe: true,
        key: undefined,
      })),
    ),

    step,

    map: handled(
      async (
        items: readonly unknown[],
        fn: (item: unknown, index: number) => Promise<unknown>,
        options: { readonly concurrency?: number } = {},
      ) => {
        checkTurn('map');
        const concurrency = options.concurrency ?? mapConcurrency;
        if (!Number.isInteger(concurrency) || concurrency < 1)
          throw invalid(`the concurrency of a map must be a whole number of at least 1, got ${concurrency}`);
        return mapInOrder(items, fn, concurrency);
      },
    ) as WorkflowContext['map'],

    sleep: handled(async (duration: Duration) => {
      checkTurn('sleep');
      const durationMs = toMs(duration, 'the duration of a sleep');
      await waits.ask<undefined>(scope, (waitId) => ({ kind: 'startTimer', waitId, until: { durationMs } }));
    }),

    sleepUntil: handled(async (instant: EpochMs | Date) => {
      checkTurn('sleepUntil');
      const atMs = instant instanceof Date ? instant.getTime() : instant;
      if (!Number.isFinite(atMs)) throw invalid('sleepUntil needs an instant: a Date or milliseconds since 1970');
      await waits.ask<undefined>(scope, (waitId) => ({ kind: 'startTimer', waitId, until: { atMs } }));
    }),

    signal: handled(async (name: string, options: SignalOptions = {}) => {
      checkTurn('signal');
      checkName(name, 'the name of a signal');
      const timeout = timeoutOf(options.timeout, `the timeout of signal "${name}"`);
      let asked = '';
      const payload = waits.ask<JsonValue | undefined>(scope, (waitId) => {
        asked = waitId;
        return { kind: 'waitForSignal', waitId, name, ...timeout };
      });
      const { where } = options;
      signals.wait(name, {
        waitId: asked,
        accepts: where === undefined ? () => true : (value) => where(value ?? null),
      });
      return payload;
    }) as WorkflowContext['signal'],

    externalToken: handled((options?: TokenOptions) => token(options, 'externalToken')),

    ask: handled(async (options: AskOptions) => {
      const { timeout, name = 'question', ...form } = options;
      const { outcome } = await token({ name, ...defined({ timeout }) }, 'ask', toForm(form));
      return toAnswer((await outcome).result);
    }),

    promise: handled(async (options?: TokenOptions) => {
      const external = await token({ name: 'promise', ...options }, 'promise');
      const promise = external.outcome.then(({ result, isError }) => {
        if (!isError) return result;
        throw new ExternalWaitFailed('EXTERNAL_FAILED', 'the promise was rejected', { details: { result } });
      });
      promise.catch(() => undefined);
      return { token: external.token, promise };
    }) as WorkflowContext['promise'],

    child: handled(async (workflow: AnyWorkflow, input: unknown, options: ChildOptions = {}) => {
      checkTurn('child');
      const json = input === undefined ? undefined : childInput(workflow, input);
      const timeout = timeoutOf(options.timeout, `the timeout of child "${workflow.name}"`);
      const digest = host.digest(`child ${workflow.name}\n${json === undefined ? '' : canonicalJson(json)}`);
      return waits.ask<unknown>(scope, (waitId) => ({
        kind: 'startChild',
        waitId,
        workflow: workflow.name,
        input: json,
        digest,
        // Of the seed, which nobody outside knows: the child's id may be a task id.
        childRunId: host.digest(`child ${host.seed} ${waitId}`).slice(0, 32),
        parentClose: options.parentClose ?? 'cancel',
        ...timeout,
      }));
    }) as WorkflowContext['child'],

    race: handled((branches: readonly ((ctx: WorkflowContext) => Promise<unknown>)[]) =>
      race(branches),
    ) as WorkflowContext['race'],

    scope: handled(async (body: (ctx: WorkflowContext, handle: ScopeHandle) => Promise<unknown>) => {
      checkTurn('scope');
      const inner = new Scope(scope);
      const cancel = (): void => {
        checkTurn('scope');
        waits.cancelScope(inner, cancelled('its scope was cancelled'));
      };
      if (!waits.isStructured) return body(createContext(host, inner), { cancel });
      try {
        return await body(createContext(host, inner), { cancel });
      } finally {
        if (inner.cancelledWith !== undefined) await waits.paid(scope, [inner]);
      }
    }) as WorkflowContext['scope'],

    shield: handled(async (body: (ctx: WorkflowContext) => Promise<unknown>) => {
      checkTurn('shield');
      return owing(scope, () => body(createContext(host, new Scope(scope, true))));
    }) as WorkflowContext['shield'],

    saga: handled(async (body: (saga: Saga) => Promise<unknown>) => {
      checkTurn('saga');
      const ended = owing(scope, () => runSaga(body, createContext(host, new Scope(scope, true))));
      ended.catch((error: unknown) => {
        if (error instanceof EngineError && error.code === 'COMPENSATION_FAILED') host.notUndone(error);
      });
      return ended;
    }) as WorkflowContext['saga'],

    continueAsNew: handled(async (input?: JsonValue) => {
      checkTurn('continueAsNew');
      if (input === undefined) throw new ContinueAsNew(undefined);
      const next = json(input, 'the input of the next run');
      checkJsonBytes('the inputs of the next run are', jsonBytes(next));
      throw new ContinueAsNew(next);
    }),
    get shouldContinueAsNew() {
      return host.eventCount() >= continueAsNewEvents;
    },

    patched: (patchId) => {
      checkTurn('patched');
      checkName(patchId, 'the id of a patch');
      return host.isPatched(patchId);
    },
    onQuery: (name, handler) => {
      host.setQuery(name, handler);
    },
    progress: (progress) => {
      checkTurn('progress');
      host.reportProgress(cutProgress(json(progress, 'progress')));
    },

    now: () => host.nowMs(),
    random: () => {
      checkTurn('random');
      return host.random.fraction();
    },
    uuid: () => {
      checkTurn('uuid');
      return host.random.uuid();
    },
    log: {
      debug: (event, fields) => {
        if (host.isLive()) host.log.debug(event, fields);
      },
      info: (event, fields) => {
        if (host.isLive()) host.log.info(event, fields);
      },
      warn: (event, fields) => {
        if (host.isLive()) host.log.warn(event, fields);
      },
      error: (event, fields) => {
        if (host.isLive()) host.log.error(event, fields);
      },
    },
  };
}

function childInput(workflow: AnyWorkflow, input: unknown): JsonValue {
  const given = json(input, `the input of child "${workflow.name}"`);
  checkJsonBytes(`the input of child "${workflow.name}" is`, jsonBytes(given));
  return given;
}

/** What is too long is shown as text, cut. */
function cutProgress(progress: JsonValue): JsonValue {
  const text = typeof progress === 'string' ? progress : JSON.stringify(progress);
  return utf8Bytes(text) <= progressMaxBytes ? progress : cutUtf8(text, progressMaxBytes);
}

/** The scope and all around it owe the work until it has ended. */
function owing<Result>(scope: Scope, work: () => Promise<Result>): Promise<Result> {
  const paid = scope.owe();
  try {
    const ended = work();
    void Promise.resolve(ended).then(paid, paid);
    return ended;
  } catch (error) {
    paid();
    throw error;
  }
}

/** The first end of a branch, once `close` has ended the others. */
async function paidRace<Result>(ends: readonly Promise<Result>[], close: () => Promise<void>): Promise<Result> {
  let notUndone: unknown;
  const first = await Promise.race(
    ends.map((end) =>
      end.then(
        (value) => ({ value }),
        (error: unknown) => {
          if (hasCode(error, 'COMPENSATION_FAILED')) notUndone ??= error;
          return { error };
        },
      ),
    ),
  );
  await close();
  if ('value' in first) return first.value;
  // A cancel has ended all of them: what one could not undo must be heard of, though another was first to end.
  throw hasCode(first.error, 'RUN_CANCELLED') ? (notUndone ?? first.error) : first.error;
}

function cancelled(why: string): RunCancelled {
  return new RunCancelled('RUN_CANCELLED', `this wait was closed: ${why}`);
}

function timeoutOf(timeout: Duration | undefined, what: string): { readonly timeoutMs?: number } {
  return timeout === undefined ? {} : { timeoutMs: toMs(timeout, what) };
}
