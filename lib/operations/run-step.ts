import { EngineError, readable, storedError, toStoredError, type StoredError } from '../base/errors.js';
import { stepKeyOf, type RunId } from '../base/ids.js';
import { toJson, utf8Bytes, type JsonValue } from '../base/json.js';
import { payloadMaxBytes } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import { stepRetryDelayMs } from '../decide/retry.js';
import type { StepAttemptFailed, StepCompleted, StepFailed } from '../history/event.js';
import type { OpenStep } from '../history/run-state.js';
import type { RunStep } from '../replay/command.js';
import type { StepContext } from '../workflow/context.js';
import type { Deps } from './deps.js';

export type StepEvent = StepCompleted | StepAttemptFailed | StepFailed;

/** Runs one attempt of a step and says what happened. Never throws; `abandon` ends the attempt when its run no longer cares. */
export async function runStep(
  deps: Deps,
  runId: RunId,
  wait: OpenStep,
  step: RunStep,
  abandon: AbortSignal,
): Promise<StepEvent> {
  const { waitId } = step;
  const attempt = wait.failedAttempts + 1;
  let progress = wait.progress;
  const report = (reported: JsonValue): void => {
    progress = toJson(reported);
  };
  try {
    const result = storable(step, await attemptStep(deps, runId, wait, step, abandon, report));
    return {
      type: 'StepCompleted',
      atMs: deps.clock.nowMs(),
      waitId,
      attempt,
      ...(result === undefined ? {} : { result }),
    };
  } catch (raw) {
    const thrown = readable(raw);
    const atMs = deps.clock.nowMs();
    const error = toStepError(step, thrown);
    const retryAtMs = nextAttemptAtMs(deps, wait, step, thrown, atMs);
    if (retryAtMs === undefined) return { type: 'StepFailed', atMs, waitId, attempt, error };
    deps.log.info('step attempt failed', { runId, step: step.name, attempt, retryInMs: retryAtMs - atMs });
    return {
      type: 'StepAttemptFailed',
      atMs,
      waitId,
      attempt,
      error,
      retryAtMs,
      ...(progress === undefined ? {} : { progress }),
    };
  }
}

function nextAttemptAtMs(
  deps: Deps,
  wait: OpenStep,
  { policy }: RunStep,
  thrown: unknown,
  nowMs: EpochMs,
): EpochMs | undefined {
  if (thrown instanceof Unstorable || !policy.isRetryable(thrown)) return undefined;
  const delayMs = stepRetryDelayMs(policy, wait.failedAttempts + 1, deps.random.fraction(), retryAfterOf(thrown));
  if (delayMs === undefined) return undefined;
  const retryAtMs = nowMs + delayMs;
  const isTooLate = policy.deadlineMs !== undefined && retryAtMs > wait.requestedAtMs + policy.deadlineMs;
  return isTooLate ? undefined : retryAtMs;
}

/** An error may say how long to leave its server alone. */
function retryAfterOf(thrown: unknown): number {
  const retryAfterMs = (thrown as { retryAfterMs?: unknown } | undefined)?.retryAfterMs;
  return typeof retryAfterMs === 'number' && Number.isFinite(retryAfterMs) ? Math.max(0, retryAfterMs) : 0;
}

async function attemptStep(
  deps: Deps,
  runId: RunId,
  wait: OpenStep,
  step: RunStep,
  abandon: AbortSignal,
  report: (progress: JsonValue) => void,
): Promise<unknown> {
  let timedOut: AbortController | undefined;
  let signal: AbortSignal | undefined;
  const done = new AbortController();
  const idempotencyKey = stepKeyOf(runId, step.waitId);
  const context: StepContext = {
    attempt: wait.failedAttempts + 1,
    idempotencyKey,
    subKey: (name) => `${idempotencyKey}/${name}`,
    progress: wait.progress,
    report,
    // Made when the step asks for it: few do, and a combined signal costs more than all else of a short step.
    get signal() {
      timedOut ??= new AbortController();
      return (signal ??= AbortSignal.any([timedOut.signal, abandon]));
    },
    log: deps.log,
  };
  const work = (async () => step.work(context))();
  const timeout = deps.delay(step.policy.timeoutMs, done.signal).then(() => {
    if (done.signal.aborted) return undefined;
    timedOut?.abort();
    throw new EngineError('STEP_TIMED_OUT', `step "${step.name}" took longer than ${step.policy.timeoutMs} ms`);
  });
  timeout.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    // With a reason of its own: without one an error is built, with a stack, that nobody sees.
    done.abort('done');
  }
}

function storable(step: RunStep, result: unknown): JsonValue | undefined {
  let json: JsonValue | undefined;
  try {
    json = toJson(result);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    throw new Unstorable('STEP_FAILED', `the result of step "${step.name}" is not JSON: ${why}`);
  }
  const sizeBytes = json === undefined ? 0 : utf8Bytes(JSON.stringify(json));
  if (sizeBytes <= payloadMaxBytes) return json;
  throw new Unstorable(
    'PAYLOAD_TOO_LARGE',
    `the result of step "${step.name}" is ${sizeBytes} bytes of JSON, the limit is ${payloadMaxBytes}`,
    { details: { sizeBytes, limitBytes: payloadMaxBytes } },
  );
}

/** Another attempt would do the work again and fail again. */
class Unstorable extends EngineError {}

function toStepError(step: RunStep, thrown: unknown): StoredError {
  const isOurs = thrown instanceof EngineError && (thrown instanceof Unstorable || thrown.code === 'STEP_TIMED_OUT');
  if (isOurs) return toStoredError(thrown, 'STEP_FAILED');
  const cause = toStoredError(thrown, 'STEP_FAILED');
  return {
    ...storedError('STEP_FAILED', cause.message, { step: step.name }),
    ...(cause.name === undefined ? {} : { name: cause.name }),
  };
}
