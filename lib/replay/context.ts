import { EngineError, storedError, type StoredError } from '../base/errors.js';
import { canonicalJson, toJson, utf8Bytes, type JsonObject, type JsonValue } from '../base/json.js';
import { inputPreviewBytes, payloadMaxBytes, remoteTimeoutDefaultMs, stepTimeoutMaxMs } from '../base/limits.js';
import type { Log } from '../base/log.js';
import { durationToMs, type Duration, type EpochMs } from '../base/time.js';
import type {
  RemoteCall,
  RemoteOutcome,
  RetryPolicy,
  StepContext,
  StepOptions,
  WorkflowContext,
} from '../workflow/context.js';
import type { RemoteRequest } from '../workflow/remote-request.js';
import type { StepPolicy } from './command.js';
import { seededRandom } from './seeded.js';
import type { Waits } from './waits.js';

/** What the context needs of the execution that it belongs to. */
export interface ContextHost {
  readonly runId: string;
  readonly seed: string;
  readonly waits: Waits;
  readonly digest: (text: string) => string;
  readonly log: Log;
  /** True while the workflow's own code may run: between an event and the end of its microtasks. */
  isAdvancing(): boolean;
  /** False while recorded events are replayed. */
  isLive(): boolean;
  nowMs(): EpochMs;
  /** Called with what the author did wrong when the context is used from outside its turn. */
  misused(error: StoredError): void;
}

/**
 * The context of one execution. Bad arguments reject the promise of the call before a command exists: the same code
 * does the same on every replay.
 */
export function createContext(host: ContextHost): WorkflowContext {
  const random = seededRandom(host.seed, host.digest);

  function checkTurn(method: string): void {
    if (host.isAdvancing()) return;
    const error = storedError(
      'WORKFLOW_STUCK',
      `ctx.${method} was called outside of the workflow's turn: inside a step, or after something awaited a promise that is not one of ctx. Work of your own belongs into ctx.step, calls of ctx beside it.`,
    );
    host.misused(error);
    throw new EngineError(error.code, error.message);
  }

  return {
    runId: host.runId,

    callRemoteTask: handled(async (call: RemoteCall) => {
      checkTurn('callRemoteTask');
      const request = toRequest(call);
      const requestText = canonicalJson(request);
      const bytes = utf8Bytes(requestText);
      if (bytes > payloadMaxBytes) throw tooLarge(`the arguments of the call to "${call.server}"`, bytes);
      const timeoutMs = remoteTimeoutMs(call.timeout);
      const input = bytes <= inputPreviewBytes ? argumentsOf(request) : undefined;
      return host.waits.ask<RemoteOutcome>((waitId) => ({
        kind: 'startRemoteTask',
        waitId,
        server: call.server,
        name: nameOf(request),
        request,
        digest: host.digest(`${call.server}\n${requestText}`),
        ...(input === undefined ? {} : { input }),
        timeoutMs,
        retrySafe: call.retrySafe === true,
      }));
    }),

    step: handled(async (name: string, work: (step: StepContext) => unknown, options: StepOptions = {}) => {
      checkTurn('step');
      if (typeof name !== 'string' || name === '' || name.length > 128)
        throw invalid('the name of a step must be 1 to 128 characters');
      if (typeof work !== 'function') throw invalid(`step "${name}" must be given a function`);
      const policy = stepPolicy(name, options);
      return host.waits.ask<unknown>((waitId) => ({ kind: 'runStep', waitId, name, work, policy }));
    }) as WorkflowContext['step'],

    sleep: handled(async (duration: Duration) => {
      checkTurn('sleep');
      const durationMs = toMs(duration, 'the duration of a sleep');
      await host.waits.ask<undefined>((waitId) => ({ kind: 'startTimer', waitId, durationMs }));
    }),

    now: () => host.nowMs(),
    random: () => {
      checkTurn('random');
      return random.fraction();
    },
    uuid: () => {
      checkTurn('uuid');
      return random.uuid();
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

/**
 * A wait may be rejected before the workflow gets to awaiting it, or be dropped by the author; Node must not take that
 * for a bug of the process and end it.
 */
function handled<Args extends unknown[], Result>(
  method: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return (...args) => {
    const promise = method(...args);
    promise.catch(() => undefined);
    return promise;
  };
}

function toRequest(call: RemoteCall): RemoteRequest {
  if (typeof call.server !== 'string' || call.server === '') throw invalid('callRemoteTask needs the name of a server');
  const { tool, skill, message } = call as { tool?: unknown; skill?: unknown; message?: { parts?: unknown } };
  const given = [tool, skill, message].filter((field) => field !== undefined).length;
  if (given !== 1) throw invalid(`callRemoteTask needs exactly one of tool, skill and message, got ${given}`);
  if ('tool' in call && tool !== undefined) {
    return { kind: 'tool', tool: text(tool, 'tool'), arguments: json(call.arguments ?? {}, 'arguments') as JsonObject };
  }
  if ('skill' in call && skill !== undefined) {
    return { kind: 'skill', skill: text(skill, 'skill'), arguments: json(call.arguments ?? {}, 'arguments') };
  }
  const parts = json(message?.parts, 'message.parts');
  if (!Array.isArray(parts) || parts.length === 0) throw invalid('message.parts must be a list of at least one part');
  return { kind: 'message', parts: parts as readonly JsonObject[] };
}

function nameOf(request: RemoteRequest): string {
  switch (request.kind) {
    case 'tool':
      return request.tool;
    case 'skill':
      return request.skill;
    case 'message':
      return 'message';
  }
}

function argumentsOf(request: RemoteRequest): JsonValue {
  return request.kind === 'message' ? request.parts : request.arguments;
}

/** Whole seconds, at least one: no remote side can be held to less. */
function remoteTimeoutMs(timeout: Duration | undefined): number {
  if (timeout === undefined) return remoteTimeoutDefaultMs;
  return Math.max(1, Math.ceil(toMs(timeout, 'the timeout of a remote call') / 1000)) * 1000;
}

function stepPolicy(name: string, options: StepOptions): StepPolicy {
  const retry: RetryPolicy = options.retry ?? {};
  const maxAttempts = retry.maxAttempts ?? 5;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    throw invalid(`step "${name}": retry.maxAttempts must be a whole number of at least 1, got ${maxAttempts}`);
  const timeoutMs = options.timeout === undefined ? stepTimeoutMaxMs : toMs(options.timeout, `step "${name}": timeout`);
  if (timeoutMs < 1 || timeoutMs > stepTimeoutMaxMs)
    throw invalid(`step "${name}": timeout must be from 1 ms to ${stepTimeoutMaxMs / 1000} s`);
  return {
    maxAttempts,
    initialIntervalMs:
      retry.initialInterval === undefined
        ? 1_000
        : toMs(retry.initialInterval, `step "${name}": retry.initialInterval`),
    maxIntervalMs:
      retry.maxInterval === undefined ? 300_000 : toMs(retry.maxInterval, `step "${name}": retry.maxInterval`),
    timeoutMs,
  };
}

function toMs(duration: Duration, what: string): number {
  try {
    return durationToMs(duration, what);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : `${what} is not a duration`);
  }
}

function json(value: unknown, what: string): JsonValue {
  try {
    return toJson(value) ?? null;
  } catch {
    throw invalid(`${what} must be JSON`);
  }
}

function text(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') throw invalid(`${what} must be a non-empty string`);
  return value;
}

function invalid(message: string): EngineError {
  return new EngineError('INPUT_INVALID', message);
}

function tooLarge(what: string, bytes: number): EngineError {
  return new EngineError('PAYLOAD_TOO_LARGE', `${what} are ${bytes} bytes of JSON, the limit is ${payloadMaxBytes}`, {
    details: { sizeBytes: bytes, limitBytes: payloadMaxBytes },
  });
}
