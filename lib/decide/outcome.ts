import { defined } from '../base/defined.js';
import { storedError } from '../base/errors.js';
import { cutUtf8 } from '../base/json.js';
import { jsonBytes, jsonOverLimit } from '../base/json-limit.js';
import { failureTextBytes } from '../base/limits.js';
import type { RunOutcome } from '../history/event.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { RemoteEnd } from '../history/remote-end.js';

/**
 * Returns the outcome with which a remote end settles its token. A result that is too large fails the wait with
 * `PAYLOAD_TOO_LARGE`. `phase`: the end came with the reply to the start, or with a read; `taskId`: if the task is
 * known.
 */
export function outcomeOf(end: RemoteEnd, server: string, phase: 'start' | 'run', taskId?: string): TokenOutcome {
  if (end.kind === 'failed') {
    const { message, details } = end.error;
    const cut = cutUtf8(message, failureTextBytes);
    const task = taskId === undefined ? {} : { taskId };
    return { kind: 'failed', error: { ...end.error, message: cut, details: { server, ...task, phase, ...details } } };
  }
  const error = jsonOverLimit(`the result of the remote task on "${server}" is`, jsonBytes(end.result));
  if (error === undefined) return end.isError && phase === 'start' ? { ...end, phase } : end;
  const details = { server, ...error.details, ...defined({ taskId: end.taskId }) };
  return { kind: 'failed', error: { ...error, details } };
}

/** Returns the outcome of a run whose deadline has passed. */
export function runTimedOut(workflow: string): RunOutcome {
  const error = storedError('RUN_TIMED_OUT', `the run of "${workflow}" did not end before its deadline`);
  return { status: 'failed', error };
}
