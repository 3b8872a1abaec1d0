import { EngineError, fromStoredError, hasCode, type EngineErrorCode } from '../../base/errors.js';
import type { RemoteCall } from '../../workflow/context.js';
import type { RestartCause, RestartPolicy } from '../../workflow/restart-policy.js';
import { invalid } from './arguments.js';

/** Limit of the calls of one `restart`, including the first. Each is a whole task on another server. */
const restartAttemptsMax = 20;

const codeOf: Readonly<Record<RestartCause, EngineErrorCode>> = {
  failed: 'REMOTE_TASK_FAILED',
  rejected: 'REMOTE_TASK_REJECTED',
  cancelled: 'REMOTE_TASK_CANCELLED',
  timedOut: 'REMOTE_TASK_TIMED_OUT',
  expired: 'REMOTE_TASK_EXPIRED',
  lost: 'REMOTE_TASK_LOST',
};

/** Calls, and calls again after an end that `restart` names. The details of the last error hold the number of calls. */
export function restarting<Result>(
  { restart }: Pick<RemoteCall, 'restart'>,
  call: (attempt: number) => Promise<Result>,
): Promise<Result> {
  return restart === undefined ? call(1) : callUpTo(restart, call);
}

/** The first call is made before this returns. */
async function callUpTo<Result>(policy: RestartPolicy, call: (attempt: number) => Promise<Result>): Promise<Result> {
  const { attempts, codes } = checkedRestart(policy);
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt);
    } catch (error) {
      if (!codes.some((code) => hasCode(error, code))) throw error;
      if (attempt === attempts) throw withAttempts(error, attempts);
    }
  }
}

function checkedRestart({ attempts, on = ['failed', 'cancelled', 'expired', 'lost'] }: RestartPolicy): {
  readonly attempts: number;
  readonly codes: readonly EngineErrorCode[];
} {
  if (!Number.isInteger(attempts) || attempts < 2 || attempts > restartAttemptsMax)
    throw invalid(`restart.attempts must be a whole number from 2 to ${restartAttemptsMax}, got ${attempts}`);
  const unknown = on.find((cause) => !Object.hasOwn(codeOf, cause));
  if (unknown !== undefined)
    throw invalid(`restart.on takes ${Object.keys(codeOf).join(', ')}, got ${JSON.stringify(unknown)}`);
  return { attempts, codes: on.map((cause) => codeOf[cause]) };
}

function withAttempts(error: unknown, attempts: number): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code, message, details } = error;
  return fromStoredError({ code, message, details: { ...details, attempts } });
}
