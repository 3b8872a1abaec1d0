import { EngineError, storedError, toStoredError, type StoredError } from '../base/errors.js';
import { stepKeyOf, type RunId } from '../base/ids.js';
import { toJson, utf8Bytes, type JsonValue } from '../base/json.js';
import { payloadMaxBytes } from '../base/limits.js';
import { stepRetryDelayMs } from '../decide/retry.js';
import type { StepAttemptFailed, StepCompleted, StepFailed } from '../history/event.js';
import type { RunStep } from '../replay/command.js';
import type { Deps } from './deps.js';

export type StepEvent = StepCompleted | StepAttemptFailed | StepFailed;

/** Runs one attempt of a step and says what happened. Never throws; `abandon` ends the attempt when its run no longer cares. */
export async function runStep(
  deps: Deps,
  runId: RunId,
  step: RunStep,
  attempt: number,
  abandon: AbortSignal,
): Promise<StepEvent> {
  const { waitId } = step;
  try {
    const result = storable(step, await attemptStep(deps, runId, step, attempt, abandon));
    return {
      type: 'StepCompleted',
      atMs: deps.clock.nowMs(),
      waitId,
      attempt,
      ...(result === undefined ? {} : { result }),
    };
  } catch (thrown) {
    const atMs = deps.clock.nowMs();
    const error = toStepError(step, thrown);
    const delayMs = isRetryable(thrown) ? stepRetryDelayMs(step.policy, attempt) : undefined;
    if (delayMs === undefined) return { type: 'StepFailed', atMs, waitId, attempt, error };
    deps.log.info('step attempt failed', { runId, step: step.name, attempt, retryInMs: delayMs });
    return { type: 'StepAttemptFailed', atMs, waitId, attempt, error, retryAtMs: atMs + delayMs };
  }
}

async function attemptStep(
  deps: Deps,
  runId: RunId,
  step: RunStep,
  attempt: number,
  abandon: AbortSignal,
): Promise<unknown> {
  const timedOut = new AbortController();
  const done = new AbortController();
  const context = {
    attempt,
    idempotencyKey: stepKeyOf(runId, step.waitId),
    signal: AbortSignal.any([timedOut.signal, abandon]),
    log: deps.log,
  };
  const work = (async () => step.work(context))();
  const timeout = deps.delay(step.policy.timeoutMs, done.signal).then(() => {
    if (done.signal.aborted) return undefined;
    timedOut.abort();
    throw new EngineError('STEP_TIMED_OUT', `step "${step.name}" took longer than ${step.policy.timeoutMs} ms`);
  });
  timeout.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    done.abort();
  }
}

function storable(step: RunStep, result: unknown): JsonValue | undefined {
  let json: JsonValue | undefined;
  try {
    json = toJson(result);
  } catch (error) {
    throw new Unstorable(
      'STEP_FAILED',
      `the result of step "${step.name}" is not JSON: ${error instanceof Error ? error.message : ''}`,
    );
  }
  const sizeBytes = json === undefined ? 0 : utf8Bytes(JSON.stringify(json));
  if (sizeBytes <= payloadMaxBytes) return json;
  throw new Unstorable(
    'PAYLOAD_TOO_LARGE',
    `the result of step "${step.name}" is ${sizeBytes} bytes of JSON, the limit is ${payloadMaxBytes}`,
    {
      details: { sizeBytes, limitBytes: payloadMaxBytes },
    },
  );
}

/** Another attempt would do the work again and fail again. */
class Unstorable extends EngineError {}

function isRetryable(thrown: unknown): boolean {
  return !(thrown instanceof Unstorable) && (thrown as { nonRetryable?: unknown } | undefined)?.nonRetryable !== true;
}

function toStepError(step: RunStep, thrown: unknown): StoredError {
  if (thrown instanceof EngineError && (thrown instanceof Unstorable || thrown.code === 'STEP_TIMED_OUT'))
    return toStoredError(thrown, 'STEP_FAILED');
  const cause = toStoredError(thrown, 'STEP_FAILED');
  return {
    ...storedError('STEP_FAILED', cause.message, { step: step.name }),
    ...(cause.name === undefined ? {} : { name: cause.name }),
  };
}
