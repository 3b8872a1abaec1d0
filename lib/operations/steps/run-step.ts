import { defined } from '../../base/defined.js';
import { EngineError, propertyOf, readable, storedError, toStoredError, type StoredError } from '../../base/errors.js';
import { stepKeyOf } from '../../base/ids.js';
import { toJson, type JsonValue } from '../../base/json.js';
import { lazy } from '../../base/lazy.js';
import { jsonBytes, jsonOverLimit } from '../../base/json-limit.js';
import { payloadMaxBytes } from '../../base/limits.js';
import { withContext } from '../../base/log.js';
import { storedThrown } from '../../base/thrown.js';
import type { EpochMs } from '../../base/time.js';
import { stepRetryDelayMs } from '../../decide/retry.js';
import type { StepAttemptFailed, StepCompleted, StepFailed } from '../../history/event.js';
import type { RunStep } from '../../replay/command.js';
import type { StepContext } from '../../workflow/step-options.js';
import type { Deps } from '../deps.js';
import { lineOfRun, type LoggedRun, tracedOf } from '../line-of-run.js';

/** Longest delay of the next attempt that an error can request. */
export const stepRetryAfterMaxMs = 24 * 3_600_000;
/** Largest progress that a step reports. It is stored with the history and passed to the next attempt. */
export const stepProgressMaxBytes = 256 * 1024;

/** Few steps are of the engine itself. */
export const loadRunDeeds = lazy(() => import('./run-deeds.js'));

export type StepEvent = StepCompleted | StepAttemptFailed | StepFailed;

/** State of a step before an attempt. */
interface StepSoFar {
  readonly requestedAtMs: EpochMs;
  readonly failedAttempts: number;
  readonly progress?: JsonValue;
  /** When the attempt must end. Not set for a long step: its token has the deadline. */
  readonly deadlineAtMs?: EpochMs | undefined;
}

/** An attempt of a step to be made. */
interface StepAttempt {
  readonly run: LoggedRun;
  readonly step: RunStep;
  readonly soFar: StepSoFar;
  /** Aborts the attempt when it is no longer waited for. */
  readonly abandon: AbortSignal;
}

/**
 * Runs one attempt of a step, in a turn or in a worker, and returns its event. Never throws. Passes the progress that
 * the attempt reports to `onReport`.
 */
export async function runStep(
  deps: Deps,
  attempted: StepAttempt,
  onReport: (progress: JsonValue) => void = () => undefined,
): Promise<StepEvent> {
  const startMs = deps.clock.nowMs();
  const event = await endOf(deps, attempted, onReport);
  const { run, step } = attempted;
  const result = results[event.type];
  deps.metrics?.put('StepAttempts', 1, { workflow: run.workflow, result });
  const { waitId, attempt } = event;
  deps.spans?.record({
    kind: 'step',
    run: tracedOf(run),
    ...{ waitId, attempt, result, name: step.name, isLong: step.policy.long },
    startMs,
    endMs: event.atMs,
    error: event.type === 'StepCompleted' ? undefined : event.error.code,
  });
  return event;
}

/** Words of a metric. */
const results = { StepCompleted: 'completed', StepAttemptFailed: 'retried', StepFailed: 'failed' } as const;

async function endOf(deps: Deps, attempted: StepAttempt, onReport: (progress: JsonValue) => void): Promise<StepEvent> {
  const { run, soFar, step } = attempted;
  const { waitId } = step;
  const attempt = soFar.failedAttempts + 1;
  let { progress } = soFar;
  const report = (reported: JsonValue): void => {
    progress = storable(step, 'report', reported, stepProgressMaxBytes) ?? null;
    onReport(progress);
  };
  try {
    const given = await attemptStep(deps, attempted, report);
    const result = storable(step, 'result', given, payloadMaxBytes);
    return {
      type: 'StepCompleted',
      atMs: deps.clock.nowMs(),
      waitId,
      attempt,
      ...defined({ result }),
    };
  } catch (raw) {
    const thrown = readable(raw);
    const atMs = deps.clock.nowMs();
    const at = deps.placeOf?.(thrown);
    const error = thrown instanceof DeadlinePassed ? stepDeadlinePassed(step) : toStepError(step, thrown, attempt, at);
    const retryAtMs = nextAttemptAtMs(deps, attempted, thrown, atMs);
    const line = { ...lineOfRun(deps.digest, run), step: step.name, waitId, attempt, error: thrown };
    if (retryAtMs === undefined) {
      deps.log.warn('step failed', line);
      return { type: 'StepFailed', atMs, waitId, attempt, error };
    }
    deps.log.warn('step attempt failed', { ...line, retryInMs: retryAtMs - atMs });
    return {
      type: 'StepAttemptFailed',
      atMs,
      waitId,
      attempt,
      error,
      retryAtMs,
      ...defined({ progress }),
    };
  }
}

function nextAttemptAtMs(
  deps: Deps,
  { soFar, step }: StepAttempt,
  thrown: unknown,
  nowMs: EpochMs,
): EpochMs | undefined {
  const { policy } = step;
  if (thrown instanceof Unstorable || thrown instanceof DeadlinePassed || !policy.isRetryable(thrown)) return undefined;
  const retryAfterMs = retryAfterOf(deps, step, thrown);
  const delayMs = stepRetryDelayMs(policy, soFar.failedAttempts + 1, deps.random.fraction(), retryAfterMs);
  if (delayMs === undefined) return undefined;
  const retryAtMs = nowMs + delayMs;
  const isTooLate = policy.deadlineMs !== undefined && retryAtMs > soFar.requestedAtMs + policy.deadlineMs;
  return isTooLate ? undefined : retryAtMs;
}

/**
 * Returns the pause that an error asks for. More than a day is a mistake, such as an instant in place of a duration.
 */
function retryAfterOf(deps: Deps, { name }: RunStep, thrown: unknown): number {
  const retryAfterMs = propertyOf(thrown, 'retryAfterMs');
  if (typeof retryAfterMs !== 'number' || !Number.isFinite(retryAfterMs)) return 0;
  if (retryAfterMs > stepRetryAfterMaxMs)
    deps.log.warn('the retryAfterMs of an error was cut to a day; it must be a duration from now', {
      step: name,
      retryAfterMs,
    });
  return Math.min(Math.max(0, retryAfterMs), stepRetryAfterMaxMs);
}

async function attemptStep(
  deps: Deps,
  attempted: StepAttempt,
  report: (progress: JsonValue) => void,
): Promise<unknown> {
  const { soFar, step, abandon } = attempted;
  let timedOut: AbortController | undefined;
  let signal: AbortSignal | undefined;
  const done = new AbortController();
  let lastReportAtMs = deps.clock.nowMs();
  const context = contextOf(deps, attempted, {
    report: (progress) => {
      report(progress);
      lastReportAtMs = deps.clock.nowMs();
    },
    // Created on demand: few steps use it, and a combined signal costs more than everything else of a short step.
    get signal() {
      timedOut ??= new AbortController();
      return (signal ??= AbortSignal.any([timedOut.signal, abandon]));
    },
  });
  const { deed } = step;
  const work = (async () =>
    deed === undefined
      ? step.work(context)
      : (await loadRunDeeds()).carryOut(deps, attempted.run, deed, context.idempotencyKey))();
  const { timeoutMs } = step.policy;
  const leftMs = (soFar.deadlineAtMs ?? Infinity) - deps.clock.nowMs();
  const timeout = deps.delay(Math.min(timeoutMs, leftMs), done.signal).then(() => {
    if (done.signal.aborted) return undefined;
    timedOut?.abort();
    if (leftMs <= timeoutMs) throw new DeadlinePassed();
    throw new EngineError('STEP_TIMED_OUT', `step "${step.name}" took longer than ${timeoutMs} ms`);
  });
  timeout.catch(() => undefined);
  const ends: Promise<unknown>[] = [work, timeout];
  if (step.policy.heartbeatTimeoutMs !== undefined) {
    const { heartbeatTimeoutMs } = step.policy;
    const silence = silentFor(deps, heartbeatTimeoutMs, () => lastReportAtMs, done.signal).then((isSilent) => {
      if (!isSilent) return undefined;
      timedOut?.abort();
      throw new EngineError(
        'STEP_HEARTBEAT_MISSED',
        `step "${step.name}" reported nothing for ${heartbeatTimeoutMs} ms`,
      );
    });
    silence.catch(() => undefined);
    ends.push(silence);
  }
  try {
    return await Promise.race(ends);
  } finally {
    // An explicit reason: without one an error with a stack is built, which is never used.
    done.abort('done');
  }
}

/** Creates what the function of a step receives. Reads the signal only when the function does. */
function contextOf(
  deps: Deps,
  { run, soFar, step }: StepAttempt,
  live: Pick<StepContext, 'report' | 'signal'>,
): StepContext {
  const attempt = soFar.failedAttempts + 1;
  const { name, waitId } = step;
  const idempotencyKey = stepKeyOf(run.runId, waitId);
  return {
    attempt,
    idempotencyKey,
    subKey: (key) => `${idempotencyKey}/${key}`,
    progress: soFar.progress,
    report: live.report,
    get signal() {
      return live.signal;
    },
    log: withContext(deps.log, () => ({ ...lineOfRun(deps.digest, run), step: name, waitId, attempt })),
  };
}

/** Resolves with true after `maxMs` without a report, with false when the attempt is over. */
async function silentFor(
  deps: Deps,
  maxMs: number,
  lastReportAtMs: () => EpochMs,
  done: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const leftMs = lastReportAtMs() + maxMs - deps.clock.nowMs();
    if (leftMs <= 0) return true;
    await deps.delay(leftMs, done);
    if (done.aborted) return false;
  }
}

/** @throws Unstorable */
function storable(step: RunStep, what: 'result' | 'report', given: unknown, limitBytes: number): JsonValue | undefined {
  let json: JsonValue | undefined;
  try {
    json = toJson(given);
  } catch (error) {
    const { message: why } = toStoredError(error, 'STEP_FAILED');
    throw new Unstorable('STEP_FAILED', `the ${what} of step "${step.name}" is not JSON: ${why}`);
  }
  const error = jsonOverLimit(`the ${what} of step "${step.name}" is`, jsonBytes(json), limitBytes);
  if (error === undefined) return json;
  throw new Unstorable(error.code, error.message, error.details === undefined ? {} : { details: error.details });
}

/** Thrown for a value that cannot be stored: another attempt would repeat the work and fail again. */
class Unstorable extends EngineError {}

/** Thrown if an attempt runs until the deadline of its step. */
class DeadlinePassed extends Error {}

/** Creates the error of a step at its deadline. */
export function stepDeadlinePassed({ name }: Pick<RunStep, 'name'>): StoredError {
  return storedError('STEP_TIMED_OUT', `step "${name}" did not end before its deadline`, { step: name });
}

function toStepError(step: RunStep, thrown: unknown, attempts: number, at: string | undefined): StoredError {
  const isOurs =
    thrown instanceof EngineError &&
    (step.deed !== undefined ||
      thrown instanceof Unstorable ||
      thrown.code === 'STEP_TIMED_OUT' ||
      thrown.code === 'STEP_HEARTBEAT_MISSED');
  if (isOurs) return toStoredError(thrown, 'STEP_FAILED');
  const { message, name, details } = storedThrown(thrown, 'STEP_FAILED', at);
  return {
    ...storedError('STEP_FAILED', `step "${step.name}" failed: ${message}`, {
      ...details,
      ...defined({ name }),
      ...{ step: step.name, attempts },
    }),
    ...defined({ name }),
  };
}
